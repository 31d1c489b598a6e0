. "$SBX_SRC/regress/integration/lib.sh"

# hides N: run with that many hidden paths, each of some fifty bytes.
hides()
{
	long=$(printf %040d 0) i=$1
	set -- -- sh -c 'echo x >>a.txt'
	while [ "$i" -gt 0 ]; do
		set -- --hide "/srv/none/$i/$long" "$@"
		i=$((i - 1))
	done
	run --keep "$@"
}

# words N: run with that many arguments of 127 KiB each.
words()
{
	long=$(printf %0130000d 0) i=$1
	set --
	while [ "$i" -gt 0 ]; do
		set -- "$@" "$long"
		i=$((i - 1))
	done
	# A quarter of it is the room for arguments.
	# shellcheck disable=SC3045 # any shell that is /bin/sh has it
	ulimit -s 65536
	run -- true "$@"
}

atf_test_case lists
lists_head()
{
	atf_set descr "lists that do not fit a message are refused, and no \
client ends the suite with them"
	atf_set require.user root
	atf_set timeout 120
}
lists_body()
{
	int_begin
	int_who root
	int_refused 125 'hidden paths are too long' hides 1200
	# As many as do fit: a review carries them on.
	hides 600 2>kept || atf_fail "$(cat kept)"
	sid=$(sbxctl ls | awk 'NR == 2 { print $1 }')
	atf_check -o match:'M  a.txt' sbxctl changes "$sid"
	atf_check -o match:'1 file landed' sbxctl apply --yes "$sid"
	int_refused 2 'the read-only paths are too many' \
	    client "$SBX_STATE/sbxd.sock" ros "$P" 65519
	# The most that a list has room for beside home and roots.
	atf_check -o save:ros client "$SBX_STATE/sbxd.sock" ros "$P" 65518
	atf_check -o match:'^END ' cat ros
	atf_check -o ignore sbxctl rm --discard "$(cut -d ' ' -f 2 ros)"
	int_refused 125 'environment and paths are too long' words 31
	words 12 || atf_fail "12 long words"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
}

atf_test_case waits
waits_head()
{
	atf_set descr "who waits for a session hears of its end once, and \
briefly"
	atf_set require.user root
}
waits_body()
{
	int_begin
	int_who root
	int_live waits --hide /srv/a --hide /srv/b -- sh -c 'cat' 1 2 3 4 5 6
	cat >want <<-EOT
		2 limit.requests
		4 limit.requests
		1 ended, 0 hidden, 8 words
		3 ended, 0 hidden, 8 words
		5 ended, 0 hidden, 8 words
		6 ended, 2 hidden, 9 words
	EOT
	atf_check -o file:want client "$SBX_STATE/sbxd.sock" waits "$sid"
	exec 9>&-
	wait "$live" || :
	atf_check -o ignore sbxctl rm "$sid"
	int_end
}

atf_test_case asks
asks_head()
{
	atf_set descr "one user's questions leave some to others, and to root"
	atf_set require.user root
}
asks_body()
{
	int_begin
	chmod 0666 "$SBX_STATE/sbxd.sock"
	int_who user
	mountd=$(pgrep -P "$sbx_suite" -x mountd)
	mkfifo asks.in
	kill -STOP "$mountd"
	HOME=$int_user_home setpriv --reuid "$int_user" --clear-groups \
	    "$tools/client" "$SBX_STATE/sbxd.sock" asks "$P" <asks.in \
	    >asks.out 2>&1 &
	asks=$!
	exec 9>asks.in
	int_wait_file asks.out refused
	atf_check -o inline:'24 refused\n' cat asks.out
	int_who root
	client "$SBX_STATE/sbxd.sock" explain "$P" >root.out 2>&1 9>&- &
	root=$!
	kill -CONT "$mountd"
	wait "$root" || atf_fail "$(cat root.out)"
	exec 9>&-
	wait "$asks" || atf_fail "$(cat asks.out)"
	int_end
}

atf_test_case full
full_head()
{
	atf_set descr "a suite without a descriptor for one more connection \
or session says so, and does not blame the client"
	atf_set require.user root
}
# full_fds N: until sbxd has so many descriptors.
full_fds()
{
	int_wait sh -c "[ \$(find /proc/$sbx_suite/fd -mindepth 1 | wc -l) = $1 ]"
}
full_body()
{
	# shellcheck disable=SC3045 # any shell that is /bin/sh has it
	ulimit -n 128
	int_begin
	chmod 0666 "$SBX_STATE/sbxd.sock"
	int_who user
	mkfifo full.in
	exec 9<>full.in
	free=$(find "/proc/$sbx_suite/fd" -mindepth 1 | wc -l)
	# 32 are kept back, of which root may have a half.
	client "$SBX_STATE/sbxd.sock" hold $((96 - free)) <full.in >full.out \
	    9>&- &
	hold=$!
	full_fds 96
	int_refused 1 'one more connection: Too many open files: the suite' \
	    sbx-as "$int_user" env "SBX_STATE=$SBX_STATE" sbxctl ls
	sbxctl ls 9>&- || atf_fail "root is not heard"
	client "$SBX_STATE/sbxd.sock" hold 15 <full.in >full.out 9>&- &
	more=$!
	full_fds 111
	int_who root
	int_refused 125 'a socket pair: Too many open files' \
	    run -- true
	client "$SBX_STATE/sbxd.sock" hold 1 <full.in >full.out 9>&- &
	last=$!
	full_fds 112
	int_refused 1 'hard limit is 128 (RLIMIT_NOFILE)' sbxctl ls
	kill "$hold" "$more" "$last"
	full_fds "$free"
	int_who user
	atf_check -o inline:'on\n' run -- echo on
	int_end
}

atf_test_case reader
reader_head()
{
	atf_set descr "a reader that goes away in the middle of a patch \
leaves its session free"
	atf_set require.user root
}
reader_body()
{
	int_begin
	int_who root
	atf_check -e match:'is kept' run --keep sh -c 'seq 2000000 >n; seq 9 >m'
	sid=$(sbxctl ls | awk 'NR == 2 { print $1 }')
	atf_check client "$SBX_STATE/sbxd.sock" leave "$sid"
	int_wait sbxctl changes "$sid" >changes
	atf_check -o match:'A  m' cat changes
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
}

atf_test_case slow
slow_head()
{
	atf_set descr "one that reads slowly keeps nobody from the session"
	atf_set require.user root
}
slow_body()
{
	int_begin
	chmod 0666 "$SBX_STATE/sbxd.sock"
	int_who user
	int_keep sh -c 'seq 2000000 >n'
	rm -f slow.in
	mkfifo slow.in
	setpriv --reuid "$int_user" --clear-groups "$tools/client" \
	    "$SBX_STATE/sbxd.sock" slow "$sid" <slow.in >slow.out 2>&1 &
	slow=$!
	exec 9>slow.in
	int_wait sh -c '[ "$(grep -c read slow.out)" -ge 3 ]'
	atf_check -o match:'A  n' sbxctl changes "$sid"
	# Not by this client's number of them either.
	atf_check -o match:'1 file landed' sbxctl apply --yes "$sid"
	atf_check -o ignore sbxctl rm "$sid"
	atf_check -s exit:0 kill -0 "$slow"
	exec 9>&-
	wait "$slow" || atf_fail "$(cat slow.out)"
	int_end
}

atf_test_case names
names_head()
{
	atf_set descr "names that fill a message, and hidden ones beside them"
	atf_set require.user root
	atf_set timeout 120
}
names_body()
{
	int_begin
	int_who root
	# Files in a folder so deep that their paths have some 4,000 bytes.
	cat >"$tools/deep" <<-'EOT'
		#!/usr/bin/env python3
		import os, sys
		for i in range(19):
		    os.mkdir("d" * 200)
		    os.chdir("d" * 200)
		for i in range(int(sys.argv[1])):
		    open("%0100d" % i, "w").close()
	EOT
	chmod 755 "$tools/deep"
	hide=$(printf %0240d 0)
	set --
	for i in $(seq 45); do
		set -- "$@" --hide "/srv/$i/$hide/$hide/$hide/$hide"
	done
	run --keep "$@" -- deep 1000 2>kept || atf_fail "$(cat kept)"
	sid=$(sbxctl ls | awk 'NR == 2 { print $1 }')
	atf_check -o match:'landed' sbxctl apply --yes "$sid"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm "$sid"
	rm -r "$P/d"*
	run --keep "$@" -- deep 1055 2>kept || atf_fail "$(cat kept)"
	sid=$(sbxctl ls | awk 'NR == 2 { print $1 }')
	int_refused 1 'one landing takes' sbxctl apply --yes "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
}

# trace_begin OPTION...: sbxd's calls into the file trace, until trace_end.
trace_begin()
{
	strace -qq -o trace "$@" -p "$sbx_suite" 2>err 9>&- &
	strace=$!
	int_wait sh -c "grep -q '^TracerPid:.*[1-9]' /proc/$sbx_suite/status"
}
trace_end()
{
	kill "$strace"
	wait "$strace" || :
}

atf_test_case synced
synced_head()
{
	atf_set descr "a session that is said to be kept is on the disk"
	atf_set require.user root
}
synced_body()
{
	int_begin
	int_who root
	trace_begin -e trace=fsync,renameat
	# Longer than it takes until the record of the start is synced.
	int_keep sh -c 'echo x >f; sleep 0.5'
	trace_end
	sed -n 's/^\([a-z]*\)(.*"record".*/\1/p; s/^\(fsync\)(.*/\1/p' trace |
	    uniq >calls
	# The last of all is no rename that nothing has followed.
	atf_check -o inline:'fsync\n' tail -n 1 calls
	atf_check test "$(grep -c renameat calls)" -ge 2
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
}

# unsynced_one CALL: which the end of a session's is in vain.
unsynced_one()
{
	int_live "$1" sh -c 'echo x >f; echo ready; read l; true'
	int_wait_file "$1.out" ready
	# What the kernel makes of a disk that fails. The filter is asked for
	# the call that comes in place of the failed one.
	trace_begin -e trace="$1" -e inject="$1:error=EIO:syscall=getpid"
	exec 9>&-
	wait "$live" || atf_fail "$(cat "$1.err")"
	atf_check -o match:"^sbxctl: note: $note" \
	    -o match:"session $sid is kept" cat "$1.err"
	atf_check -o match:"^note +$note" sbxctl show "$sid"
	trace_end
	atf_check -o match:"^$1.*EIO" cat trace
	# A second sync of the same bytes would tell of nothing.
	trace_begin -e trace=fsync,renameat
	atf_check -o match:'^1 file' sbxctl changes "$sid"
	trace_end
	sed -n 's/^renameat(.*"\(record\|seal\)").*/\1/p
	    s/^\(fsync\)(.*= 0$/\1/p' trace | uniq >calls
	atf_check -o inline:'record\nseal\nfsync\n' cat calls
	atf_check -o not-match:'power cut' sbxctl show "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
}

atf_test_case unsynced
unsynced_head()
{
	atf_set descr "one that is not on the disk is not said to be, and is \
written there anew"
	atf_set require.user root
}
unsynced_body()
{
	int_begin
	int_who root
	note='a power cut may cost this session, .*: Input/output error \(in .*'
	for call in fsync renameat; do
		unsynced_one "$call"
	done
	int_end
}

atf_test_case gone
gone_head()
{
	atf_set descr "whose landing it was is told, though that one has gone"
	atf_set require.user root
}
gone_body()
{
	int_begin
	chmod 0666 "$SBX_STATE/sbxd.sock"
	int_who user
	uid=$(id -u "$int_user")
	atf_check -e save:kept sbx-as "$int_user" sbxctl run --keep \
	    --repo "$P" -- sh -c 'echo x >>a.txt'
	int_kept kept
	stall "$(pgrep -x spawn)" renameat2 1 >stall.out 2>stall.err &
	stall=$!
	int_wait_file stall.out ready
	sbx-as "$int_user" sbxctl apply --yes "$sid" >out 2>err &
	ctl=$!
	int_wait_file stall.out stalled
	pkill -9 -U "$uid" -x sbxctl
	kill -9 "$ctl" 2>/dev/null || :
	wait "$ctl" || :
	kill "$stall"
	wait "$stall" || :
	int_wait grep -q "apply session=$sid .*result=ok" "$SBX_STATE/sbxd/audit"
	grep "session=$sid " "$SBX_STATE/sbxd/audit" >lines
	atf_check -o match:"peer=$uid " cat lines
	atf_check -s exit:1 grep 'peer=0 ' lines
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
}

atf_test_case interrupted
interrupted_head()
{
	atf_set descr "a landing that could not be recovered is not \
overwritten by the next one"
	atf_set require.user root
}
interrupted_body()
{
	int_begin
	int_who root
	atf_check -e match:'is kept' run --keep sh -c 'echo x >>a.txt'
	sid=$(sbxctl ls | awk 'NR == 2 { print $1 }')
	# A journal that no recovery can take.
	echo broken >"$SBX_STATE/sbxd/$sid/journal"
	chown --reference="$SBX_STATE/sbxd/$sid" "$SBX_STATE/sbxd/$sid/journal"
	for do in changes 'apply --yes' 'discard --yes' diff rm; do
		# shellcheck disable=SC2086
		int_refused 1 'the journal of session' sbxctl $do "$sid"
		atf_check -o inline:'broken\n' cat "$SBX_STATE/sbxd/$sid/journal"
	done
	# An empty one was never begun.
	: >"$SBX_STATE/sbxd/$sid/journal"
	atf_check -o match:'1 file landed' sbxctl apply --yes "$sid"
	atf_check -o match:'result=ok actor=uid:0$' tail -n 1 \
	    "$SBX_STATE/sbxd/audit"
	# What cannot be recovered can be removed by who says so.
	echo broken >"$SBX_STATE/sbxd/$sid/journal"
	chown --reference="$SBX_STATE/sbxd/$sid" "$SBX_STATE/sbxd/$sid/journal"
	int_refused 1 'the journal of session' sbxctl rm --discard "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
}

atf_test_case leftovers
leftovers_head()
{
	atf_set descr "a suite that was killed leaves no worker's socket for good"
	atf_set require.user root
}
leftovers_body()
{
	int_begin
	int_who root
	int_live left sleep 100
	atf_check test -S "$SBX_STATE/sbxd/w/$sid"
	pkill -KILL -x sbxd
	exec 9>&-
	wait "$live"
	int_suite
	int_wait test ! -e "$SBX_STATE/sbxd/w/$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
}

atf_init_test_cases()
{
	atf_add_test_case lists
	atf_add_test_case waits
	atf_add_test_case asks
	atf_add_test_case full
	atf_add_test_case reader
	atf_add_test_case slow
	atf_add_test_case names
	atf_add_test_case synced
	atf_add_test_case unsynced
	atf_add_test_case gone
	atf_add_test_case interrupted
	atf_add_test_case leftovers
}
