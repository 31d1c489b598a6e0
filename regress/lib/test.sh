# Read by every test in sh before its own text (regress/rules.mk does that).
# shellcheck shell=sh

# A case runs by way of isolate, in namespaces of its own; listing needs none.
if [ -z "${SBX_ISOLATED-}" ]; then
	case " $* " in
	*" -l "*) ;;
	*) exec "$SBX_TEST_ISOLATE" "$0" "$@" ;;
	esac
fi

# sbx_user VAR: makes a user with a free uid and a home below the scratch
# folder; its name is put into VAR, its home into VAR_home. isolate removes
# it. "sbx-as USER COMMAND..." runs something as it.
sbx_user() {
	sbx_user_n=$((${sbx_user_n:-0} + 1))
	sbx_name=sbxt-${SBX_SCRATCH##*.}-$sbx_user_n
	sbx-useradd "$sbx_name" "$SBX_SCRATCH/home/$sbx_name" ||
	    atf_fail "no test user: useradd"
	eval "$1=\$sbx_name ${1}_home=\$SBX_SCRATCH/home/\$sbx_name"
}

# sbx_fresh_fs TYPE DIR [SIZE]: mounts an empty filesystem there, in the
# case's mount namespace: tmpfs, ext4 on a loop device that goes with its
# mount, or noxattr: vfat where the kernel has it, else ramfs.
sbx_fresh_fs() {
	mkdir -p "$2"
	sbx_type=$1
	if [ "$sbx_type" = noxattr ]; then
		sbx_type=ramfs
		if grep -qw vfat /proc/filesystems ||
		    modprobe -q vfat 2>/dev/null; then
			sbx_type=vfat
		fi
	fi
	case $sbx_type in
	ramfs | tmpfs)
		mount -t "$sbx_type" -o "size=${3:-64m},mode=755" sbx-test "$2"
		;;
	*)
		sbx_image=$SBX_SCRATCH/$(basename "$2").image
		truncate -s "${3:-64M}" "$sbx_image"
		"mkfs.$sbx_type" "$sbx_image" >/dev/null 2>&1
		mount -o loop "$sbx_image" "$2"
		;;
	esac || atf_fail "no fresh $1 at $2"
}

# sbx_repo DIR [USER]: a small git repository with one commit, the user's.
sbx_repo() {
	mkdir -p "$1/src"
	printf 'one\ntwo\nthree\n' >"$1/a.txt"
	printf 'int\nmain(void)\n{\n\treturn 0;\n}\n' >"$1/src/main.c"
	printf 'all: main\nmain: src/main.c\n\tcc -o main src/main.c\n' \
	    >"$1/Makefile"
	printf 'main\n*.o\n' >"$1/.gitignore"
	ln -s a.txt "$1/link"
	(cd "$1" && git -c init.defaultBranch=main init -q . && git add . &&
	    git -c user.name=t -c user.email=t@example.org \
	    commit -q -m start) || atf_fail "git at $1"
	[ -z "${2-}" ] || chown -Rh "$2:$2" "$1"
}

# sbx_tree DIR: every name below it with type, mode, owner, size, times of
# change and, of a file, its hash. Two of them are equal if nothing moved.
sbx_tree() {
	(cd "$1" && find . -printf '%p %y %m %U:%G %s %T@ %C@ %l\n' | sort &&
	    find . -type f -print0 | sort -z | xargs -0r sha256sum)
}

# sbx_suite_start [OPTION...]: sbxd -d in the background, by $SBX_STATE. Its
# log is $SBX_SCRATCH/sbxd.log, its pid $sbx_suite; it is executed by the words
# of $sbx_by, where there are any.
sbx_suite_start() {
	: >>"$SBX_SCRATCH/sbxd.log"
	sbx_ready=$(grep -c ': ready on ' "$SBX_SCRATCH/sbxd.log")
	# shellcheck disable=SC2086
	${sbx_by-} sbxd -d "$@" </dev/null >>"$SBX_SCRATCH/sbxd.log" 2>&1 &
	sbx_suite=$!
	sbx_n=0
	# The socket is there before the helpers are.
	until [ "$(grep -c ': ready on ' "$SBX_SCRATCH/sbxd.log")" -gt \
	    "$sbx_ready" ]; do
		sbx_n=$((sbx_n + 1))
		if [ "$sbx_n" -gt 200 ] || ! kill -0 "$sbx_suite" 2>/dev/null
		then
			cat "$SBX_SCRATCH/sbxd.log" >&2
			atf_fail "sbxd -d does not start"
		fi
		sleep 0.05
	done
}

# Ends it in order and waits; its exit status.
sbx_suite_stop() {
	kill -TERM "$sbx_suite"
	wait "$sbx_suite"
}

# sbx_clean_mark, sbx_clean_check: what is mounted, running and below the
# case's cgroup; check fails if within ten seconds it is not again as it was
# at the mark, and prints the difference. sbx_clean_tenths is how long it waits.
sbx_clean_mark() {
	sbx-cleanstate >"$SBX_SCRATCH/.clean"
}
sbx_clean_check() {
	sbx_n=0
	until sbx-cleanstate >"$SBX_SCRATCH/.clean.now" &&
	    cmp -s "$SBX_SCRATCH/.clean" "$SBX_SCRATCH/.clean.now"; do
		sbx_n=$((sbx_n + 1))
		if [ "$sbx_n" -gt "${sbx_clean_tenths:-100}" ]; then
			diff "$SBX_SCRATCH/.clean" "$SBX_SCRATCH/.clean.now" >&2
			atf_fail "left over, or gone: see the difference"
		fi
		sleep 0.1
	done
}

# sbx_state_check [ID...]: the state folder knows these sessions, no others.
sbx_state_check() {
	printf '%s\n' "$@" | sed '/^$/d' | sort >"$SBX_SCRATCH/.want"
	for sbx_d in sbxd s; do
		find "$SBX_STATE/$sbx_d" -mindepth 1 -maxdepth 1 -type d \
		    -name '[^.]???????????' -printf '%f\n' | sort >"$SBX_SCRATCH/.have"
		if ! diff "$SBX_SCRATCH/.want" "$SBX_SCRATCH/.have" >&2; then
			atf_fail "$SBX_STATE/$sbx_d holds other sessions"
		fi
	done
}

# sbx_fake KIND: sbxctl's scripted suite (regress/sbxctl/fake.c) listens on the
# state's socket; its pid is in $fake. What it plays is in FAKE and the like.
sbx_fake() {
	"$SBX_BUILDDIR/regress/sbxctl/fake" "$1" &
	fake=$!
	sbx_fake_n=0
	until [ -S "$SBX_STATE/sbxd.sock" ]; do
		sbx_fake_n=$((sbx_fake_n + 1))
		[ "$sbx_fake_n" -lt 100 ] || atf_fail "no scripted suite"
		sleep 0.05
	done
}
sbx_fake_stop() {
	kill "$fake"
	wait "$fake" 2>/dev/null
	rm -f "$SBX_STATE/sbxd.sock"
}

# sbx_json FILE PATH VALUE: the file's object has this there.
sbx_json() {
	sbx_got=$("$SBX_BUILDDIR/regress/sbxctl/jsonget" "$2" <"$1") ||
	    atf_fail "$1: no $2"
	[ "$sbx_got" = "$3" ] || atf_fail "$1: $2 is $sbx_got, not $3"
}
