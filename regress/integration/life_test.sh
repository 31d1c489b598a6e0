# stop, kill, resume: how a session ends otherwise than by its command, and
# what a second command over the same layer finds.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# generation SID: of its record.
generation() {
	python3 -c '
import sys
b = open(sys.argv[1], "rb").read()
print(b[b.index(b"generation") + len(b"generation")])
' "$SBX_STATE/sbxd/$1/record"
}

# layer SID: every byte of it.
layer() {
	(cd "$SBX_STATE/s/$1" && find . -printf '%p %y %m %U:%G %s %l\n' |
	    sort && find . -type f -print0 | sort -z | xargs -0r sha256sum)
}

# again STATUS COMMAND...: sbxctl resume with what follows, into again.*
again() {
	again_want=$1 again_got=0
	shift
	sbxctl resume "$@" >again.out 2>again.err </dev/null || again_got=$?
	[ "$again_got" = "$again_want" ] || {
		cat again.out again.err >&2
		atf_fail "resume $*: $again_got, not $again_want"
	}
}

atf_test_case stopped
stopped_head()
{
	atf_set descr "stop: HUP and TERM, then the lifeline; kill at once"
	atf_set require.user root
}
stopped_body()
{
	int_begin
	int_who root
	# One that heeds the first.
	int_live mild sleep 1000
	atf_check -o match:"^session $sid: ended 129: stopped by root \(uid 0\)\$" \
	    sbxctl stop mild
	st=0
	wait "$live" || st=$?
	exec 9>&-
	atf_check_equal 129 "$st"
	# Again: it has ended, and says the same.
	atf_check -o match:"^session $sid: ended 129" sbxctl stop "$sid"
	atf_check -o match:"^session $sid: ended 129" sbxctl kill "$sid"
	# One that tidies up and says so.
	int_live tidy sh -c 'trap "" HUP; trap "echo tidied >f; exit 7" TERM
		echo up; while :; do sleep 0.1; done'
	int_wait_file tidy.out up
	atf_check -o save:stop.json sbxctl stop --json "$sid"
	int_json stop.json 'o["state"] == "ended"' 'o["status"] == 7' \
	    'o["reason"] == "stopped by uid:0"'
	wait "$live" || :
	exec 9>&-
	atf_check -o match:'A  f ' sbxctl changes "$sid"
	# One that heeds nothing: five seconds, and with what it wrote.
	int_live deaf sh -c 'trap "" HUP TERM; echo kept >g; echo up
		while :; do sleep 0.1; done'
	int_wait_file deaf.out up
	before=$(date +%s%N)
	atf_check -o match:"^session $sid: ended: stopped by root \(uid 0\)" \
	    sbxctl stop "$sid"
	after=$(date +%s%N)
	[ $(((after - before) / 1000000)) -ge 4900 ] ||
	    atf_fail "not the five seconds"
	wait "$live" && atf_fail "the client ends with 0"
	exec 9>&-
	atf_check -o match:'A  g ' sbxctl changes "$sid"
	# The same, at once; its client hears of the signal.
	int_live gone sh -c 'trap "" HUP TERM; echo up
		while :; do sleep 0.1; done'
	int_wait_file gone.out up
	before=$(date +%s%N)
	atf_check -o match:"^session $sid: ended 137: killed by root \(uid 0\)" \
	    sbxctl kill gone
	after=$(date +%s%N)
	[ $(((after - before) / 1000000)) -lt 4000 ] || atf_fail "not at once"
	st=0
	wait "$live" || st=$?
	exec 9>&-
	atf_check_equal 137 "$st"
	# A command that is stopped is woken for it.
	int_live held sh -c 'echo up; kill -STOP $$; sleep 1000'
	int_wait_file held.out up
	atf_check -o match:"ended 1(29|43)" sbxctl stop held
	wait "$live" || :
	exec 9>&-
	# Both at once, and a kill while a stop waits.
	int_live twice sh -c 'trap "" HUP TERM; echo up
		while :; do sleep 0.1; done'
	int_wait_file twice.out up
	sbxctl stop twice >stop.out &
	stop=$!
	sleep 0.3
	atf_check -o match:"ended 137: stopped by root \(uid 0\)" sbxctl kill twice
	wait "$stop" || atf_fail "stop: $?"
	atf_check -o match:"ended 137: stopped by root \(uid 0\)" cat stop.out
	wait "$live" || :
	exec 9>&-
	# One whose worker does not pass it on, asked again and again: half a
	# second from the first.
	int_live mute sleep 1000
	# shellcheck disable=SC2046 # all of them
	kill -STOP $(int_pids sbx-worker)
	i=0
	while [ "$(int_state mute)" = running ]; do
		i=$((i + 1))
		[ $i -lt 30 ] || atf_fail "each kill puts it off"
		sbxctl kill mute >/dev/null 2>&1 9>&- &
		sleep 0.1
	done
	# shellcheck disable=SC2046
	kill -CONT $(int_pids sbx-worker)
	wait "$live" || :
	exec 9>&-
	int_refused 1 'no session' sbxctl stop nosuch
	int_refused 1 'no session' sbxctl kill nosuch
	int_end
}

# still_there PID: it does nothing for a while.
still_there()
{
	was=$(grep ctxt "/proc/$1/status") && sleep 0.3 &&
	    [ "$was" = "$(grep ctxt "/proc/$1/status")" ]
}
atf_test_case abandoned
abandoned_head()
{
	atf_set descr "a review that nobody waits for and that fails ends no \
session"
	atf_set require.user root
}
abandoned_body()
{
	int_begin
	int_who root
	int_live on sh -c 'echo x >f; echo up; cat'
	int_wait_file on.out up
	mountd=$(pgrep -x mountd -P "$sbx_suite") || atf_fail "no mountd"
	mv "$SBX_STATE/s/$sid/stage" "$SBX_STATE/stage.away"
	: >"$SBX_STATE/s/$sid/stage"
	kill -STOP "$mountd"
	sbxctl changes "$sid" >/dev/null 2>&1 9>&- &
	asks=$!
	int_wait pgrep -x land
	int_wait still_there "$(pgrep -x land)"
	kill -KILL $asks
	wait $asks || :
	int_wait sh -c '! pgrep -x land'
	kill -CONT "$mountd"
	int_wait_file "$SBX_SCRATCH/sbxd.log" "session $sid: too late: mountd"
	atf_check_equal running "$(int_state on)"
	rm "$SBX_STATE/s/$sid/stage"
	mv "$SBX_STATE/stage.away" "$SBX_STATE/s/$sid/stage"
	atf_check -o match:'A  f ' sbxctl changes "$sid"
	exec 9>&-
	wait "$live" || atf_fail "status $? of cat"
	int_end
}

atf_test_case given_up
given_up_head()
{
	atf_set descr "a review that is given up before its session is frozen \
leaves it running"
	atf_set require.user root
}
given_up_body()
{
	int_begin
	int_who root
	int_live on sh -c 'echo x >f; echo up; exec cat'
	int_wait_file on.out up
	spawn=$(pgrep -x spawn -P "$sbx_suite") || atf_fail "no spawn"
	kill -STOP "$spawn"
	# Accepted ones have the name too; here nobody else's are.
	clients=$(grep -c 'sbxd\.sock$' /proc/net/unix)
	sbxctl changes "$sid" >/dev/null 2>&1 9>&- &
	asks=$!
	int_wait sh -c "[ \$(grep -c 'sbxd\.sock$' /proc/net/unix) -gt $clients ]"
	sleep 0.3
	kill -KILL $asks
	wait $asks || :
	int_wait sh -c "[ \$(grep -c 'sbxd\.sock$' /proc/net/unix) -eq $clients ]"
	kill -CONT "$spawn"
	echo goes on >&9
	int_wait_file on.out 'goes on'
	atf_check -o match:'A  f ' sbxctl changes "$sid"
	echo still >&9
	int_wait_file on.out still
	exec 9>&-
	wait "$live" || atf_fail "status $? of cat"
	int_end
}

atf_test_case resumed
resumed_head()
{
	atf_set descr "resume: the layer, and all that was frozen"
	atf_set require.user root
}
resumed_one()
{
	# There mv copies, and a stand-in does not go.
	copied=''
	[ "$who_user" != "${int_own-}" ] || copied=yes
	mkdir "$P/conf" "$P/fixed"
	echo KEY >"$P/conf/key"
	echo fixed >"$P/fixed/f"
	echo SECRET >"$P/secret"
	chown -R --reference="$P" "$P"
	unset -v FOO
	rm -f keep.err
	COLOUR=red run --keep --name "res$int_n" --hide conf/key \
	    --hide secret --ro fixed --no-network --env FOO=frozen -- \
	    sh -c 'exec 2>/dev/null; echo one >f; mv conf conf2; rm a.txt
	    echo "$@" >args; exit 3' sh "a b" c 2>keep.err &&
		atf_fail "status"
	int_kept keep.err
	atf_check_equal 1 "$(generation "$sid")"
	# The recorded command, once more.
	again 3 "res$int_n"
	int_kept again.err
	atf_check_equal 2 "$(generation "$sid")"
	atf_check -o match:'^state *ended 3' -o match:"^name *res$int_n" \
	    sbxctl show "$sid"
	# Another, over what both did.
	FOO=other COLOUR=blue
	export FOO COLOUR
	again 0 "$sid" -- sh -c 'cat f args; id -u
		[ "$FOO$COLOUR" = frozenred ] || echo env $FOO $COLOUR
		[ ! -e a.txt ] || echo a.txt
		[ -d conf2 ] && { [ -n "$0" ] || [ ! -e conf ]; } || echo conf
		cat conf2/key secret; cat conf/key 2>/dev/null
		(echo w >fixed/f) 2>/dev/null && echo fixed
		sed -n "s/^ *\([a-z0-9]*\):.*/\1/p" /proc/net/dev; pwd; [ -t 0 ] && echo tty
		echo two >f' "$copied"
	unset FOO COLOUR
	printf '%s\n' one 'a b c' "$(stat -c %u "$P")" lo "$P" >want
	atf_check -o file:want cat again.out
	atf_check_equal 3 "$(generation "$sid")"
	# It lands as if it had been one.
	atf_check -o match:'^\+two' -o match:'deleted file' -o not-match:KEY \
	    -o not-match:SECRET sbxctl diff "$sid"
	atf_check -o ignore sbxctl apply --yes "$sid"
	atf_check -o inline:'two\n' cat "$P/f"
	atf_check -o inline:'KEY\n' cat "$P/conf/key"
	# And once more after that; the owner's edit shows.
	echo owner >"$P/f"
	chown --reference="$P" "$P/f"
	again 0 "$sid" -- cat f
	atf_check -o inline:'owner\n' cat again.out
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_state_check
}
resumed_body()
{
	int_begin
	int_each resumed_one
	int_end
}

atf_test_case terminal
terminal_head()
{
	atf_set descr "resume: a new terminal, its kind and size, job control"
	atf_set require.user root
}
terminal_body()
{
	int_begin
	int_who root
	TERM=vt100 run --keep --env COLORTERM=old -- true 2>err
	int_kept err
	script -qec "stty rows 24 cols 80; TERM=xterm-256color \
	    COLORTERM=truecolor sbxctl resume --keep $sid -- sh -c \
	    'test -t 0 && test -t 1 && echo terminal; stty size
	    echo \$TERM \$COLORTERM; tty; exit 4'" typed </dev/null \
	    >out 2>&1 || st=$?
	atf_check_equal 4 "${st-0}"
	atf_check -o match:'terminal' -o match:'24 80$' \
	    -o match:'xterm-256color truecolor$' -o match:'/dev/pts/0$' \
	    -o match:'is kept' tr -d '\r' <out
	# Without one the kind is the frozen one.
	again 0 "$sid" -- sh -c 'echo $TERM $COLORTERM'
	atf_check -o inline:'xterm-256color truecolor\n' cat again.out
	int_end
}

atf_test_case refused
refused_head()
{
	atf_set descr "resume: one line where it cannot be, and nothing is lost"
	atf_set require.user root
}
# still: the session is as it was.
still() {
	int_same "$was" "$(layer "$sid")" "the layer of $sid has changed"
	atf_check -o match:"^state *ended 0" sbxctl show "$sid"
}
refused_body()
{
	int_begin
	int_who root
	int_refused 125 'no session' sbxctl resume nosuch
	int_refused 125 'no session' sh -c "cd $P && sbxctl resume"
	int_refused 2 'comes after' sbxctl resume a true
	int_refused 125 'is empty' sbxctl resume a -- ''
	int_refused 2 'unknown option' sbxctl resume --hide x a
	# Running.
	int_live busy sleep 1000
	int_refused 125 'has not ended' sbxctl resume "$sid"
	atf_check_equal running "$(int_state busy)"
	atf_check -o ignore sbxctl kill busy
	wait "$live" || :
	exec 9>&-
	int_keep sh -c 'echo mine >f'
	was=$(layer "$sid")
	# The command is not there, or cannot be executed.
	int_refused 127 nosuch sbxctl resume "$sid" -- nosuch
	still
	atf_check -o match:'reason *a resume of it failed: .*nosuch' \
	    -o match:"^command *sh -c" sbxctl show "$sid"
	int_refused 126 a.txt sbxctl resume "$sid" -- ./a.txt
	still
	# Nothing is known of a process or a namespace of either start.
	! grep -q -a 'initfd\|workerfd\|pidns' "$SBX_STATE/sbxd/$sid/record" ||
	    atf_fail "evidence of a start that failed"
	python3 - "$SBX_STATE/sbxd/$sid/record" <<-'EOT' || atf_fail record
		import sys
		b = open(sys.argv[1], "rb").read()
		assert b"\xa2ns" not in b, b
	EOT
	# A reason that is cut in the middle of a character.
	n=$(generation "$sid")
	long=$(printf 'x%s' "$(printf 'é%.0s' $(seq 1500))")
	sbxctl resume "$sid" -- "$long" >long.out 2>&1 </dev/null &&
	    atf_fail "there is such a command"
	still
	atf_check -o match:"$sid" sbxctl ls
	atf_check -o match:'reason *a resume of it failed: .*xé' sbxctl show \
	    "$sid"
	atf_check_equal $((n + 1)) "$(generation "$sid")"
	# The project is gone, a file, a link, another folder.
	mv "$P" "$P.away"
	int_refused 125 "$P" sbxctl resume "$sid"
	still
	: >"$P"
	int_refused 125 "$P" sbxctl resume "$sid"
	rm "$P"
	ln -s "$P.away" "$P"
	int_refused 125 "$P" sbxctl resume "$sid"
	rm "$P"
	cp -a "$P.away" "$P"
	int_refused 125 'another folder' sbxctl resume "$sid"
	still
	rm -r "$P"
	mv "$P.away" "$P"
	again 0 "$sid" -- cat f
	atf_check -o inline:'mine\n' cat again.out
	# The layer is gone: said, and no empty one is made.
	mv "$SBX_STATE/s/$sid" "$SBX_STATE/s.away"
	int_refused 125 'no layer' sbxctl resume "$sid"
	[ ! -e "$SBX_STATE/s/$sid" ] || atf_fail "an empty layer"
	mv "$SBX_STATE/s.away" "$SBX_STATE/s/$sid"
	again 0 "$sid" -- cat f
	atf_check -o inline:'mine\n' cat again.out
	# As many variables as there may be, and the terminal's.
	sid=$("$tools/client" "$SBX_STATE/sbxd.sock" many "$P" | tee many |
	    tail -n 1)
	atf_check -o inline:"RESUME: resume.invalid
RESUME: resume.invalid
RESUME: SESSION
$sid\n" cat many
	int_wait sh -c "sbxctl show $sid | grep -q '^state *ended 0'"
	int_end
}

atf_test_case locked
locked_head()
{
	atf_set descr "resume: refused where the layer is mounted"
	atf_set require.user root
}
locked_body()
{
	int_begin
	int_who root
	int_keep sh -c 'echo mine >f'
	was=$(layer "$sid")
	# Somebody else's mount of it.
	n=$(cd "$SBX_STATE/s/$sid" && for i in [0-9]*; do
		[ ! -e "$i/u/f" ] || echo "$i"
	done)
	mkdir "$SBX_SCRATCH/m"
	mount -t overlay overlay -o "lowerdir=$P,upperdir=$SBX_STATE/s/$sid/$n/u,workdir=$SBX_STATE/s/$sid/$n/w" \
	    "$SBX_SCRATCH/m"
	int_suite_again
	int_refused 125 'mounted by an earlier run' sbxctl resume "$sid"
	umount "$SBX_SCRATCH/m"
	# A lock of it: another suite's.
	exec 8<"$SBX_STATE/s/$sid"
	flock 8
	int_refused 125 'in use by another suite' sbxctl resume "$sid"
	exec 8<&-
	again 0 "$sid" -- cat f
	atf_check -o inline:'mine\n' cat again.out
	# Ten at once: one gets it.
	i=0
	while [ $i -lt 10 ]; do
		sbxctl resume "$sid" -- sh -c 'echo x >>g; sleep 2' \
		    >"many.$i" 2>&1 </dev/null &
		i=$((i + 1))
	done
	wait_all=0
	while [ "$(cat many.* | grep -c 'has not ended')" -lt 9 ]; do
		wait_all=$((wait_all + 1))
		[ $wait_all -lt 300 ] || atf_fail "not nine refused"
		sleep 0.1
	done
	int_wait sh -c "cat many.* | grep -q 'is kept'"
	atf_check_equal 1 "$(cat "$SBX_STATE/s/$sid/$n/u/g" | wc -l)"
	int_end
}

atf_test_case reviewed
reviewed_head()
{
	atf_set descr "resume waits for a review that somebody else asked for, \
and nothing is resumed for who did not wait"
	atf_set require.user root
}
# reviewed_held: sbxd has a connection and does not read it, since it holds what
# was asked there.
reviewed_held()
{
	find "/proc/$sbx_suite/fd" -lname 'socket:*' -printf '%f\n' >sockets
	sed -n 's/^tfd: *\([0-9]*\) .*/\1/p' "/proc/$sbx_suite/fdinfo"/* \
	    >polled
	grep -qvxFf polled sockets
}
# reviewed_now: somebody's review begins, and does not end.
reviewed_now()
{
	int_wait sh -c '! pgrep -x land >/dev/null'
	mountd=$(pgrep -ox mountd)
	kill -STOP "$mountd"
	sbxctl changes "$sid" >changes.out 2>&1 &
	review=$!
	int_wait pgrep -x land
	sbxctl resume "$sid" -- cat f >waits.out 2>waits.err </dev/null &
	waits=$!
	int_wait reviewed_held
}
reviewed_body()
{
	int_begin
	int_who root
	int_keep sh -c 'echo mine >f'
	reviewed_now
	kill "$waits"
	wait "$waits" || :
	kill -CONT "$mountd"
	wait "$review" || atf_fail "$(cat changes.out)"
	atf_check -o match:'A  f' cat changes.out
	atf_check_equal ended "$(int_state "$sid")"
	atf_check -o not-match:'resume' sbxctl show "$sid"
	reviewed_now
	kill -CONT "$mountd"
	wait "$review" || atf_fail "$(cat changes.out)"
	wait "$waits" || atf_fail "$(cat waits.err)"
	atf_check -o inline:'mine\n' cat waits.out
	int_end
}

# A new suite does not know that nothing of it is mounted.
int_suite_again() {
	int_stop
	int_suite
}

atf_test_case drift
drift_head()
{
	atf_set descr "what the owner does between two commands is not lost"
	atf_set require.user root
}
drift_body()
{
	int_begin
	int_who root
	printf '1\n' >"$P/b"
	# The session has a copy: the owner's edit of it has drifted, whatever
	# the second command writes, and by whatever means.
	int_keep sh -c 'echo s >>a.txt'
	sleep 0.05
	echo owner >>"$P/a.txt"
	again 0 "$sid" -- sh -c 'cp a.txt t && echo more >>t && mv t a.txt'
	atf_check -s exit:1 -o match:'DRIFTED' -e ignore sbxctl apply --yes \
	    "$sid"
	atf_check -o match:owner cat "$P/a.txt"
	atf_check -o ignore sbxctl rm --discard "$sid"
	# It has nothing: what it then edits is the owner's newest, and lands.
	int_keep true
	sleep 0.05
	echo owner2 >>"$P/a.txt"
	sleep 0.05
	again 0 "$sid" -- sh -c 'echo after >>a.txt'
	atf_check -o match:'1 file landed' sbxctl apply --yes "$sid"
	atf_check -o match:owner2 -o match:after cat "$P/a.txt"
	# All of it has landed: as in one session, each file by what landed.
	sleep 0.05
	echo owner3 >>"$P/b"
	sleep 0.05
	again 0 "$sid" -- sh -c 'cat a.txt b >both; echo z >>b'
	atf_check -o match:'files landed' sbxctl apply --yes "$sid"
	atf_check -o match:owner3 -o match:after cat "$P/both"
	# While it runs again: an edit of the same file is told.
	again 0 "$sid" -- sh -c 'echo q >>a.txt'
	sleep 0.05
	echo owner4 >>"$P/a.txt"
	atf_check -s exit:1 -o match:'DRIFTED' -e ignore sbxctl apply --yes \
	    "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
}

atf_test_case restarted
restarted_head()
{
	atf_set descr "resume after the suite's end, and after it was killed"
	atf_set require.user root
}
restarted_body()
{
	int_begin
	int_who root
	int_live cut sh -c 'echo mine >f; echo up; sleep 1000'
	int_wait_file cut.out up
	kill -KILL "$sbx_suite"
	wait "$sbx_suite" 2>/dev/null || :
	wait "$live" || :
	exec 9>&-
	# Its mountd holds the layer until it has ended.
	int_wait sh -c '! pgrep -x mountd >/dev/null'
	int_suite
	again 0 "$sid" -- sh -c 'cat f; echo more >g'
	atf_check -o inline:'mine\n' cat again.out
	# Killed in the middle of a resume: the layer is there still.
	sbxctl resume "$sid" -- sh -c 'echo third >h; echo up; sleep 1000' \
	    >third.out 2>&1 </dev/null &
	third=$!
	int_wait_file third.out up
	kill -KILL "$sbx_suite"
	wait "$sbx_suite" 2>/dev/null || :
	wait "$third" || :
	int_wait sh -c '! pgrep -x mountd >/dev/null'
	int_suite
	atf_check_equal 3 "$(generation "$sid")"
	again 0 "$sid" -- cat f g h
	atf_check -o inline:'mine\nmore\nthird\n' cat again.out
	atf_check -o match:'3 files landed' sbxctl apply --yes "$sid"
	atf_check -o ignore sbxctl rm "$sid"
	int_end
}

# users_as GID: makes the command as-one USER COMMAND...: that user, who is in
# the socket's group too.
users_as() {
	cat >"$SBX_SCRATCH/bin/as-one" <<-EOT
		#!/bin/sh
		who=\$1
		shift
		HOME=$SBX_SCRATCH/home/\$who exec setpriv --reuid "\$who" \\
		    --regid "\$who" --groups "$1,\$(id -g "\$who")" "\$@"
	EOT
	chmod 0755 "$SBX_SCRATCH/bin/as-one"
}

atf_test_case users
users_head()
{
	atf_set descr "two users at one suite: each stops and resumes its own"
	atf_set require.user root
}
users_body()
{
	sbx_user alice
	sbx_user bob
	# Its socket is a group's that both are in: alice's own.
	printf '{"socketGroup": "%s"}\n' "$alice" >sbxd.conf
	int_begin -f "$PWD/sbxd.conf"
	users_as "$(id -g "$alice")"
	sbx_repo "$alice_home/p" "$alice"
	sbx_repo "$bob_home/p" "$bob"
	for u in "$alice" "$bob"; do
		eval "h=\$SBX_SCRATCH/home/$u"
		as-one "$u" sh -c "cd $h/p && exec sbxctl run --keep --name \
		    own -- sh -c 'id -u; id -g; id -G; echo \$0 >f' $u" \
		    >"$u.out" 2>"$u.err" </dev/null || {
			cat "$u.err" >&2
			atf_fail "$u"
		}
		int_kept "$u.err"
		echo "$sid" >"$u.sid"
	done
	a=$(cat "$alice.sid") b=$(cat "$bob.sid")
	atf_check -o match:"$a" -o not-match:"$b" as-one "$alice" sbxctl ls
	for c in stop kill show; do
		int_refused 1 "no session" as-one "$alice" sbxctl $c "$b"
	done
	int_refused 125 "no session" as-one "$alice" sbxctl resume "$b"
	# One's own, and root's resume of it: with the user's ids all the same.
	as-one "$alice" sbxctl resume "$a" >u.out 2>u.err </dev/null ||
	    atf_fail "alice's: $(cat u.err)"
	atf_check -o file:"$alice.out" cat u.out
	sbxctl resume "$b" >u.out 2>u.err </dev/null ||
	    atf_fail "bob's by root: $(cat u.err)"
	atf_check -o file:"$bob.out" cat u.out
	atf_check -o match:"^owner *$bob \(uid $(id -u "$bob")\)$" sbxctl show "$b"
	# Another's word over the socket itself.
	atf_check -o not-match:'"session": "'"$b" as-one "$alice" sbxctl ls \
	    --json
	as-one "$alice" sbxctl rm --discard "$a" >/dev/null ||
	    atf_fail rm
	as-one "$bob" sbxctl apply --yes "$b" >/dev/null || atf_fail apply
	atf_check_equal "$bob" "$(cat "$bob_home/p/f")"
	atf_check_equal "$(id -u "$bob")" "$(stat -c %u "$bob_home/p/f")"
	int_end
}

atf_test_case ending
ending_head()
{
	atf_set descr "resume of a session that is about to end waits for that"
	atf_set require.user root
}
ending_body()
{
	int_begin
	int_who root
	sid=$(cd "$P" && sbxctl new -- sh -c 'echo x >f; sleep 1000') ||
	    atf_fail "new: status $?"
	int_wait sh -c "sbxctl changes $sid | grep -q 'A  f'"
	mountd=$(pgrep -x mountd -P "$sbx_suite") || atf_fail "no mountd"
	kill -STOP "$mountd"
	sbxctl kill "$sid" >kill.out 2>&1 &
	kill=$!
	int_wait sh -c "sbxctl ls | grep -q '^$sid .* ending'"
	sbxctl resume "$sid" -- sh -c 'cat f; echo y >>f' >resume.out \
	    2>resume.err </dev/null &
	resume=$!
	# Time enough for a refusal.
	sleep 0.3
	kill -CONT "$mountd"
	wait "$kill" || atf_fail "$(cat kill.out)"
	wait "$resume" || atf_fail "$(cat resume.err)"
	atf_check_equal x "$(cat resume.out)"
	# A landing waits for it too.
	sid=$(cd "$P" && sbxctl new -- sh -c 'echo x >g; sleep 1000')
	int_wait sh -c "sbxctl changes $sid | grep -q 'A  g'"
	kill -STOP "$mountd"
	sbxctl kill "$sid" >kill.out 2>&1 &
	kill=$!
	int_wait sh -c "sbxctl ls | grep -q '^$sid .* ending'"
	sbxctl apply --yes "$sid" >apply.out 2>&1 &
	apply=$!
	sleep 0.3
	kill -CONT "$mountd"
	wait "$kill" || atf_fail "$(cat kill.out)"
	wait "$apply" || atf_fail "$(cat apply.out)"
	atf_check_equal x "$(cat "$P/g")"
	for s in $(sbxctl ls | awk 'NR > 1 { print $1 }'); do
		atf_check -o ignore sbxctl rm --discard "$s"
	done
	int_end
}

atf_test_case lost
lost_head()
{
	atf_set descr "the suite is stopped while run waits for its command: \
that is said, with the session's id and what becomes of it"
	atf_set require.user root
	atf_set timeout 120
}
# lost_run STOP...: of a session that has changed something.
lost_run()
{
	int_live live sh -c 'echo x >f; exec cat'
	int_wait sh -c "cd $P; sbxctl changes 9>&- | grep -q 'A  f'"
	"$@"
	got=0
	wait "$live" || got=$?
	exec 9>&-
	atf_check_equal 125 "$got"
	atf_check -o inline:"sbxctl: session $sid: the suite was stopped: its changes are kept, \"sbxctl changes $sid\" lists them\n" \
	    cat live.err
}
lost_body()
{
	int_begin
	int_who root
	lost_run sbx_suite_stop
	int_suite
	atf_check -o match:'A  f' sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_who own
	lost_run int_own_stop
	# The suite itself is killed: nobody says why.
	int_who root
	int_live live sh -c 'echo x >f; exec cat'
	kill -KILL "$sbx_suite"
	got=0
	wait "$live" || got=$?
	exec 9>&-
	wait "$sbx_suite" || :
	atf_check_equal 125 "$got"
	atf_check -o match:"^sbxctl: session $sid: .*: its changes are kept" \
	    cat live.err
	int_wait sh -c '! pgrep -x mountd >/dev/null'
	int_suite
	atf_check -o match:'A  f' sbxctl changes "$sid"
	int_end
}

atf_test_case hasty
hasty_head()
{
	atf_set descr "clients that are killed 0 to 40 ms after they asked leave \
the session as it is, and the suite nothing"
	atf_set require.user root
	atf_set timeout 120
}
# hasty COMMAND...: again and again, each killed a bit later.
hasty()
{
	for ms in 00 03 06 10 15 25 40; do
		sbxctl "$@" >hasty.out 2>&1 </dev/null &
		pid=$!
		sleep "0.0$ms"
		kill -KILL "$pid" 2>/dev/null || :
		wait "$pid" || :
	done
}
hasty_one()
{
	int_keep sh -c 'echo mine >f'
	ended=$sid
	int_running_mark
	hasty resume "$ended" -- sleep 1000
	int_wait sh -c "sbxctl ls | grep -q '^$ended .*ended'"
	hasty explain "$P/f" "$ended"
	hasty du "$ended"
	hasty gc --dry-run --older 0
	hasty changes --outside "$ended"
	int_nothing_left "$ended"
	# What was asked for is there or not, and can be removed.
	# shellcheck disable=SC2086 # words
	hasty new $AS --repo "$P" -- sh -c 'exec sleep 1001'
	int_wait sh -c '! sbxctl ls | grep -qE " (starting|ending) "'
	for sid in $(sbxctl ls | awk '/sleep 1001/ { print $1 }'); do
		hasty stop "$sid"
		atf_check -o match:' ended[ :]' sbxctl kill "$sid"
		atf_check -o ignore sbxctl rm --discard "$sid"
	done
	int_nothing_left "$ended"
	again 0 "$ended" -- cat f
	atf_check -o inline:'mine\n' cat again.out
	atf_check -o match:'A  f' sbxctl changes "$ended"
	atf_check -o ignore sbxctl rm --discard "$ended"
}
hasty_body()
{
	int_begin
	int_users hasty_one
	int_end
}

atf_test_case unheard
unheard_head()
{
	atf_set descr "sbxctl ends while its session starts: the session is \
gone too, or said"
	atf_set require.user root
	atf_set timeout 120
}
# unheard_stop NAME, unheard_go NAME: these processes of the suite's stand.
unheard_stop()
{
	# Its spare child could mount without mountd.
	pgrep -x "$1" >standing
	xargs kill -STOP <standing
}
unheard_go()
{
	xargs kill -CONT <standing
}
# unheard_start COMMAND OPTION...: its sbxctl is $early, and has asked.
unheard_start()
{
	(cd "$P" && exec sbxctl "$@" -- sh -c 'echo x >f; exec sleep 1000') \
	    >early.out 2>early.err </dev/null &
	early=$!
	int_wait grep -qE "$(callnr poll ppoll)" "/proc/$early/syscall"
}
# What the suite has of it.
unheard_starting()
{
	int_wait sh -c "sbxctl ls 2>/dev/null | grep -q ' starting '"
	sid=$(sbxctl ls | awk '/ starting / { print $1 }')
}
# unheard_end SIGNAL STATUS
unheard_end()
{
	kill "-$1" "$early"
	got=0
	wait "$early" || got=$?
	atf_check_equal "$2" "$got"
}
# Nobody has read what it asked.
unheard_asked()
{
	unheard_stop sbxd
	unheard_start "$1"
	unheard_end "$2" "$3"
	unheard_go
	atf_check -o empty -e empty cat early.out early.err
	int_nothing_left
}
# It is being made: run has its id.
unheard_made()
{
	unheard_stop mountd
	unheard_start "$1"
	unheard_starting
	unheard_end "$2" "$3"
	case $1$2 in
	runTERM)
		atf_check -o match:"^sbxctl: session $sid: interrupted while" \
		    cat early.err ;;
	*) atf_check -o empty cat early.err ;;
	esac
	unheard_go
	int_nothing_left
}
# GO has been given; init does not obey yet.
unheard_gone()
{
	unheard_stop mountd
	unheard_start "$@"
	unheard_starting
	init=$(int_init)
	int_wait grep -qE "$(callnr recvfrom recvmsg poll ppoll)" \
	    "/proc/$init/syscall"
	kill -STOP "$init"
	unheard_go
	int_wait test -s "$SBX_STATE/sbxd/$sid/seal"
	unheard_end KILL 137
	# It has been heard: another one is answered behind it.
	atf_check -o match:"^$sid " sbxctl ls
	kill -CONT "$init"
	int_wait sh -c "sbxctl ls | grep -q '^$sid .* ended '"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_nothing_left
}
# unheard_late COMMAND: sbxctl waited its second, and the session was not there.
unheard_late()
{
	grep -q 'interrupted while' early.err || [ "$1$(cat early.out)" = new ]
}
# unheard_runs COMMAND [OPTION]: it comes to run within the second that is left
# to it after the signal, which a busy machine may not give it at once.
unheard_runs()
{
	for try in 1 2 3 4 5; do
		unheard_stop mountd
		unheard_start "$@"
		unheard_starting
		kill -TERM "$early"
		unheard_go
		got=0
		wait "$early" || got=$?
		atf_check_equal 143 "$got"
		unheard_late "$1" || return 0
		# Whether it came to run a moment later is not the point.
		sbxctl kill "$sid" >late.out 2>&1 || :
		sbxctl rm --discard "$sid" >late.out 2>&1 || :
		int_nothing_left
	done
	atf_fail "no session ran within a second, $try times"
}
unheard_body()
{
	int_begin
	int_who root
	int_running_mark
	for c in run new; do
		unheard_asked "$c" KILL 137
		unheard_made "$c" KILL 137
		unheard_gone "$c"
	done
	unheard_asked run TERM 143
	unheard_made run TERM 143
	# It comes to run in time: the signal is the command's; of one that
	# nobody waits for the id is said.
	unheard_runs run --keep
	int_kept early.err
	atf_check -o ignore sbxctl rm --discard "$sid"
	unheard_runs new
	atf_check -o inline:"$sid\n" cat early.out
	atf_check -o match:"session $sid runs: \"sbxctl kill $sid\"" \
	    cat early.err
	atf_check -o ignore sbxctl kill "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_nothing_left
	int_end
}

atf_init_test_cases()
{
	atf_add_test_case stopped
	atf_add_test_case abandoned
	atf_add_test_case given_up
	atf_add_test_case resumed
	atf_add_test_case terminal
	atf_add_test_case refused
	atf_add_test_case locked
	atf_add_test_case reviewed
	atf_add_test_case drift
	atf_add_test_case restarted
	atf_add_test_case users
	atf_add_test_case ending
	atf_add_test_case lost
	atf_add_test_case hasty
	atf_add_test_case unheard
}
