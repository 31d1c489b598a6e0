# exec: another command in a session that runs.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# exec_new COMMAND...: a session; its id is $sid.
exec_new()
{
	# shellcheck disable=SC2086 # words
	sid=$(cd "$P" && sbxctl new $AS --repo "$P" "$@") ||
	    atf_fail "new: status $?"
}
exec_end()
{
	sbxctl exec "$sid" pkill -x sleep 2>/dev/null || :
	int_wait sh -c "sbxctl ls | grep -q '^$sid .*ended'"
	atf_check -o ignore sbxctl rm --discard "$sid"
}

atf_test_case piped
piped_head()
{
	atf_set descr "through pipes: bytes, statuses, signals, environment"
	atf_set require.user root
	atf_set timeout 120
}
piped_one()
{
	exec_new --env A=session --env B=session -- sleep 1000
	atf_check -s exit:7 -o inline:'out\n' -e inline:'err\n' \
	    sbxctl exec "$sid" sh -c 'echo out; echo err >&2; exit 7'
	head -c 3000000 /dev/urandom >bytes
	sbxctl exec "$sid" cat <bytes >back || atf_fail "cat: $?"
	atf_check cmp bytes back
	atf_check -o inline:'3000000\n' sh -c \
	    "sbxctl exec $sid head -c 3000000 /dev/zero | wc -c"
	atf_check -s exit:137 sbxctl exec "$sid" sh -c 'kill -9 $$'
	atf_check -s exit:143 sbxctl exec "$sid" -- sh -c 'kill -TERM $$'
	# Its reader goes away: as at home.
	sbxctl exec "$sid" yes | head -n 1 >first
	atf_check -o inline:'y\n' cat first
	int_wait sh -c "! sbxctl exec $sid pgrep -x yes"
	# The session's, with what was asked over it; the session's user.
	atf_check -o inline:'session mine\n' sbxctl exec --env B=mine "$sid" \
	    sh -c 'echo $A $B'
	atf_check -o inline:"$sid\n" sbxctl exec "$sid" sh -c \
	    'echo $SBX_SESSION'
	atf_check -o inline:"$(stat -c %U "$P")\n" sbxctl exec "$sid" id -un
	# Where the session began, or where we are in its project.
	atf_check -o inline:"$P\n" sbxctl exec "$sid" pwd
	atf_check -o inline:"$P/src\n" sh -c \
	    "cd '$P/src' && sbxctl exec $sid pwd"
	# The same files; the real ones stay.
	before=$(sbx_tree "$P")
	atf_check sbxctl exec "$sid" sh -c 'echo x >made; cat made >/dev/null'
	atf_check -o inline:'x\n' sbxctl exec "$sid" cat made
	int_same "$before" "$(sbx_tree "$P")" "the project has changed"
	atf_check -o match:'A  made' sbxctl changes "$sid"
	# As confined as the session's own.
	atf_check -o match:'^Seccomp:.2' -o match:'^NoNewPrivs:.1' \
	    -o match:'^CapBnd:.0*$' -o match:'^CapEff:.0*$' \
	    sbxctl exec "$sid" cat /proc/self/status
	atf_check -o inline:'0 1 2 3\n' sbxctl exec "$sid" sh -c \
	    'echo $(ls /proc/self/fd)'
	exec_end
}
piped_body()
{
	int_begin
	int_each piped_one
	int_end
}

atf_test_case terminal
terminal_head()
{
	atf_set descr "with a terminal of its own: E84, sizes, the outer shell \
afterwards"
	atf_set require.user root
}
terminal_one()
{
	exec_new sleep 1000
	cat >steps <<-'EOT'
		expect ready:
		send tty\n
		expect /dev/pts/1
		send echo $TERM; stty size\n
		expect vt220
		expect 30 100
		resize 11 33
		send until [ "$(stty size)" = "11 33" ]; do sleep 0.1; done\n
		send echo si""zed\n
		expect sized
		send sh -c 'echo u""p; exec sleep 100'\n
		expect up
		send \x1a
		expect Stopped
		send bg\n
		expect sleep 100' &
		send fg\n
		expect sleep 100'
		sleep 300
		send \x03
		expect ready:
		send printf 'la''st'; exit 6\n
		expect last
		end
		never no job control
	EOT
	status=0
	TERM=vt220 pty -r 30 -c 100 steps sh -c 'stty -g >before; s=0
	    sbxctl exec --env PS1=ready: "$0" bash --norc -i || s=$?
	    stty -g >after; exit $s' "$sid" >shown 2>wrong || status=$?
	[ "$status" -eq 6 ] || {
		cat shown wrong >&2
		atf_fail "status $status"
	}
	atf_check cmp before after
	# E82: nothing is typed into a terminal from inside, into this one
	# neither.
	echo end >steps
	pty steps sbxctl exec "$sid" "$tools/inside" forbidden >shown 2>wrong ||
	    atf_fail "inside forbidden: $?"
	atf_check_equal 5 "$(grep -c '^ioctl EPERM' shown)"
	# E86: the last output and the true status, each time.
	for i in 1 2 3; do
		status=0
		pty steps sbxctl exec "$sid" sh -c 'seq 20000; kill -9 $$' \
		    >shown 2>wrong || status=$?
		atf_check_equal 137 "$status"
		atf_check_equal 20000 "$(grep -c '^[0-9]*.$' shown)"
	done
	# Its terminal goes: so does it, and nothing else.
	printf 'expect up\nhangup\n' >steps
	pty steps sbxctl exec "$sid" sh -c \
	    'trap "echo hup >told; exit" HUP; echo up; while :; do
	    sleep 0.1; done' >shown 2>&1 || :
	int_wait sbxctl exec "$sid" test -e told
	exec_end
}
terminal_body()
{
	int_begin
	int_users terminal_one
	int_end
}

atf_test_case killed
killed_head()
{
	atf_set descr "kill -9 of sbxctl ends the command; that of the session's \
command all; a session that is just ending"
	atf_set require.user root
	atf_set timeout 120
}
killed_body()
{
	int_begin
	int_who user
	exec_new sleep 1000
	sbxctl exec "$sid" sh -c 'echo $$; exec tail -f /dev/null' >pid &
	client=$!
	int_wait_file pid '[0-9]'
	atf_check -o ignore sbxctl exec "$sid" pgrep -x tail
	kill -9 $client
	wait $client || :
	int_wait sh -c "! sbxctl exec $sid pgrep -x tail"
	# What was put into the background stays, until the session ends.
	atf_check sbxctl exec "$sid" sh -c 'tail -f /dev/null &'
	atf_check -o ignore sbxctl exec "$sid" pgrep -x tail
	sbxctl exec "$sid" tail -f /dev/null 2>ended &
	client=$!
	int_wait sh -c "[ \$(sbxctl exec $sid pgrep -cx tail) -eq 2 ]"
	sbxctl exec "$sid" pkill -x sleep 2>/dev/null || :
	status=0
	wait $client || status=$?
	atf_check_equal 137 "$status"
	atf_check -o match:'session has ended' cat ended
	atf_check_equal 1 "$(wc -l <ended)"
	int_wait sh -c "sbxctl ls | grep -q '^$sid .*ended'"
	atf_check test -z "$(pgrep -x tail)"
	atf_check -o ignore sbxctl rm --discard "$sid"
	# It comes while the session ends: it runs, or one line says why not.
	for i in $(seq 15); do
		exec_new sh -c "sleep 0.0$((i % 8))"
		status=0
		sbxctl exec "$sid" true >out 2>err || status=$?
		case $status in
		0) atf_check test ! -s err ;;
		125 | 137) atf_check_equal 1 "$(wc -l <err)" ;;
		*) atf_fail "status $status: $(cat err)" ;;
		esac
		int_wait sh -c "sbxctl ls | grep -q '^$sid .*ended'"
		atf_check -o ignore sbxctl rm --discard "$sid"
	done
	int_state_check
	int_end
}

atf_test_case together
together_head()
{
	atf_set descr "20 at once, with pipes and terminals, beside those that \
are attached; then the suite ends"
	atf_set require.user root
	atf_set timeout 120
}
together_body()
{
	int_begin
	int_who user
	exec_new sh -c 'while :; do sleep 1; done'
	pids=''
	for i in $(seq 20); do
		sbxctl exec "$sid" sh -c 'read x; seq $x; exit $((x % 7))' \
		    >"out.$i" 2>"err.$i" <<-EOT &
			$((i * 100))
		EOT
		pids="$pids $!"
	done
	i=0
	for p in $pids; do
		i=$((i + 1))
		status=0
		wait "$p" || status=$?
		atf_check_equal "$((i * 100 % 7))" "$status"
		atf_check_equal "$((i * 100))" "$(tail -n 1 "out.$i")"
		atf_check test ! -s "err.$i"
	done
	# The suite's end is the session's, and told to each.
	sbxctl exec "$sid" sleep 1000 2>ended &
	client=$!
	int_wait sbxctl exec "$sid" pgrep -fx 'sleep 1000'
	int_stop
	status=0
	wait $client || status=$?
	atf_check test "$status" -ne 0
	atf_check_equal 1 "$(wc -l <ended)"
	int_clean_check
}

atf_test_case anew
anew_head()
{
	atf_set descr "what the owner replaced by a rename, made and removed \
shows to exec, and to the command of a resume"
	atf_set require.user root
	atf_set timeout 120
}
anew_one()
{
	exec_new sleep 1000
	# All of it is looked at, and so in the kernel's memory.
	atf_check -o match:main -e ignore sbxctl exec "$sid" sh -c \
	    'cat Makefile src/main.c; ls . src; cat "$0/n" src/fresh; true' \
	    "$who_home"
	for f in "$P/Makefile" "$who_home/n" "$P/src/fresh"; do
		echo owner >"$P/m" && chown --reference="$P" "$P/m"
		mv "$P/m" "$f"
	done
	rm "$P/src/main.c"
	atf_check -o inline:'owner\nowner\nfresh\n' sbxctl exec "$sid" sh -c \
	    'cat Makefile "$0/n"; ls src' "$who_home"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	atf_check -o ignore sbxctl kill "$sid"
	echo later >"$P/m" && chown --reference="$P" "$P/m"
	mv "$P/m" "$P/Makefile"
	atf_check -o inline:'later\n' -e ignore sbxctl resume "$sid" -- \
	    cat Makefile </dev/null
	rm "$who_home/n"
	atf_check -o ignore sbxctl rm --discard "$sid"
}
anew_body()
{
	int_begin
	int_each anew_one
	int_end
}

atf_test_case reviewed
reviewed_head()
{
	atf_set descr "a landing while commands run: they are stopped with the \
session and go on, and none of their output is lost"
	atf_set require.user root
	atf_set timeout 120
}
# For half a second no line has come.
still_lines()
{
	n=$(grep -c . count.out)
	sleep 0.5
	[ "$(grep -c . count.out)" -eq "$n" ]
}
more_lines()
{
	[ "$(grep -c . count.out)" -gt "$n" ]
}
reviewed_one()
{
	suite=$sbx_suite
	[ "$who_user" != "${int_own-}" ] || suite=$int_own_suite
	exec_new sleep 1000
	sbxctl exec "$sid" sh -c 'i=0; while [ ! -e enough ]; do
	    i=$((i + 1)); echo $i; echo $i >last; done' >count.out &
	counting=$!
	sbxctl exec "$sid" sh -c 'while [ ! -e enough ]; do
	    seq 20000; sleep 0.05; done' >long.out &
	long=$!
	int_wait sbxctl exec "$sid" test -s last
	stall "$(pgrep -x -P "$suite" spawn)" renameat2 1 \
	    >stall.out 2>stall.err &
	stall=$!
	int_wait_file stall.out ready
	sbxctl apply --yes "$sid" >apply.out 2>&1 &
	apply=$!
	int_wait_file stall.out stalled
	# What was on its way has come.
	int_wait still_lines
	kill "$stall"
	wait "$stall" || :
	wait "$apply" || atf_fail "$(cat apply.out)"
	int_wait more_lines
	for i in 1 2 3 4 5; do
		atf_check -o ignore sbxctl changes "$sid"
	done
	atf_check sbxctl exec "$sid" touch enough
	wait "$counting" || atf_fail "counting: $?"
	wait "$long" || atf_fail "the long one: $?"
	seq "$(grep -c . count.out)" >want
	atf_check cmp want count.out
	atf_check awk '$1 != (NR - 1) % 20000 + 1 { exit 1 }' long.out
	atf_check_equal 0 "$(($(grep -c . long.out) % 20000))"
	atf_check -o ignore sbxctl kill "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	rm -f ./*.out
}
reviewed_body()
{
	int_begin
	int_users reviewed_one
	int_end
}

atf_init_test_cases()
{
	for c in piped terminal killed together anew reviewed; do
		atf_add_test_case "$c"
	done
}
