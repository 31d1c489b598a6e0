# What the tests of the whole suite have in common; they read it by
#	. "$SBX_SRC/regress/integration/lib.sh"
# shellcheck shell=sh disable=SC2034,SC2154

# Helpers where a session sees them: a build may lie below /tmp.
int_tools() {
	# As an init leaves it; what is mounted later reaches mountd.
	mount --make-rshared /
	# What is killed leaves no core, which would be a change.
	# shellcheck disable=SC3045 # dash has it
	ulimit -c 0
	mkdir -p "$SBX_SCRATCH/tools" "$SBX_SCRATCH/root"
	chmod 0755 "$SBX_SCRATCH/tools"
	for int_t in "$SBX_BUILDDIR"/regress/integration/* \
	    "$SBX_BUILDDIR"/regress/escape/* \
	    "$SBX_BUILDDIR/regress/worker/inside"; do
		case $int_t in
		*_test | *.d) ;;
		*) [ ! -f "$int_t" ] || [ ! -x "$int_t" ] ||
		    install -m 0755 "$int_t" "$SBX_SCRATCH/tools" ;;
		esac
	done
	tools=$SBX_SCRATCH/tools
	# run [OPTION...] COMMAND...: sbxctl run on $P, as whom $AS says.
	mkdir -p "$SBX_SCRATCH/bin"
	# What the owner did up to 10 ms before its start counts as drift.
	printf '#!/bin/sh\n%s\n' 'sleep 0.02' \
	    'cd "$P" && exec sbxctl run $AS --repo "$P" "$@"' \
	    >"$SBX_SCRATCH/bin/run"
	# In the PATH of who has a suite of its own, $int_own, sbxctl runs as
	# that one, with all else as it is.
	mkdir -p "$SBX_SCRATCH/ownbin"
	cat >"$SBX_SCRATCH/ownbin/sbxctl" <<-'EOT'
		#!/bin/sh
		exec sbx-own "$SBX_BUILDDIR/bin/sbxctl" "$@"
	EOT
	cat >"$SBX_SCRATCH/bin/sbx-own" <<-'EOT'
		#!/bin/sh
		exec setpriv --reuid "$int_own" --regid "$int_own" \
		    --init-groups --inh-caps=-all env -u TMPDIR \
		    HOME="$int_own_home" USER="$int_own" \
		    LOGNAME="$int_own" SHELL=/bin/sh "$@"
	EOT
	chmod 0755 "$SBX_SCRATCH"/bin/* "$SBX_SCRATCH"/ownbin/*
	int_root_state=$SBX_STATE
	PATH=$SBX_SCRATCH/bin:$tools:$PATH
	int_path=$PATH
	HOME=$SBX_SCRATCH/root
	GIT_CONFIG_GLOBAL=$SBX_SCRATCH/gitconfig
	cat >"$GIT_CONFIG_GLOBAL" <<-'EOT'
		[user]
			name = t
			email = t@example.org
		[init]
			defaultBranch = main
		[safe]
			directory = *
	EOT
	chmod 0644 "$GIT_CONFIG_GLOBAL"
	export PATH HOME GIT_CONFIG_GLOBAL P AS
	# GIT_* never enters a session: there it is the home's.
	cp "$GIT_CONFIG_GLOBAL" "$HOME/.gitconfig"
}

# int_begin: the tools and a running suite, and how things were before it.
int_begin() {
	int_tools
	int_clean_mark
	int_suite "$@"
}

# int_suite: sbxd -d, also where an ended one's socket is still there.
int_suite() {
	rm -f "$SBX_STATE/sbxd.sock"
	sbx_suite_start "$@"
}

# int_end: the suite ends in order; nothing is left but what it keeps.
int_end() {
	int_stop
	int_clean_check
}
int_stop() {
	int_own_stop
	sbx_suite_stop && return
	cat "$SBX_SCRATCH/sbxd.log" >&2
	atf_fail "sbxd does not end with 0"
}

# Devices that an ordinary user may not have.
int_own_closed() {
	: >"$SBX_SCRATCH/closed"
	chmod 0 "$SBX_SCRATCH/closed"
	for int_t in /dev/net/tun /dev/fuse; do
		[ ! -e "$int_t" ] || mount --bind "$SBX_SCRATCH/closed" "$int_t"
	done
}

# A user's own suite, on a state of its own and without the devices that an
# ordinary user may not have: made once a case, ended by int_stop.
int_own_start() {
	int_own_closed
	sbx_user int_own
	install -m 0644 -o "$int_own" "$GIT_CONFIG_GLOBAL" \
	    "$int_own_home/.gitconfig"
	int_own_dir=$SBX_SCRATCH/own
	mkdir -p "$int_own_dir"
	chown "$int_own:" "$int_own_dir"
	# What a case has it write.
	chmod 0777 .
	export int_own int_own_home
	int_own_run
}
int_own_run() {
	: >>"$SBX_SCRATCH/sbxd.log"
	sbx_ready=$(grep -c ': ready on ' "$SBX_SCRATCH/sbxd.log")
	# shellcheck disable=SC2086
	SBX_STATE=$int_own_dir/state ${sbx_by-} sbx-own \
	    "$SBX_BUILDDIR/sbin/sbxd" --user -d </dev/null >>"$SBX_SCRATCH/sbxd.log" 2>&1 &
	int_own_suite=$! int_own_n=0
	until [ "$(grep -c ': ready on ' "$SBX_SCRATCH/sbxd.log")" -gt \
	    "$sbx_ready" ]; do
		int_own_n=$((int_own_n + 1))
		if [ "$int_own_n" -gt 200 ] ||
		    ! kill -0 "$int_own_suite" 2>/dev/null; then
			cat "$SBX_SCRATCH/sbxd.log" >&2
			atf_fail "sbxd --user -d does not start"
		fi
		sleep 0.05
	done
}
# The same suite anew: what was mounted meanwhile came before it.
int_own_again() {
	kill -TERM "$int_own_suite"
	wait "$int_own_suite" || atf_fail "sbxd --user does not end with 0"
	int_own_run
}
int_own_stop() {
	[ -n "${int_own_suite-}" ] || return 0
	kill -TERM "$int_own_suite"
	wait "$int_own_suite" || {
		cat "$SBX_SCRATCH/sbxd.log" >&2
		atf_fail "sbxd --user does not end with 0"
	}
	for int_t in /dev/net/tun /dev/fuse; do
		[ ! -e "$int_t" ] || umount "$int_t"
	done
	int_own_suite='' SBX_STATE=$int_root_state PATH=$int_path
}

# As sbx_clean_mark and _check, for a folder that a case may have left.
int_cleanstate() {
	sbx-cleanstate >"$SBX_SCRATCH/.clean" && cat "$SBX_SCRATCH/.clean"
}
int_clean_mark() {
	int_cleanstate >"$SBX_SCRATCH/.mark"
}
int_clean_check() {
	int_n3=0
	until int_cleanstate >"$SBX_SCRATCH/.now" &&
	    cmp -s "$SBX_SCRATCH/.mark" "$SBX_SCRATCH/.now"; do
		int_n3=$((int_n3 + 1))
		if [ "$int_n3" -gt 100 ]; then
			diff "$SBX_SCRATCH/.mark" "$SBX_SCRATCH/.now" >&2
			atf_fail "left over, or gone: see the difference"
		fi
		sleep 0.1
	done
}

# As int_clean_mark and _check, with the suite still there, and what each suite
# has ready for its next session: a child of mountd's and a pair of spawn's,
# others after each start.
int_running_state() {
	int_cleanstate >"$SBX_SCRATCH/.all"
	sed -e '/^[0-9]* mountd$/d' -e 's/^[0-9]* sbx-spare$/sbx-spare/' \
	    -e 's,/s[0-9]*$,/sN,' "$SBX_SCRATCH/.all"
	find "$SBX_STATE/sbxd/w" -mindepth 1
	[ "$(pgrep -cx mountd)" -le $((2 * int_suites)) ] ||
	    echo "children of mountd"
}
int_running_mark() {
	int_suites=$(pgrep -cx sbxd)
	int_wait int_spares
	int_wait int_idle
	int_running_state >"$SBX_SCRATCH/.rmark"
}
# What answered the last review has ended.
int_idle() {
	! pgrep -x land >/dev/null
}
int_spares() {
	[ "$(pgrep -cx sbx-spare)" -eq $((2 * int_suites)) ]
}
# int_nothing_left [ID...]: fails unless what was refused since that mark left
# nothing of a session; the state knows those with these ids.
int_nothing_left() {
	int_state_check "$@"
	int_n3=0
	until int_running_state >"$SBX_SCRATCH/.rnow" &&
	    cmp -s "$SBX_SCRATCH/.rmark" "$SBX_SCRATCH/.rnow"; do
		int_n3=$((int_n3 + 1))
		if [ "$int_n3" -gt 100 ]; then
			diff "$SBX_SCRATCH/.rmark" "$SBX_SCRATCH/.rnow" >&2
			atf_fail "a refusal left something"
		fi
		sleep 0.1
	done
}

# int_who root|user|own: the project $P of that one, and $AS, the options of
# run that are needed for it; own is a user with a suite of its own, of which
# sbxctl and $SBX_STATE are then. Each call a new project.
int_who() {
	int_n=$((${int_n:-0} + 1))
	SBX_STATE=$int_root_state PATH=$int_path who_peer=0
	case $1 in
	own)
		if [ -z "${int_own_suite-}" ]; then
			int_own_start
		fi
		SBX_STATE=$int_own_dir/state PATH=$SBX_SCRATCH/ownbin:$int_path
		AS='' P=$int_own_home/p$int_n
		sbx_repo "$P" "$int_own"
		who_home=$int_own_home who_peer=$(id -u "$int_own")
		who_user=$int_own
		;;
	root)
		AS='' P=$HOME/p$int_n who_user=root
		sbx_repo "$P"
		who_home=$HOME
		;;
	user)
		if [ -z "${int_user-}" ]; then
			sbx_user int_user
			install -m 0644 -o "$int_user" "$GIT_CONFIG_GLOBAL" \
			    "$int_user_home/.gitconfig"
		fi
		AS="--as $int_user" P=$int_user_home/p$int_n who_user=$int_user
		sbx_repo "$P" "$int_user"
		who_home=$int_user_home
		;;
	esac
}

# int_both FUNCTION: for root's project, then for a user's, both in root's
# suite; int_each: then for a user with one of its own.
int_both() {
	for int_one in root user; do
		echo "== $1: $int_one"
		int_who "$int_one"
		"$1"
	done
}
# int_users FUNCTION: for a user's project in root's suite, then in its own.
int_users() {
	for int_one in user own; do
		echo "== $1: $int_one"
		int_who "$int_one"
		"$1"
	done
}
int_each() {
	int_both "$1"
	echo "== $1: own"
	int_who own
	"$1"
}

# int_keep COMMAND...: in a session that is kept; its id is $sid.
int_keep() {
	run --keep -- "$@" >keep.out 2>keep.err || {
		cat keep.out keep.err >&2
		atf_fail "status $? of: $*"
	}
	int_kept keep.err
}

# int_kept FILE: the one line that says that a session is kept, and its id.
int_kept() {
	sid=$(sed -n 's/^sbxctl: session \([a-z2-7]\{12\}\) is kept.*/\1/p' \
	    "$1")
	if [ -z "$sid" ] || [ "$(wc -l <"$1")" -ne 1 ]; then
		cat "$1" >&2
		atf_fail "not one line that names a kept session"
	fi
}

# int_live NAME [OPTION...] COMMAND...: a session of that name that runs; its id is $sid,
# sbxctl's pid $live. Its input is the fifo NAME.in, open on 9; its output is
# in NAME.out and NAME.err.
int_live() {
	int_name=$1
	shift
	rm -f "$int_name.in"
	mkfifo "$int_name.in"
	run --name "$int_name" --keep "$@" <"$int_name.in" \
	    >"$int_name.out" 2>"$int_name.err" &
	live=$!
	exec 9>"$int_name.in"
	int_n2=0
	until [ "$(int_state "$int_name")" = running ]; do
		int_n2=$((int_n2 + 1))
		if [ "$int_n2" -gt 100 ] || ! kill -0 "$live" 2>/dev/null; then
			cat "$int_name.err" >&2
			atf_fail "the session $int_name does not run"
		fi
		sleep 0.1
	done
	sid=$(sbxctl ls 9>&- | awk -v n="$int_name" '$2 == n { print $1 }')
}

# int_state NAME-OR-ID: its state in words, empty where it is not there.
int_state() {
	sbxctl ls 9>&- | awk -v n="$1" '$1 == n || $2 == n { print $3 }'
}

# int_state_check [ID...]: as sbx_state_check; a removal may be under way.
int_state_check() {
	int_n3=0
	until (sbx_state_check "$@") 2>/dev/null; do
		int_n3=$((int_n3 + 1))
		[ "$int_n3" -lt 100 ] || sbx_state_check "$@"
		sleep 0.1
	done
}

# int_plain: no sanitizers in this build; they hold memory, and their programs
# can be traced.
int_plain() {
	[ "$(stat -c %a "$SBX_BUILDDIR/libexec/sbx/spawn")" = 711 ]
}

# int_wait COMMAND...: until it succeeds, at most some ten seconds.
int_wait() {
	int_n2=0
	until "$@"; do
		int_n2=$((int_n2 + 1))
		[ "$int_n2" -lt 100 ] || atf_fail "it does not come: $*"
		sleep 0.1
	done
}

# int_wait_file FILE [TEXT]
int_wait_file() {
	int_n2=0
	until [ -e "$1" ] && { [ -z "${2-}" ] || grep -q -e "$2" "$1"; }; do
		int_n2=$((int_n2 + 1))
		[ "$int_n2" -lt 100 ] ||
		    atf_fail "$1 does not come${2:+ to say $2}"
		sleep 0.1
	done
}

# int_refused STATUS TEXT COMMAND...: ends so, says nothing on stdout, and one
# line on stderr, without a list below it, and the text.
int_refused() {
	int_status=$1 int_text=$2
	shift 2
	int_got=0
	"$@" >refused.out 2>refused.err </dev/null || int_got=$?
	if [ "$int_got" -ne "$int_status" ] || [ -s refused.out ] ||
	    [ "$(grep -c -v '^  ' refused.err)" -ne 1 ] ||
	    ! grep -q -F -e "$int_text" refused.err; then
		echo "status $int_got, stdout:" >&2
		cat refused.out >&2
		echo "stderr:" >&2
		cat refused.err >&2
		atf_fail "not $int_status and one line with \"$int_text\": $*"
	fi
}

# int_pids NAME: the suite's processes of that name (comm).
int_pids() {
	pgrep -x "$1" || :
}

# int_init SID: the pid of the session's init, of those that are a worker's
# sibling; the only one where there is but one session.
int_init() {
	pgrep -x sbx-init | head -n 1
}

# int_content DIR: names, types, modes, links and bytes; no owner, no times.
int_content() {
	(cd "$1" && find . \( -name .git -o -name '.sbx-land-*' \) -prune -o \
	    -printf '%p %y %m %l\n' | sort && find . \( -name .git -o \
	    -name '.sbx-land-*' \) -prune -o -type f -print0 | sort -z |
	    xargs -0r sha256sum)
}

# int_bytes DIR: all that a landing could spoil, with .git, without times, and
# without what earlier landings displaced.
int_bytes() {
	(cd "$1" && find . -name '*sbx-land-*' -prune -o \
	    -printf '%p %y %m %U:%G %l\n' | sort && find . \
	    -name '*sbx-land-*' -prune -o -type f -print0 | sort -z |
	    xargs -0r sha256sum)
}

# int_same A B: those two texts are equal, else the difference is shown.
int_same() {
	if [ "$1" != "$2" ]; then
		printf '%s\n' "$1" >same.a
		printf '%s\n' "$2" >same.b
		diff same.a same.b >&2
		atf_fail "${3:-these differ}"
	fi
}

# int_json FILE EXPRESSION...: each is true of the object o in the file.
int_json() {
	python3 -c '
import json, sys
o = json.load(open(sys.argv[1]))
for w in sys.argv[2:]:
    assert eval(w.replace("\n", " "), {"o": o}), (w, o)
' "$@" || atf_fail "$1 is not as it should be"
}

# int_as_owner DIR COMMAND...: git as the folder's owner would call it.
int_as_owner() {
	int_as=$(stat -c %U "$1")
	shift
	if [ "$int_as" = root ]; then
		"$@"
	else
		sbx-as "$int_as" "$@"
	fi
}
