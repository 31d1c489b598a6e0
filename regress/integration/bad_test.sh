# Bad input: one line, the right status, nothing changed, nothing left.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

atf_test_case repo
repo_head()
{
	atf_set descr "what cannot be a project"
	atf_set require.user root
	atf_set timeout 120
}
repo_body()
{
	int_begin
	int_running_mark
	int_who user
	mine=$P
	int_who root
	cd "$SBX_SCRATCH" || atf_fail cd
	rep() { int_refused 125 "$1" sbxctl run --repo "$2" -- true; }
	rep /no/such/folder /no/such/folder
	rep "$P/a.txt" "$P/a.txt"
	rep / /
	rep / //
	rep / /..
	rep /proc/self /proc/self
	rep /proc/1/root /proc/1/root/var
	rep /sys/kernel /sys/kernel
	rep /dev/shm /dev/shm
	rep '' ''
	rep "$SBX_STATE" "$SBX_STATE"
	rep "$SBX_STATE" "$SBX_STATE/s"
	# Of another uid: who is named.
	rep "--as $int_user" "$mine"
	int_refused 125 '--as root' sbxctl run --as "$int_user" --repo "$P" -- \
	    true
	mkdir -m 0700 "$SBX_SCRATCH/shut"
	mkdir -m 0755 "$SBX_SCRATCH/shut/p"
	chown "$int_user:" "$SBX_SCRATCH/shut/p"
	int_refused 125 "$SBX_SCRATCH/shut/p" sbxctl run --as "$int_user" \
	    --repo "$SBX_SCRATCH/shut/p" -- true
	mkdir -m 0300 "$int_user_home/unreadable"
	chown "$int_user:" "$int_user_home/unreadable"
	int_refused 125 unreadable sbxctl run --as "$int_user" \
	    --repo "$int_user_home/unreadable" -- true
	# A current folder that is no more.
	int_refused 125 folder sh -c 'mkdir gone && cd gone && rmdir ../gone &&
	    exec sbxctl run -- true'
	ln -s loop loop
	rep loop loop
	# Links are followed by the caller, as everywhere.
	ln -s "$P" link
	atf_check -o inline:"$P\n" sbxctl run --repo link -- pwd
	int_nothing_left
	int_end
}

atf_test_case names
names_head()
{
	atf_set descr "names with comma, colon, newline, backslash work; 4,096 \
bytes are refused"
	atf_set require.user root
	atf_set timeout 120
}
names_one()
{
	base=$P
	for n in 'a,b:c' 'new
line' 'back\slash' "qu'o\"te" ' blank ' '%s$x*' 'lowerdir=/,upperdir=/x' \
	    "$(printf '\377\376')" -rf; do
		P=$base.$n
		sbx_repo "$P" "$(stat -c %U "$base")"
		echo real >"$P/hid,den:x" && mkdir "$P/r,o:x"
		chown --reference="$base" "$P"/*,*
		int_keep_in "$P" sh -c 'cat "hid,den:x"; echo w >"r,o:x/f"
		    echo in >>a.txt; echo "$PWD" >pwd'
		atf_check -o match:'^2 files' sbxctl changes "$sid"
		atf_check -o match:'2 files landed' sbxctl apply --yes "$sid"
		printf '%s\n' "$P" >want
		atf_check -o file:want cat "$P/pwd"
		atf_check -o ignore sbxctl rm "$sid"
	done
	# As long as a path can be, and one longer.
	long=$base.l
	while [ ${#long} -lt 3840 ]; do
		long=$long/$(printf '%0200d' 1)
	done
	mkdir -p "$long" && chown --reference="$base" "$long"
	P=$long
	atf_check -o inline:'deep\n' run -- echo deep
	big=$(printf '%04096d' 1)
	cd "$base" || atf_fail cd
	int_refused 125 00000 sbxctl run $AS --repo "/$big" -- true
	int_refused 125 00000 sbxctl run $AS --name "$big" -- true
	int_refused 125 00000 sbxctl run $AS --hide "$big" -- true
	int_refused 125 00000 sbxctl run $AS --ro "$big" -- true
	int_refused 125 00000 sbxctl run --as "$big" -- true
	cd "$SBX_SCRATCH" || atf_fail cd
	rm -rf "$base".*
}
# int_keep_in DIR COMMAND...: like int_keep, with a hidden and a read-only one.
int_keep_in()
{
	sleep 0.02
	(cd "$1" && shift && exec sbxctl run $AS --keep --hide 'hid,den:x' \
	    --ro 'r,o:x' -- "$@") >keep.out 2>keep.err ||
	    atf_fail "$1: $(cat keep.err)"
	atf_check -o not-match:real cat keep.out
	sid=$(sed -n 's/^sbxctl: session \([a-z2-7]*\) is kept.*/\1/p' keep.err)
	atf_check test ! -e "$1/r,o:x/f"
}
names_body()
{
	int_begin
	int_running_mark
	int_each names_one
	int_own_stop
	int_who root
	for n in '' -x "$(printf 'a\nb')" "$(printf 'a\033b')" \
	    "$(printf '\377')" "$(printf '%0129d' 1)"; do
		int_refused 125 --name run --name "$n" -- true
	done
	int_refused 125 --hide run --hide '' -- true
	int_refused 125 command run -- ''
	int_nothing_left
	int_end
}

atf_test_case request
request_head()
{
	atf_set descr "arguments and environments as large as may be, and larger"
	atf_set require.user root
	atf_set timeout 120
}
request_body()
{
	int_begin
	int_running_mark
	int_who root
	word=$(printf '%0100000d' 1)
	atf_check -o inline:'3\n100001\n' run -- sh -c 'echo $#
	    printf %s. "$1" | wc -c' sh "$word" "$word" "$word"
	# As many as a shell gives; with a larger stack it gives more.
	seq 1 130000 >words
	sed 's/.*/'"$(printf '%090000d' 1)"'/;50q' words >long
	cat >give <<-EOT
		cd $P && ulimit -s 65536 && exec sbxctl run -- sh -c 'echo \$#' \
		    sh \$(cat $PWD/\$1)
	EOT
	atf_check -o inline:'130000\n' sh give words
	seq 1 140000 >words
	int_refused 125 limit sh give words
	int_refused 125 limit sh give long
	int_nothing_left
	int_end
}

atf_test_case usage
usage_head()
{
	atf_set descr "wrong words: status 2, one line, what would be accepted"
	atf_set require.user root
}
usage_body()
{
	int_tools
	int_who root
	cd "$P" || atf_fail cd
	int_refused 2 'sbxctl help' sbxctl nonsense
	int_refused 2 --nonsense sbxctl run --nonsense -- true
	int_refused 2 --repo sbxctl run --repo
	int_refused 2 --keep sbxctl run --keep=yes -- true
	int_refused 2 twice sbxctl run --name a --name b -- true
	int_refused 2 -o sbxctl patch
	int_refused 2 word sbxctl show a b
	int_refused 2 word sbxctl ls a
	int_refused 2 12345 sbxctl apply --digest 12345 x
	int_refused 2 --yes sbxctl apply --yes --digest "$(printf %064d 1)" x
	for c in run ls show changes diff patch apply discard rm doctor \
	    version; do
		atf_check -o match:"^usage: sbxctl $c" sbxctl $c --help
	done
	atf_check -o match:'^usage: sbxctl run' sbxctl help
	atf_check -o match:'^usage: sbxctl gc' -o not-match:'sbxctl run' \
	    sbxctl help gc
	atf_check -o match:'^usage: sbxctl run' sbxctl run -h
	int_refused 2 'unknown command' sbxctl help nonsense
	atf_check -s exit:2 -e match:'^usage: sbxctl run' sbxctl
	# None of it was a reason to start a suite.
	atf_check test ! -e "$SBX_STATE"
	# SBX_STATE itself.
	int_refused 125 relative env SBX_STATE=relative sbxctl run -- true
	int_refused 1 0000 env SBX_STATE="/$(printf %05000d 1)" sbxctl ls
	int_refused 125 / env SBX_STATE=/ sbxctl run -- true
	int_refused 125 /proc env SBX_STATE=/proc/x sbxctl run -- true
	int_refused 125 /no/such env SBX_STATE=/no/such/folder sbxctl run -- \
	    true
	int_refused 125 a.txt env SBX_STATE="$P/a.txt" sbxctl run -- true
	atf_check -s exit:2 -e match:usage sbxd -x
	atf_check -s exit:2 -e match:'^sbxd: word: ' -e match:usage sbxd word
	atf_check -o match:'^usage: sbxd' sbxd --help
	int_refused 125 'the one above it' \
	    env SBX_STATE=/no/such/folder sbxctl run -- true
	atf_check -s exit:1 -e match:'^sbxd: .*/no/such' sbxd -n -f /no/such/file
}

atf_test_case state_unfit
state_unfit_head()
{
	atf_set descr "a state without attributes or owners, not ours, or full"
	atf_set require.user root
	atf_set timeout 120
}
state_unfit_body()
{
	int_tools
	int_who root
	cd "$P" || atf_fail cd
	# Where no overlay can have its upper folder.
	sbx_fresh_fs noxattr "$SBX_SCRATCH/noxattr"
	int_clean_mark
	int_refused 125 "$SBX_SCRATCH/noxattr" \
	    env SBX_STATE="$SBX_SCRATCH/noxattr/s" sbxctl run -- true
	int_clean_check
	# Either it does not start, or it says of itself that it cannot.
	atf_check -s exit:1 -o match:'^fail  .*noxattr' env \
	    SBX_STATE="$SBX_SCRATCH/noxattr/s" sbxctl doctor
	int_clean_check
	atf_check umount "$SBX_SCRATCH/noxattr"
	# Somebody else's; writable for others; a link; below such a one.
	int_who user
	mkdir "$SBX_SCRATCH/theirs" "$SBX_SCRATCH/open"
	chown "$int_user:" "$SBX_SCRATCH/theirs"
	chmod 777 "$SBX_SCRATCH/open"
	mkdir "$SBX_SCRATCH/mine"
	ln -s mine "$SBX_SCRATCH/link"
	AS='' P=$HOME/p1
	int_clean_mark
	for d in theirs open link; do
		int_refused 125 "$SBX_SCRATCH/$d" \
		    env SBX_STATE="$SBX_SCRATCH/$d" sbxctl run -- true
		atf_check -o empty find "$SBX_SCRATCH/$d" -mindepth 1
	done
	int_clean_check
}

atf_test_case state_lacks
state_lacks_head()
{
	atf_set descr "A24: no attributes, or an overlay, below the state: the \
line names what it lacks and how to go on, in both kinds of suite"
	atf_set require.user root
	atf_set timeout 120
}
# lacks DIR WHAT: refused for that, by run and by doctor; nothing is left of it.
lacks()
{
	chown "$who_user:" "$1"
	chmod 700 "$1"
	SBX_STATE=$1/s
	for what in "can carry no layer: it lacks" "$2" \
	    'SBX_STATE names the folder'; do
		int_refused 125 "$what" run -- true
	done
	atf_check -s exit:1 -o match:"^fail  *state .*lacks.*$2" \
	    -o match:'mend what says fail' sbxctl doctor
	atf_check -o empty find "$1/s/s" -mindepth 1 -name '[^.]???????????'
	int_wait sh -c 'umount "$0" 2>/dev/null' "$1"
}
state_lacks_one()
{
	ram=$SBX_SCRATCH/ram-$who_user over=$SBX_SCRATCH/over-$who_user
	mkdir "$ram" "$over" "$over.up"
	mount -t ramfs sbx-test "$ram"
	lacks "$ram" attributes
	mount -t tmpfs sbx-test "$over.up"
	mkdir "$over.up/l" "$over.up/u" "$over.up/w"
	mount -t overlay -o "lowerdir=$over.up/l,upperdir=$over.up/u,\
workdir=$over.up/w" sbx-test "$over"
	lacks "$over" RENAME_WHITEOUT
	umount "$over.up"
}
state_lacks_body()
{
	int_begin
	for w in root own; do
		int_who "$w"
		state_lacks_one
	done
	SBX_STATE=$int_root_state
	int_end
}

atf_test_case state_full
state_full_head()
{
	atf_set descr "a state that is full: originals and suite intact"
	atf_set require.user root
	atf_set timeout 120
}
state_full_body()
{
	int_tools
	int_who user
	head -c 3000000 /dev/urandom >"$P/big"
	chown "$int_user:" "$P/big"
	sbx_fresh_fs ext4 "$SBX_SCRATCH/small" 8M
	SBX_STATE=$SBX_SCRATCH/small/state
	int_clean_mark
	int_suite
	before=$(sbx_tree "$P")
	# The session is told, nobody else.
	run -- sh -c 'echo kept >f; head -c 20000000 /dev/zero >g || echo full
	    for i in 1 2 3; do cat big >c$i || echo full; done; echo x >>big ||
	    echo full; rm -f c* g; echo more >h' >out 2>err
	atf_check -o match:full cat out
	atf_check -o match:'No space left' cat err
	sid=$(sed -n 's/.*session \([a-z2-7]*\) is kept.*/\1/p' err)
	int_same "$before" "$(sbx_tree "$P")" "originals were touched"
	atf_check -o match:'A  f' -o match:'A  h' sbxctl changes "$sid"
	# To the last byte: what cannot be started is refused in one line.
	head -c 20000000 /dev/zero >"$SBX_SCRATCH/small/fill" 2>/dev/null
	for i in 1 2 3 4 5; do
		cat "$SBX_SRC/LICENSE" >>"$SBX_SCRATCH/small/fill$i" 2>/dev/null
	done
	run -- true >out 2>err </dev/null || {
		atf_check_equal 125 "$?"
		atf_check_equal 1 "$(wc -l <err)"
	}
	atf_check -o match:"$sid" sbxctl ls
	rm "$SBX_SCRATCH"/small/fill*
	atf_check -o match:'landed' sbxctl apply --yes "$sid"
	atf_check -o inline:'kept\n' cat "$P/f"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_state_check
	int_end
	atf_check umount "$SBX_SCRATCH/small"
}

atf_test_case state_room
state_room_head()
{
	atf_set descr "a session that has filled the state: what to do is \
said, and dropping its changes needs no room"
	atf_set require.user root
	atf_set timeout 120
}
# room_one TYPE: a state that is full to the last byte.
room_one()
{
	sbx_fresh_fs "$1" "$SBX_SCRATCH/room" 6M
	SBX_STATE=$SBX_SCRATCH/room/state
	int_clean_mark
	int_suite
	head -c 300000 /dev/urandom >"$P/big"
	chown "$int_user:" "$P/big"
	run --keep -- sh -c 'echo in >>a.txt; echo in >>big; cp big new
	    ln -s a.txt knot; rm Makefile
	    head -c 20000000 /dev/zero >c; echo x >d' >out 2>err
	grep -q 'No space left' err || atf_fail "the state is not full"
	sid=$(sbxctl ls | awk 'NR == 2 { print $1 }')
	# Each of them: where, and what makes room.
	for c in changes diff 'apply --yes'; do
		# shellcheck disable=SC2086 # a command and its options
		int_refused 1 "No space left on device; the filesystem of the \
state, $SBX_STATE, is full: make room there, or drop what sessions changed \
(\"sbxctl discard ID PATH" sbxctl $c "$sid"
	done
	for i in 1 2 3; do
		int_refused 125 "the filesystem of the state, $SBX_STATE, is \
full" run -- true
	done
	before=$(sbx_tree "$P")
	if [ "$2" = all ]; then
		atf_check -o ignore sbxctl discard --yes "$sid"
	else
		atf_check -o ignore sbxctl discard --yes "$sid" "$P/c"
		atf_check -o match:'A  new' -o match:'M  big' \
		    -o match:'D  Makefile' -o not-match:'A  c' \
		    sbxctl changes "$sid"
		atf_check -o ignore sbxctl discard --yes "$sid" "$P/new" \
		    "$P/big" "$P/a.txt"
		atf_check -o match:'A  knot' -o not-match:'  new' \
		    sbxctl changes "$sid"
		atf_check -o ignore sbxctl discard --yes "$sid"
	fi
	int_same "$before" "$(sbx_tree "$P")" "originals were touched"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	run -- true || atf_fail "no session starts after a discard"
	atf_check -o ignore sbxctl rm "$sid"
	int_state_check
	int_end
	umount "$SBX_SCRATCH/room" || atf_fail "something is open in there"
}
state_room_body()
{
	int_tools
	int_who user
	room_one tmpfs all
	room_one tmpfs some
	room_one ext4 all
	room_one ext4 some
}

atf_test_case clients
clients_head()
{
	atf_set descr "garbage, another protocol, half a frame, a request too \
early, 10,000 connections, one that never reads"
	atf_set require.user root
	atf_set timeout 120
}
clients_body()
{
	int_begin
	int_running_mark
	int_who root
	s=$SBX_STATE/sbxd.sock
	fds=$(ls "/proc/$sbx_suite/fd" | wc -l)
	# Said why, and hung up on.
	atf_check -o match:closed client "$s" garbage 200000
	atf_check -o match:'protocol.version' -o match:'^closed' \
	    client "$s" protocol 9
	atf_check -o match:'protocol.version' client "$s" protocol 0
	atf_check -o match:'protocol.broken' -o match:'^closed' \
	    client "$s" huge
	atf_check -o match:'protocol.broken' -o match:'^closed' \
	    client "$s" early
	# Half a frame is waited for; it costs nobody anything.
	client "$s" half >half.out &
	half=$!
	atf_check -o inline:'here\n' run -- echo here
	wait "$half" || atf_fail "half"
	# Many, one after the other, and at once.
	atf_check timeout 60 client "$s" flood 10000
	atf_check -o inline:'here\n' timeout 10 sh -c "cd $P &&
	    exec sbxctl run -- echo here"
	mkfifo hold.in
	timeout 60 client "$s" hold 300 <hold.in >hold.out &
	exec 8>hold.in
	int_wait_file hold.out held
	int_refused 1 'too many connections' sbxctl ls 8>&-
	int_refused 125 'too many connections' run -- true 8>&-
	exec 8>&-
	wait $! || atf_fail hold
	int_wait sh -c 'sbxctl ls >/dev/null 2>&1'
	# One that asks and never reads: it is paused or dropped, others are
	# answered, and nothing is heaped up for it.
	run --keep -- true 2>err
	int_kept err
	mkfifo mute.in
	timeout 60 client "$s" mute 200000 <mute.in >mute.out &
	exec 8>mute.in
	int_wait_file mute.out sent
	start=$(date +%s%N)
	atf_check -o inline:'here\n' run -- echo here
	[ $((($(date +%s%N) - start) / 1000000)) -lt 15000 ] ||
	    atf_fail "the others wait"
	kb=$(awk '/^VmRSS/ { print $2 }' "/proc/$sbx_suite/status")
	! int_plain || [ "$kb" -lt 65536 ] || atf_fail "sbxd holds $kb KiB"
	exec 8>&-
	wait $! || :
	atf_check -o ignore sbxctl rm "$sid"
	# All descriptors are back.
	int_wait sh -c "test \$(ls /proc/$sbx_suite/fd | wc -l) -le $fds"
	int_nothing_left
	int_end
}

atf_test_case starts
starts_head()
{
	atf_set descr "a start that fails leaves no control group and no process"
	atf_set require.user root
}
# starts_not TEXT CONF: sbxd -d with that configuration ends so.
starts_not()
{
	echo "$2" >conf
	sbxd -d -f "$PWD/conf" >out 2>err </dev/null && got=0 || got=$?
	atf_check_equal 1 "$got"
	grep -q "^20[0-9T:-]*Z sbxd: fatal: .*$1" err || atf_fail "not $1: $(cat err)"
	int_clean_check
}
starts_body()
{
	int_tools
	int_clean_mark
	unset SBX_STATE
	mkdir lib
	mount --bind lib /var/lib
	int_clean_mark
	starts_not "$PWD/conf: socketGroup nope: there is no such group" \
	    '{ "socketGroup": "nope" }'
	starts_not "$PWD/conf: roles.admin: there is no user nope" \
	    '{ "roles": { "admin": [ "nope" ] } }'
	starts_not "the socket's folder /nope" '{ "socket": "/nope/s" }'
	# With helpers that run already.
	mount --bind /dev/null "$SBX_BUILDDIR/libexec/sbx/landd"
	int_clean_mark
	starts_not landd '{}'
	umount "$SBX_BUILDDIR/libexec/sbx/landd"
	umount /var/lib
}

atf_test_case locked
locked_head()
{
	atf_set descr "a second suite on one state; one whose uids are taken"
	atf_set require.user root
}
locked_body()
{
	int_begin
	int_running_mark
	atf_check -s exit:1 -e match:'another sbxd runs' timeout 20 sbxd -d
	# A copy of a state has that one's uids.
	cp -a "$SBX_STATE" "$SBX_SCRATCH/copy"
	atf_check -s exit:1 -e match:copy env SBX_STATE="$SBX_SCRATCH/copy" \
	    timeout 20 sbxd -d
	# Another state has others.
	(
		SBX_STATE=$SBX_SCRATCH/state2
		export SBX_STATE
		sbxd -d 2>second.log &
		# The socket is there before the suite can end in order.
		n=0
		until grep -q ': ready on ' second.log; do
			n=$((n + 1))
			[ "$n" -lt 100 ] || exit 1
			sleep 0.1
		done
		one=$(stat -c %u "$SBX_SCRATCH/state/sbxd")
		two=$(stat -c %u "$SBX_STATE/sbxd")
		kill $!
		wait $!
		[ "$one" -ne "$two" ]
	) || atf_fail "two suites, one set of uids"
	int_nothing_left
	int_end
}

atf_test_case powers
powers_head()
{
	atf_set descr "started without all of root's capabilities: which are \
missing, in one line"
	atf_set require.user root
}
powers_body()
{
	int_tools
	int_clean_mark
	int_who root
	for c in sys_admin net_admin mknod setfcap; do
		atf_check -s exit:125 -o empty -e save:err \
		    setpriv --inh-caps "-$c" --bounding-set "-$c" \
		    sbxctl run --repo "$P" -- true
		atf_check -o match:"^sbxctl: .*started without these cap.*: $c: give" \
		    cat err
		atf_check_equal 1 "$(wc -l <err)"
	done
	atf_check -s exit:1 -o empty -e match:': mknod setfcap: give' \
	    setpriv --inh-caps -mknod,-setfcap \
	    --bounding-set -mknod,-setfcap timeout 20 sbxd -d
	[ ! -e "$SBX_STATE" ] || atf_fail "something was made"
	int_clean_check
}

atf_test_case container
container_head()
{
	atf_set descr "what a container's /proc keeps read-only and masked \
hinders no session, and stays as it is"
	atf_set require.user root
}
container_body()
{
	mount --bind /proc/sys /proc/sys
	mount -o remount,bind,ro /proc/sys
	mount --bind /dev/null /proc/kmsg
	limit=$(cat /proc/sys/user/max_user_namespaces)
	atf_check test "$limit" -gt 0
	int_begin
	int_who user
	atf_check -o inline:'0\n' run -- cat /proc/sys/user/max_user_namespaces
	atf_check_equal "$limit" "$(cat /proc/sys/user/max_user_namespaces)"
	int_end
}

atf_init_test_cases()
{
	for c in repo names request usage state_unfit state_lacks state_full \
	    state_room clients starts locked powers container; do
		atf_add_test_case "$c"
	done
}
