# Machines that are put together oddly: what is mounted below home and project,
# of every kind; where root, home, project and state lie.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# odd_mount DIR: every kind of mount, each below DIR, all but proc with a file
# f; what is bound comes from $srv.
odd_mount() {
	srv=$SBX_SCRATCH/srv
	mkdir -p "$srv/d" "$1/bind" "$1/tmpfs" "$1/ext4" "$1/over" "$1/proc" \
	    "$1/ro" "$1/robind" "$1/deep" "$1/plain"
	echo bound >"$srv/f"
	echo real >"$1/plain/f"
	: >"$1/filebind"
	: >"$1/sockbind"
	chown -R "$who_user:" "$srv" "$1/bind" "$1/plain"
	mount --bind "$srv" "$1/bind"
	mount --bind "$srv" "$1/robind"
	mount -o remount,bind,ro "$1/robind"
	mount --bind "$srv/f" "$1/filebind"
	[ -S "$srv/s" ] || python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$srv/s"
	mount --bind "$srv/s" "$1/sockbind"
	sbx_fresh_fs tmpfs "$1/tmpfs"
	odd_n=$((${odd_n:-0} + 1))
	truncate -s 16M "$SBX_SCRATCH/ext4.$odd_n"
	mkfs.ext4 -q "$SBX_SCRATCH/ext4.$odd_n"
	mount -o loop "$SBX_SCRATCH/ext4.$odd_n" "$1/ext4"
	odd_o=$SBX_SCRATCH/over.$odd_n
	mkdir -p "$odd_o"
	mount -t tmpfs -o mode=755 t "$odd_o"
	mkdir "$odd_o/l" "$odd_o/u" "$odd_o/w"
	echo over >"$odd_o/l/f"
	chown -R "$who_user:" "$odd_o/l" "$odd_o/u"
	mount -t overlay -o "lowerdir=$odd_o/l,upperdir=$odd_o/u,workdir=$odd_o/w" \
	    o "$1/over" || atf_fail "no overlay"
	mount -t proc p "$1/proc"
	sbx_fresh_fs tmpfs "$1/ro"
	sbx_fresh_fs tmpfs "$1/deep"
	mkdir "$1/deep/in"
	mount -t tmpfs -o mode=755 t "$1/deep/in"
	for odd_m in tmpfs ext4 ro deep deep/in; do
		echo "real $odd_m" >"$1/$odd_m/f"
		chown "$who_user:" "$1/$odd_m" "$1/$odd_m/f"
	done
	mount -o remount,ro "$1/ro"
}
odd_umount() {
	for odd_m in deep/in deep ro proc over ext4 tmpfs sockbind filebind \
	    robind bind; do
		umount "$1/$odd_m" || atf_fail "something holds $1/$odd_m"
	done
}

# odd_bytes DIR: all that is really there, whichever mount it is on.
odd_bytes() {
	(cd "$1" && find . \( -name proc -o -name .git \) -prune -o -printf \
	    '%p %y %m %U %l\n' | sort && find . \( -name proc -o -name .git \
	    -o -name sockbind \) -prune -o -type f -print0 | sort -z | xargs -0r sha256sum)
}

# $tools/all, which a session does to all of them: it says what it could.
odd_all() {
	cat >"$tools/all" <<-'EOT'
		cd "$1" || exit
		for m in bind tmpfs ext4 over ro robind deep deep/in plain; do
			echo "$m: $(cat $m/f)"
			if (echo new >$m/new) 2>/dev/null; then
				rm $m/f; echo changed >$m/f
				echo "$m: written $(cat $m/f)"
			fi
		done
		echo "filebind: $(cat filebind)"
		(echo x >filebind) 2>/dev/null && echo "filebind: written"
		echo "proc: $(ls -A proc)"
		echo "sockbind: $(stat -c %F sockbind)"
		rm -rf bind ext4 proc 2>/dev/null
		for m in bind ext4 proc; do
			test -d $m || echo "$m: gone"
		done
	EOT
	chmod 755 "$tools/all"
}

# odd_said DIR PATH STATE...: explain says so of each for a session that would
# be.
odd_said() {
	odd_d=$1
	shift
	while [ $# -gt 0 ]; do
		# shellcheck disable=SC2086
		odd_is "$odd_d/$1" "$2" --repo "$P" $AS
		shift 2
	done
}
odd_is() {
	odd_path=$1 odd_want=$2
	shift 2
	odd_got=$(sbxctl explain --json "$odd_path" "$@" |
	    sed -n 's/^  "state": "\(.*\)",$/\1/p')
	[ "$odd_got" = "$odd_want" ] ||
	    atf_fail "explain $odd_path: $odd_got, not $odd_want"
}

# odd_seen LAYERED...: what the session of $tools/all must have said, where
# those take writes.
odd_seen() {
	for odd_m in bind tmpfs ext4 over ro robind deep deep/in plain; do
		odd_text="real $odd_m"
		case $odd_m in
		*bind) odd_text=bound ;;
		over) odd_text=over ;;
		plain) odd_text=real ;;
		esac
		atf_check -o match:"^$odd_m: $odd_text\$" cat keep.out
		case " $* " in
		*" $odd_m "*)
			atf_check -o match:"^$odd_m: written changed\$" \
			    cat keep.out ;;
		*)
			atf_check -o not-match:"^$odd_m: written" cat keep.out
			;;
		esac
	done
	atf_check -o match:'^filebind: bound$' -o not-match:'filebind: w' \
	    -o match:'^proc: $' -o not-match:': gone' \
	    -o match:'^sockbind: regular empty file$' cat keep.out
}

atf_test_case mounts
mounts_head()
{
	atf_set descr "A3: every kind of mount below home and project, in \
root's suite: shown, with a layer of its own or read-only, the real one as it \
was, and explain says so"
	atf_set require.user root
	atf_set timeout 240
}
mounts_one()
{
	for d in "$P" "$who_home"; do
		odd_mount "$d"
		# Nobody who has a mount already hears of a remount.
		sbx_suite_stop
		int_suite
		before=$(odd_bytes "$d")
		int_keep sh "$tools/all" "$d"
		odd_seen bind tmpfs ext4 over deep deep/in plain
		int_same "$before" "$(odd_bytes "$d")" "$d was written to"
		odd_said "$d" bind/f shown tmpfs/f shown ext4/f shown \
		    over/f shown ro/f read-only robind/f read-only \
		    deep/in/f shown filebind read-only proc/1 missing \
		    proc covered sockbind covered
		odd_is "$d/tmpfs/f" layer "$sid"
		odd_is "$d/ext4/new" missing "$sid"
		odd_is "$d/over/new" layer "$sid"
		odd_is "$d/deep/in/f" layer "$sid"
		sbxctl changes "$sid" >list || atf_fail changes
		if [ "$d" = "$P" ]; then
			atf_check -o match:'plain/f' -o match:'plain/new' \
			    -o match:'deep/in.*not landed' \
			    -o match:'over.*not landed' cat list
		fi
		atf_check -o ignore sbxctl rm --discard "$sid"
		odd_umount "$d"
	done
}
mounts_body()
{
	int_begin
	odd_all
	int_both mounts_one
	int_stop
}

atf_test_case own
own_head()
{
	atf_set descr "A4: the same below a project, in a user's own suite, \
with mounts from before it started, and from after"
	atf_set require.user root
	atf_set timeout 240
}
# explain and a real open of everything there agree.
own_agrees()
{
	py="python3 $tools/explain.py"
	for m in bind tmpfs ext4 over ro robind deep deep/in plain proc \
	    filebind sockbind; do
		printf '%s\n' "$P/$m" "$P/$m/f" "$P/$m/no"
	done >paths
	printf '%s\n' "$P" "$P/a.txt" "$P/src/main.c" "$P/link" \
	    "$P/no" >>paths
	$py ask would --repo "$P" '' <paths || atf_fail "asking"
	run --keep -- $py open /dev/stdout <paths >seen 2>err ||
	    atf_fail "$(cat err)"
	SBX_FEW=40 $py compare would seen shown read-only covered missing ||
	    atf_fail "explain says something else"
	sid=$(sbxctl ls | awk 'END { print $1 }')
	sbxctl resume "$sid" -- true </dev/null 2>err || atf_fail "$(cat err)"
	$py ask was "$sid" <paths || atf_fail "asking of $sid"
	SBX_FEW=40 $py compare was seen shown read-only covered missing ||
	    atf_fail "explain says something else of one that was"
	sbxctl rm --discard "$sid" >/dev/null || atf_fail rm
}
own_one()
{
	own_agrees
	before=$(odd_bytes "$P")
	run --keep -- sh "$tools/all" "$P" >keep.out 2>keep.err ||
	    atf_fail "$(cat keep.err)"
	sid=$(sbxctl ls | awk 'END { print $1 }')
	odd_seen "$@"
	int_same "$before" "$(odd_bytes "$P")" "the project was written to"
	case " $* " in
	*" robind "*) odd_said "$P" robind/f shown ;;
	*) odd_said "$P" robind/f read-only ;;
	esac
	odd_said "$P" bind/f shown tmpfs/f shown ext4/f shown over/f shown \
	    ro/f read-only deep/f read-only \
	    deep/in/f shown filebind read-only proc covered sockbind covered \
	    plain/f shown
	odd_is "$P/tmpfs/f" layer "$sid"
	odd_is "$P/plain/f" layer "$sid"
	odd_is "$P/ext4/new" missing "$sid"
	atf_check -o match:'deep: read-only in the session' \
	    sbxctl show "$sid"
	atf_check -o match:'M  plain/f' -o match:'A  plain/new' \
	    -o match:'tmpfs.*not landed' sbxctl changes "$sid"
	atf_check -o match:'2 files landed' -e ignore \
	    sbxctl apply --yes "$sid"
	atf_check -o inline:'changed\n' cat "$P/plain/f"
	atf_check -o match:'^0 files' sbxctl changes "$sid"
}
own_body()
{
	int_begin
	odd_all
	install -m 0644 "$SBX_SRC/regress/integration/explain.py" "$tools"
	int_who own
	odd_mount "$P"
	# Who has a mount already does not hear of a remount.
	own_one bind robind tmpfs ext4 over deep/in plain
	atf_check -s exit:1 -o ignore grep 'works on a copy' keep.err
	atf_check -o ignore sbxctl rm --discard "$sid"
	# The same mounts, but from before the suite.
	int_own_again
	echo real >"$P/plain/f"
	rm "$P/plain/new"
	own_one bind tmpfs ext4 over deep/in plain
	atf_check -o match:"project $P: as .* works on a copy" \
	    sbxctl show "$sid"
	atf_check -o match:'overlay on a copy' sbxctl explain "$P/a.txt" "$sid"
	# The owner's changes show at the next start; what landed is the copy's.
	echo later >"$P/later"
	chown "$int_own:" "$P/later"
	atf_check -o inline:'later\nchanged\nnew\n' -e ignore \
	    sbxctl resume "$sid" -- cat later plain/f plain/new </dev/null
	atf_check -o ignore sbxctl rm --discard "$sid"
	odd_umount "$P"
	int_stop
}

atf_test_case home
home_head()
{
	atf_set descr "the same below home, in a user's own suite: each folder \
of home has a layer, its own files are read-only"
	atf_set require.user root
	atf_set timeout 120
}
home_body()
{
	int_begin
	odd_all
	int_who own
	odd_mount "$who_home"
	: >"$who_home/file"
	chown "$int_own:" "$who_home/file"
	int_own_again
	before=$(odd_bytes "$who_home")
	run --keep -- sh -c 'sh "$0" "$1"; echo x >"$1/file"' "$tools/all" \
	    "$who_home" >keep.out 2>keep.err && atf_fail "home is written to"
	atf_check -o match:'file: Read-only file system' \
	    -o match:'deep: read-only in the session' cat keep.err
	odd_seen bind tmpfs ext4 over deep/in plain
	int_same "$before" "$(odd_bytes "$who_home")" "home was written to"
	odd_said "$who_home" bind/f shown tmpfs/f shown ext4/f shown \
	    over/f shown ro/f read-only robind/f read-only deep/f read-only \
	    deep/in/f shown filebind read-only proc covered sockbind covered \
	    plain/f shown file read-only
	sid=$(sbxctl ls | awk 'END { print $1 }')
	odd_is "$who_home/over/f" layer "$sid"
	atf_check -o match:"M  $who_home/deep/in/f" \
	    -o match:"M  $who_home/plain/f" -o match:"D  $who_home/ext4/f" \
	    sbxctl changes --outside "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	odd_umount "$who_home"
	int_stop
}

atf_test_case copy
copy_head()
{
	atf_set descr "a project that stands on a copy: what is hidden is not \
copied, a live session is reviewed, landed and discarded, what the owner \
changed drifts, and what is too large is refused"
	atf_set require.user root
	atf_set timeout 240
}
copy_body()
{
	int_begin
	int_who own
	mkdir -p "$P/m" "$P/hid/n" "$P/d/e" "$P/shut"
	echo SECRET >"$P/hid/n/s"
	echo SECRET >"$P/d/key"
	for f in one two three d/four d/e/five; do
		echo "$f" >"$P/$f"
	done
	ln "$P/one" "$P/hard"
	mkfifo "$P/fifo"
	chown -R "$int_own:" "$P"
	install -m 600 /dev/null "$P/root"
	chown root: "$P/shut"
	chmod 700 "$P/shut"
	mount -t tmpfs -o mode=777 t "$P/m"
	int_own_again
	before=$(int_bytes "$P")
	int_live copy --hide "$P/hid" --hide "$P/d/key" --hide "$P/none" -- \
	    sh -c 'echo 1 >one; rm two; mkdir n; echo n >n/n; mv d d2
	    exec 3<>three; echo 3 >&3
	    ls -A hid; cat d2/key; cat none; echo up; while read -r l; do
	    eval "$l"; echo done; done'
	int_wait_file copy.out up
	atf_check -o inline:'up\n' cat copy.out
	int_same "$before" "$(int_bytes "$P")" "the project was written to"
	atf_check -s exit:1 grep -rqs SECRET "$SBX_STATE"
	atf_check -o match:'works on a copy' -o match:'2 of its files are' \
	    sbxctl show "$sid"
	atf_check -o match:'M  one' -o match:'D  two' -o match:'A  n/n' \
	    -o match:'M  three' -o match:'d2/e/five  from d/e/five' \
	    -o not-match:' (hid|fifo|hard)' sbxctl changes "$sid"
	# A hard link is none in the copy: only the one name changed.
	atf_check -o match:'landed' -e ignore sbxctl apply --yes "$sid"
	atf_check -o inline:'1\none\n3\nree\n' cat "$P/one" "$P/hard" "$P/three"
	atf_check test ! -e "$P/two" -a ! -e "$P/d/e" -a -e "$P/d/key" \
	    -a -f "$P/n/n" -a -f "$P/d2/e/five" -a -p "$P/fifo" -a -f "$P/root"
	atf_check -o match:'^0 files' sbxctl changes "$sid"
	# The session goes on with what has landed.
	echo 'cat one three n/n d2/e/five; echo 4 >one; echo n >n/m' >&9
	int_wait_file copy.out 'done'
	atf_check -o inline:'up\n1\n3\nree\nn\nd/e/five\ndone\n' cat copy.out
	atf_check -o match:'M  one' -o match:'A  n/m' \
	    -o match:'^2 files' sbxctl changes "$sid"
	# What the owner changes beside it is none of its changes, in folders
	# that it wrote into as in others; a folder that it replaced is one.
	echo 'rm -r src; mkdir src; echo s >src/s; echo 5 >d2/x' >&9
	int_wait sh -c 'test $(grep -c done copy.out) = 2'
	echo owner >"$P/a.txt"
	echo owner >"$P/made"
	echo owner >"$P/n/made"
	rm "$P/three" "$P/Makefile"
	chown "$int_own:" "$P/made" "$P/n/made"
	atf_check -o match:'M  one' -o match:'A  n/m' -o match:'D  src/main.c' \
	    -o match:'A  src/s' -o match:'A  d2/x' -o match:'^5 files' \
	    -o not-match:DRIFTED sbxctl changes "$sid"
	# What the owner changed of the same is not written over.
	echo owner >"$P/one"
	atf_check -s exit:1 -o match:'one .*DRIFTED' \
	    -e match:'nothing was landed' sbxctl apply --yes "$sid"
	atf_check -o inline:'owner\n' cat "$P/one"
	atf_check -o match:discarded -e ignore sbxctl discard --yes "$sid" \
	    "$P/n/m"
	echo 'ls n; cat one; cat three' >&9
	int_wait sh -c 'test $(grep -c done copy.out) = 3'
	atf_check -o inline:'n\n4\n3\nree\ndone\n' tail -n 5 copy.out
	exec 9>&-
	wait "$live" || :
	# Stopped, and resumed over a copy made anew.
	atf_check -o match:'M  one' -o match:'^4 files' sbxctl changes "$sid"
	atf_check -o inline:'4\nd/e/five\n' -e ignore sbxctl resume "$sid" -- \
	    sh -c 'cat one d2/e/five; test ! -e three -a ! -e two' </dev/null
	atf_check -o ignore sbxctl rm --discard "$sid"
	fallocate -l 600M "$P/large"
	chown "$int_own:" "$P/large"
	int_refused 125 'is mounted in it' run -- true
	atf_check -o match:'more than 100000 names or 512 MiB' cat refused.err
	rm "$P/large"
	int_state_check
	umount "$P/m" || atf_fail "something holds it"
	int_own_again
	int_keep sh -c 'echo x >one'
	atf_check -o empty find "$SBX_STATE/s/$sid" -name copy
	# Mounted while it is stopped.
	mount -t tmpfs -o mode=777 t "$P/m"
	int_own_again
	atf_check -o match:'M  one' sbxctl changes "$sid"
	atf_check -o match:'1 file landed' sbxctl apply --yes "$sid"
	umount "$P/m" || atf_fail "something holds it"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_stop
}

# odd_job: run, changes, apply; run, discard; the machine's files are the
# owner's alone until then.
odd_job()
{
	before=$(int_bytes "$P")
	run --keep -- sh -ec 'pwd -P; echo in >>a.txt; rm src/main.c
	    mkdir n; echo n >n/n; echo home >~/made; cat ~/made
	    echo etc >/etc/made 2>/dev/null && cat /etc/made; true' \
	    >job.out 2>job.err || atf_fail "$(cat job.out job.err)"
	sid=$(sed -n 's/^sbxctl: session \([a-z2-7]*\) is kept.*/\1/p' job.err)
	atf_check -o match:"^$(realpath "$P")\$" -o match:'^home$' cat job.out
	int_same "$before" "$(int_bytes "$P")" "the project was written to"
	atf_check test ! -e "$who_home/made" -a ! -e /etc/made
	atf_check -o match:'M  a.txt' -o match:'A  n/n' \
	    -o match:'D  src/main.c' -o match:'^3 files' sbxctl changes "$sid"
	atf_check -o match:'3 files landed' -e ignore \
	    sbxctl apply --yes "$sid"
	atf_check -o match:'^in$' cat "$P/a.txt"
	atf_check test ! -e "$P/src/main.c" -a -f "$P/n/n"
	atf_check_equal "$who_user" "$(stat -c %U "$P/n/n")"
	atf_check -o ignore -e ignore sbxctl rm --discard "$sid"
	before=$(int_bytes "$P")
	run --keep -- sh -ec 'echo x >a.txt; rm -r n; echo y >y' \
	    >job.out 2>job.err || atf_fail "$(cat job.out job.err)"
	sid=$(sed -n 's/^sbxctl: session \([a-z2-7]*\) is kept.*/\1/p' job.err)
	atf_check -o match:'^3 files' sbxctl changes "$sid"
	atf_check -o match:discarded -e ignore sbxctl discard --yes "$sid"
	atf_check -o match:'^0 files' sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm "$sid"
	int_same "$before" "$(int_bytes "$P")" "a discard wrote"
}

# odd_container: the rest of the case stands on a root that is an overlay, with
# a volume, $volume; the states, which need one, are on volumes as well.
odd_container()
{
	volume=$SBX_SCRATCH/volume
	mkdir -p "$SBX_STATE" "$SBX_SCRATCH/own" "$volume"
	mount --make-rprivate /
	mkdir "$SBX_SCRATCH/new" "$SBX_SCRATCH/up"
	mount -t tmpfs -o mode=755 t "$SBX_SCRATCH/up"
	mkdir "$SBX_SCRATCH/up/u" "$SBX_SCRATCH/up/w"
	odd_new=$SBX_SCRATCH/new odd_here=$PWD
	mount -t overlay -o "lowerdir=/,upperdir=$SBX_SCRATCH/up/u,workdir=$SBX_SCRATCH/up/w" \
	    o "$odd_new" || atf_fail "no overlay of /"
	for odd_d in proc dev sys run; do
		mount --rbind "/$odd_d" "$odd_new/$odd_d"
	done
	for odd_d in "$SBX_STATE" "$SBX_SCRATCH/own" "$volume"; do
		mount --bind "$odd_d" "$odd_new$odd_d"
	done
	# Where the harness looks for the result, beside the case's own folder.
	mount --bind "${odd_here%/*}" "$odd_new${odd_here%/*}"
	cd "$odd_new" && pivot_root . . && umount -l . && cd "$odd_here" ||
	    atf_fail "no new root"
	for odd_d in / "$SBX_SCRATCH"; do
		atf_check_equal overlay "$(findmnt -rno FSTYPE -T "$odd_d")"
	done
}

atf_test_case container
container_head()
{
	atf_set descr "a root that is an overlay itself, as in a container, with \
home and project on it, and with the project on a volume: run, changes, apply, \
discard"
	atf_set require.user root
	atf_set timeout 240
}
container_body()
{
	odd_container
	int_begin
	int_each odd_job
	int_who root
	P=$volume/p
	sbx_repo "$P"
	odd_job
	atf_check -o match:'^ok +state' -o not-match:'^fail' sbxctl doctor
	int_end
}

atf_test_case elsewhere
elsewhere_head()
{
	atf_set descr "home on another filesystem, the state on a tmpfs: run, \
changes, apply, discard"
	atf_set require.user root
	atf_set timeout 240
}
elsewhere_body()
{
	sbx_fresh_fs ext4 "$SBX_SCRATCH/home" 64M
	sbx_fresh_fs tmpfs "$SBX_SCRATCH/root"
	sbx_fresh_fs tmpfs "$SBX_SCRATCH/memory"
	sbx_fresh_fs tmpfs "$SBX_SCRATCH/own"
	SBX_STATE=$SBX_SCRATCH/memory/state
	int_begin
	int_each odd_job
	atf_check -o not-match:'^fail' sbxctl doctor
	int_end
}

atf_test_case linked
linked_head()
{
	atf_set descr "a home that is a link, to another filesystem: run, \
changes, apply, discard"
	atf_set require.user root
	atf_set timeout 240
}
linked_one()
{
	odd_real=$SBX_SCRATCH/far/$who_user
	mv "$who_home" "$odd_real"
	ln -s "$odd_real" "$who_home"
	odd_job
	P=$odd_real/${P##*/}
	rm -rf "$P"
	sbx_repo "$P" "$who_user"
	odd_job
}
linked_body()
{
	int_begin
	sbx_fresh_fs ext4 "$SBX_SCRATCH/far" 64M
	int_each linked_one
	int_stop
}

atf_test_case fresh
fresh_head()
{
	atf_set descr "projects below /tmp and /run: run, changes, apply, \
discard; nothing else of those is shown"
	atf_set require.user root
	atf_set timeout 240
}
fresh_one()
{
	for odd_d in /tmp /run; do
		odd_top=$odd_d/sbx-odd-$who_user-${SBX_SCRATCH##*.}
		P=$odd_top/p
		mkdir -m 755 "$odd_top"
		echo other >"$odd_top/other"
		sbx_repo "$P" "$who_user"
		odd_job
		atf_check -o inline:'p\n' run -- ls -A "$odd_top"
		rm -rf "$odd_top"
	done
}
fresh_body()
{
	int_begin
	int_each fresh_one
	int_end
}

# odd_says WHAT: doctor names the way that is used instead.
odd_says()
{
	sbxctl doctor >doctor.out || atf_fail "$(cat doctor.out)"
	atf_check -o match:'^(ok|warn) +interface' -o not-match:'^fail' \
	    cat doctor.out
	case $1 in
	*fsopen*)	odd_text='by mount\(2\) and cloned, as fsopen' ;;
	*)		odd_text='are made by fsopen' ;;
	esac
	atf_check -o match:"interface.*$odd_text" cat doctor.out
	case $1 in
	*fsopen* | *setfd* | *older*)
		odd_text='layers are named by /proc/self/fd' ;;
	*)		odd_text='layers are given by descriptor' ;;
	esac
	atf_check -o match:"interface.*$odd_text" cat doctor.out
	case $1 in
	*attach* | *older*)
		odd_text="assembled in mountd's own mount namespace" ;;
	*)		odd_text='assembled detached' ;;
	esac
	atf_check -o match:"interface.*$odd_text" cat doctor.out
	case $1 in
	*older*)	odd_text="a process of mountd's in its pid namespace" ;;
	*)		odd_text="its pid namespace's descriptor" ;;
	esac
	atf_check -o match:"^ok +proc .*$odd_text" cat doctor.out
}

# What a tree is to be: hidden and read-only paths, fresh folders, a mount.
odd_tree()
{
	mkdir -p "$P/hid" "$P/ro" "$P/m"
	echo SECRET >"$P/hid/s"
	echo SECRET >"$P/key"
	echo r >"$P/ro/r"
	chown -R "$who_user:" "$P"
	mount -t tmpfs -o mode=777 t "$P/m"
	run --hide "$P/hid" --hide "$P/key" --hide "$P/none" --ro "$P/ro" -- \
	    sh -c 'cat hid/s key none; ls -A hid; cat ro/r; echo x >ro/r
	    mv key key2; rmdir hid
	    echo in >m/in && cat m/in; ls -A /tmp; echo t >/tmp/t && cat /tmp/t
	    : >/dev/null && ls /dev/pts/ptmx; test -d /proc/1 && ls /proc |
	    grep -c "^[0-9]"; echo x >/proc/sys/kernel/hostname; ls /sys/firmware
	    cat /proc/self/mountinfo; exit 0' >tree.out 2>tree.err ||
	    atf_fail "$(cat tree.err)"
	sed '/^[0-9]* [0-9]* [0-9]*:[0-9]* /d' tree.out >tree.is
	atf_check -o inline:'r\nin\nt\n/dev/pts/ptmx\n' sed 4q tree.is
	# Nobody else's processes are there, and nothing of the stage.
	atf_check test "$(tail -n 1 tree.is)" -le 6
	atf_check -o empty awk '$3 ~ /:/ && $5 ~ /\.mount/' tree.out
	atf_check -o match:'ro/r: Read-only' -o match:'key2.: Device' \
	    -o match:'hostname: (Read-only|Permission)' cat tree.err
	atf_check test ! -e "$P/m/in"
	umount "$P/m" || atf_fail "something holds it"
	rm -r "$P/hid" "$P/key" "$P/ro" "$P/m"
	sbxctl ls | awk 'NR > 1 { print $1 }' >sids
	while read -r sid; do
		sbxctl rm --discard "$sid" >/dev/null || atf_fail "rm $sid"
	done <sids
}
odd_unstaged()
{
	odd_ns="nsenter -m -t $(pgrep -P "$sbx_suite" -x mountd)"
	$odd_ns ls "$SBX_STATE/s/.mount" 2>/dev/null | sed 's/\..*//' |
	    sort -u >staged
	test "$(wc -l <staged)" -le 1
}
odd_both()
{
	odd_tree
	odd_job
}

atf_test_case ways
ways_head()
{
	atf_set descr "fsopen, descriptors for layers, attaching to a detached \
tree: refused one at a time, all that Linux 6.1 has not, and fsopen too; the \
main job is done another way, which doctor names"
	atf_set require.user root
	atf_set timeout 400
}
ways_body()
{
	int_begin
	for way in 'deny fsopen' 'deny setfd' 'deny attach' 'deny mount' older \
	    'older deny fsopen'; do
		echo "== $way"
		sbx_by=$way
		sbx_suite_stop || atf_fail "sbxd does not end with 0"
		int_suite
		int_both odd_both
		odd_says "$way"
		# What is still mounted is of the next session's process.
		int_wait odd_unstaged
		if [ -z "${int_own_suite-}" ]; then
			int_who own
		else
			int_who own
			int_own_again
		fi
		odd_both
		odd_says "$way"
		SBX_STATE=$int_root_state PATH=$int_path
	done
	int_end
	atf_check -s exit:1 grep '\.mount' "$SBX_SCRATCH/sbxd.log"
	atf_check -o empty find "$SBX_STATE/s" "$int_own_dir/state/s" \
	    -path '*/.mount/*'
}

atf_test_case no_way
no_way_head()
{
	atf_set descr "where no mount can be made one line says why, and \
nothing runs"
	atf_set require.user root
	atf_set timeout 120
}
no_way_one()
{
	int_refused 125 "$1" run -- touch ran
	atf_check test ! -e "$P/ran"
	atf_check -s exit:1 -o match:"^fail" sbxctl doctor
	int_state_check
}
no_way_body()
{
	int_begin
	int_who own
	SBX_STATE=$int_root_state PATH=$int_path
	while read -r way text; do
		sbx_by="deny $way"
		sbx_suite_stop || atf_fail "sbxd does not end with 0"
		int_suite
		int_who root
		no_way_one "$text"
		int_who own
		int_own_again
		no_way_one "$text"
		SBX_STATE=$int_root_state PATH=$int_path
	done <<-'EOT'
		fsopen,mount fsopen(2) is refused, and the other way, mount(2), does not work either
		attach,mount a detached mount can be neither cloned nor attached to, and the other way
		open_tree Operation not permitted
	EOT
	int_end
}

atf_test_case without
without_head()
{
	atf_set descr "no Landlock, nobody who tells who connects, no keys, a \
call that a container's filter does not know: the main job and a mode land, \
and doctor names it; what a session cannot do without refuses it by one line"
	atf_set require.user root
	atf_set timeout 120
}
without_job()
{
	odd_job
	run --keep -- chmod 750 a.txt 2>job.err || atf_fail "$(cat job.err)"
	int_kept job.err
	atf_check -o match:'1 file landed' -e ignore \
	    sbxctl apply --yes "$sid"
	atf_check_equal 750 "$(stat -c %a "$P/a.txt")"
	atf_check -o ignore sbxctl rm "$sid"
	sbxctl doctor >doctor.out || atf_fail "$(cat doctor.out)"
	atf_check -o match:'^warn +landlock +not in this kernel.*; abstract' \
	    -o match:'^warn +clients .*before Linux 6.5' cat doctor.out
}
without_body()
{
	int_begin
	int_who own
	atf_check -o match:'^ok +landlock' -o match:'^ok +clients' sbxctl doctor
	sbx_by='deny landlock,peerpidfd,fchmodat2,keys'
	int_own_again
	without_job
	SBX_STATE=$int_root_state PATH=$int_path
	sbx_suite_stop || atf_fail "sbxd does not end with 0"
	int_suite
	int_who root
	without_job
	for odd_call in keyctl pivot_root; do
		sbx_by="deny $odd_call"
		sbx_suite_stop || atf_fail "sbxd does not end with 0"
		int_suite
		int_refused 125 "$odd_call(2): Operation not permitted: if \
the suite runs where system calls are filtered" run -- touch ran
		atf_check test ! -e "$P/ran"
		int_state_check
	done
	int_end
}

atf_test_case bare
bare_head()
{
	atf_set descr "where a user's own suite has only the clone: FIFOs are \
not written to, known sockets are covered, show says what is left"
	atf_set require.user root
	atf_set timeout 120
}
bare_body()
{
	int_begin
	int_who own
	top=$SBX_SCRATCH/bare
	mkdir -m 777 "$top" "$top/in" "$top/bl ank"
	mkfifo -m 666 "$top/fifo" "$P/fifo"
	chown "$int_own:" "$P/fifo"
	mount -t tmpfs t "$top/in"
	int_own_again
	mkfifo listen.in
	sock listen "$top/bl ank/sock" <listen.in >listen.out &
	listener=$!
	exec 8>listen.in
	int_wait_file listen.out listening
	chmod 777 "$top/bl ank/sock"
	# Somebody outside reads; a byte would be enough.
	timeout 30 cat "$top/fifo" >fifo.out 8>&- &
	reader=$!
	odd_is "$top/bl ank/sock" covered --repo "$P"
	odd_is "$top/fifo" read-only --repo "$P"
	cat >"$tools/bare" <<-'EOT'
		cd "$1" || exit
		(timeout 2 sh -c 'echo byte >fifo') 2>&1
		(timeout 2 sh -c 'echo byte 1<>fifo >&1') 2>&1
		sock reach "bl ank/sock" 2>&1
		stat -c %F "bl ank/sock"
		# What is its own is as ever.
		cd "$2"
		mkfifo own && (echo own >own & cat own)
		(echo proj >fifo & cat fifo)
		echo f >f && mkdir d && mv f d/f && ln d/f g && cat g
		echo t >/tmp/t && mv /tmp/t d/t && cat d/t
		echo s >/dev/shm/s && cat /dev/shm/s && echo n >/dev/null
		echo 1 >/proc/self/comm && echo comm; echo o >/dev/stdout
		echo e >/dev/fd/1; echo h >~/h && cat ~/h
		python3 -c 'import os
		f = os.memfd_create("m"); os.write(f, b"memfd\n")
		w = open("/proc/self/fd/%d" % f, "w"); w.write("fd\n"); w.close()
		os.lseek(f, 0, 0); print(os.read(f, 9))'
	EOT
	sed -i 's/^\t*//' "$tools/bare"
	mkdir "$int_own_home/sub"
	chown "$int_own:" "$int_own_home/sub"
	run --keep -- sh "$tools/bare" "$top" "$P" >out 2>err ||
	    atf_fail "$(cat out err)"
	int_kept err
	atf_check -o match:'fifo: Permission denied' -o not-match:' reached' \
	    -o match:'^regular empty file$' cat out
	sed '1,/^regular empty file$/d' out >own.out
	atf_check -o inline:"own\nproj\nf\nt\ns\ncomm\no\ne\nh\nb'fd\\\\n'\n" \
	    cat own.out
	exec 8>&-
	wait "$listener" || :
	kill "$reader"
	wait "$reader" || :
	atf_check -o empty cat fifo.out
	atf_check -o match:'^missing .*no control group' \
	    -o match:"no overlay can lie on .*: /, .*FIFOs there can be read" \
	    sbxctl show "$sid"
	atf_check -o match:'"missing": \[' sbxctl show --json "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	umount "$top/in" || atf_fail "something holds it"
	int_stop
	# Root's has nothing of that.
	int_suite
	int_who root
	int_keep sh -c 'echo x >f'
	atf_check -o not-match:'no overlay can lie' sbxctl show "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
}

atf_init_test_cases()
{
	for c in mounts own home copy container elsewhere linked \
	    fresh ways no_way without bare; do
		atf_add_test_case "$c"
	done
}
