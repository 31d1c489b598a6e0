# Cases E, at a terminal with somebody at it: sbxctl run as a person sees it.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# at_terminal COMMAND...: the steps come from stdin; sbxctl runs in a shell
# that has the terminal's modes before and after. The terminal answers CSI 5 n
# unless $terminal says other options for pty.
at_terminal()
{
	cat >steps
	stty_before='stty -g >before'
	status=0
	(cd "$P" && TERM=xterm exec pty ${terminal--a} -r 30 -c 100 "$OLDPWD/steps" \
	    sh -c "cd '$OLDPWD'; stty -g >before; cd '$P'; s=0; $* || s=\$?
	    cd '$OLDPWD'; stty -g >after; exit \$s") >shown 2>wrong ||
	    status=$?
	if [ "$status" -eq 99 ]; then
		cat shown wrong >&2
		atf_fail "the terminal did not go that way"
	fi
	int_same "$(cat before)" "$(cat after)" "the modes are not put back"
}

atf_test_case choice
choice_head()
{
	atf_set descr "after the command: view, apply, discard, keep; no \
answer keeps"
	atf_set require.user root
	atf_set timeout 120
}
choice_one()
{
	ctl="sbxctl run $AS --"
	# Nothing changed, nothing asked.
	at_terminal "$ctl tty" <<-'EOT'
		expect /dev/pts/
		end
		never apply
	EOT
	atf_check_equal 0 "$status"
	int_state_check
	# Viewed and applied.
	at_terminal "$ctl sh -c 'echo in >>a.txt; echo n >new; exit 4'" <<-'EOT'
		expect M  a.txt
		expect 2 files changed
		expect ?
		send v\n
		expect +in
		expect [a/d/K/v]
		send a\n
		expect 2 files landed
		end
	EOT
	atf_check_equal 4 "$status"
	int_state_check
	atf_check -o match:in cat "$P/a.txt"
	# Discarded.
	at_terminal "$ctl sh -c 'echo d >disc'" <<-'EOT'
		expect A  disc
		expect ?
		send discard\n
		expect discard 1 file? [y/N]
		send y\n
		expect 1 file discarded, and the session removed
		end
	EOT
	int_state_check
	atf_check test ! -e "$P/disc"
	# Kept: by the word, by an empty line, by end of file, by ^C, by
	# hang-up, by a signal.
	for answer in 'send keep\n' 'send \n' 'send \x04' 'send \x03'; do
		at_terminal "$ctl sh -c 'echo k >kept'" <<-EOT
			expect A  kept
			expect ?
			$answer
			expect is kept
			end
		EOT
		sid=$(sbxctl ls | awk 'NR == 2 { print $1 }')
		int_state_check "$sid"
		atf_check -o match:'A  kept' sbxctl changes "$sid"
		atf_check -o ignore sbxctl rm --discard "$sid"
	done
	printf 'expect A  kept\nexpect ?\nhangup\nsleep 300\n' >steps
	(cd "$P" && pty "$OLDPWD/steps" sbxctl run $AS -- \
	    sh -c 'echo k >kept') >shown 2>&1
	sid=$(sbxctl ls | awk 'NR == 2 { print $1 }')
	int_state_check "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	# What was typed before the question is no answer to it.
	at_terminal "$ctl sh -c 'echo k >kept; echo up; read l'" <<-'EOT'
		expect up
		send a\na\n
		expect A  kept
		expect ?
		sleep 300
		never landed
		send k\n
		end
	EOT
	sid=$(sbxctl ls | awk 'NR == 2 { print $1 }')
	atf_check -o ignore sbxctl rm --discard "$sid"
	# apply asks as well.
	int_keep sh -c 'echo in >asked'
	at_terminal "sbxctl apply" <<-'EOT'
		expect A  asked
		expect ?
		send n\n
		expect nothing was applied
		end
	EOT
	atf_check_equal 1 "$status"
	atf_check test ! -e "$P/asked"
	at_terminal "sbxctl apply $sid" <<-'EOT'
		expect ?
		send yes\n
		expect 1 file landed
		end
	EOT
	atf_check_equal 0 "$status"
	atf_check test -e "$P/asked"
	atf_check -o ignore sbxctl rm "$sid"
}
choice_body()
{
	int_begin
	int_each choice_one
	int_end
}

# follows A B...: each is shown after the one before it.
follows()
{
	python3 - "$@" <<-'EOT'
		import sys
		shown, at = open("shown", "rb").read(), 0
		for want in sys.argv[1:]:
		    b = want.encode().decode("unicode_escape").encode()
		    n = shown.find(b, at)
		    if n == -1:
		        sys.exit("not after that: %r in %r" % (b, shown))
		    at = n + len(b)
	EOT
}

atf_test_case below
below_head()
{
	atf_set descr "what a session wrote at other places of the screen \
stands neither beside nor below what is said after it"
	atf_set require.user root
}
below_body()
{
	int_begin
	int_who user
	printf '%s\n' 'printf "\033[9;1Hforged\n\033[2;9H"; echo >new' >"$P/up"
	printf '%s\n' 'printf "\033[?1049hlast"; echo >new' >"$P/last"
	sleep 0.02
	at_terminal "sbxctl run $AS -- sh ./up" <<-'EOT'
		expect [a/d/K/v]
		send k\n
		expect is kept
		end
	EOT
	follows forged '\x1b[2;9H' '\r\x1b[J' '1 file changed' '[a/d/K/v]' ||
	    atf_fail "not in that order"
	# From the other screen's place on, and not over a line without its end.
	at_terminal "sbxctl run $AS -- sh ./last" <<-'EOT'
		expect [a/d/K/v]
		send k\n
		expect is kept
		end
	EOT
	follows last '\x1b[?1049l' '\n\r\x1b[J' '1 file changed' ||
	    atf_fail "not in that order"
	int_end
}

atf_test_case paged
paged_head()
{
	atf_set descr "at a terminal a diff goes through the pager, and of a \
binary file no bytes are shown"
	atf_set require.user root
}
paged_body()
{
	int_begin
	int_who user
	int_keep sh -c 'head -c 30000 /dev/urandom >bin; seq 500 >lines
	    echo end >>Makefile'
	cat >page <<-'EOT'
		#!/bin/sh
		sed 's/^/paged: /'
	EOT
	chmod 0755 page
	export NO_COLOR=1
	at_terminal "PAGER=$PWD/page sbxctl diff $sid" <<-'EOT'
		expect paged: Binary file, now of 30000 bytes
		expect paged: +500
		end
		never literal
	EOT
	atf_check_equal 0 "$status"
	# One that is left early has seen enough; none is as good.
	at_terminal "PAGER='head -n 1' sbxctl diff $sid" <<-'EOT'
		expect session
		end
		never written
		never +500
	EOT
	atf_check_equal 0 "$status"
	at_terminal "PAGER= sbxctl diff $sid" <<-'EOT'
		expect Binary file
		expect +500
		end
	EOT
	atf_check_equal 0 "$status"
	# The question's view too.
	at_terminal "PAGER=$PWD/page sbxctl run $AS -- sh -c 'echo n >new'" \
	    <<-'EOT'
		expect [a/d/K/v]
		send v\n
		expect paged: +n
		expect [a/d/K/v]
		send k\n
		end
	EOT
	# Not at one: whole, and who reads no more of it is no error.
	PAGER=false sbxctl diff "$sid" >diff || atf_fail "status $?"
	atf_check -o ignore grep '^+500$' diff
	(PAGER=false sbxctl diff "$sid"; echo "$?" >ended) 2>err |
	    sed -n '1{p;q}' >first
	atf_check -o match:session cat first
	atf_check cat err
	# The patch has what is not shown.
	atf_check -o ignore sbxctl patch -o p "$sid"
	atf_check -o inline:'1\n' grep -c '^GIT binary patch$' p
	for s in $(sbxctl ls | awk 'NR > 1 { print $1 }'); do
		atf_check -o ignore sbxctl rm --discard "$s"
	done
	int_end
}

atf_test_case interrupted
interrupted_head()
{
	atf_set descr "^C during a landing: it goes on, and that is said"
	atf_set require.user root
}
interrupted_body()
{
	int_plain || atf_skip "sanitized programs cannot be traced"
	int_begin
	int_who user
	int_keep sh -c 'for i in 1 2 3 4; do echo in >f$i; done'
	stall "$(pgrep -x spawn)" renameat2 2 >stall.out 2>stall.err &
	stall=$!
	int_wait_file stall.out ready
	(int_wait_file stall.out stalled; touch begun
	    int_wait test -e told; kill "$stall") &
	timing=$!
	at_terminal "trap : INT; sbxctl apply --yes $sid" <<-EOT
		await $PWD/begun
		send \x03
		expect the landing goes on
		touch $PWD/told
		expect 4 files landed
		end
	EOT
	atf_check_equal 0 "$status"
	atf_check -o inline:'in\n' cat "$P/f4"
	wait "$timing"
	atf_check -o ignore sbxctl rm "$sid"
	int_end
}

atf_test_case statuses
statuses_head()
{
	atf_set descr "E86: the last output and the true status, also by signals"
	atf_set require.user root
	atf_set timeout 120
}
statuses_one()
{
	ctl="sbxctl run $AS --"
	for i in 1 2 3; do
		at_terminal "$ctl sh -c 'seq 20000; echo the-end; exit 7'" <<-'EOT'
			expect the-end
			end
		EOT
		atf_check_equal 7 "$status"
		atf_check_equal 20000 "$(grep -c '^[0-9]*.$' shown)"
	done
	at_terminal "$ctl sh -c 'printf last; kill -9 \$\$'" <<-'EOT'
		expect last
		end
	EOT
	atf_check_equal 137 "$status"
	at_terminal "$ctl sh -c 'echo up; exec sleep 100'" <<-'EOT'
		expect up
		send \x03
		end
	EOT
	atf_check_equal 130 "$status"
	at_terminal "$ctl cat" <<-'EOT'
		send word\n
		expect word\r\nword
		send \x04
		end
	EOT
	atf_check_equal 0 "$status"
	at_terminal "$ctl nowhere" <<-'EOT'
		expect nowhere
		end
	EOT
	atf_check_equal 127 "$status"
	# The terminal goes: the command is hung up.
	printf 'expect ready\nhangup\nsleep 500\n' >steps
	(cd "$P" && pty "$OLDPWD/steps" sbxctl run $AS -- sh -c \
	    'trap "echo hup >hup; exit" HUP; echo ready; while :; do sleep 0.1
	    done') >shown 2>&1
	int_wait sh -c 'sbxctl ls | grep -q ended'
	sid=$(sbxctl ls | awk 'NR == 2 { print $1 }')
	atf_check -o match:'A  hup' sbxctl changes "$sid"
}
statuses_body()
{
	int_begin
	int_users statuses_one
	int_end
}

atf_test_case jobs
jobs_head()
{
	atf_set descr "E84, E83: job control in bash and fish, resizing, and \
the outer shell afterwards"
	atf_set require.user root
	atf_set timeout 120
}
jobs_one()
{
	ctl="sbxctl run $AS --env PS1=ready: --"
	at_terminal "$ctl bash --norc -i" <<-'EOT'
		expect ready:
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
		send stty size\n
		expect 30 100
		resize 11 33
		send until [ "$(stty size)" = "11 33" ]; do sleep 0.1; done\n
		send echo si""zed\n
		expect sized
		send echo $((6*7))\n
		expect 42
		send exit 6\n
		end
		never no job control
		never cannot set terminal
	EOT
	atf_check_equal 6 "$status"
	at_terminal "$ctl fish --no-config" <<-'EOT'
		expect >
		sleep 300
		send sh -c 'echo u""p; exec sleep 100'\r
		expect up
		send \x1a
		expect stopped
		send fg\r
		expect sleep 100
		sleep 300
		send \x03
		sleep 300
		send echo (math 6 x 7)\r
		expect 42
		send exit\r
		end
		never No TTY
	EOT
	# One SIGWINCH a size.
	steps=''
	for i in $(seq 1 50); do
		steps="$steps
resize $((10 + i)) $((50 + i))
expect <$i $((10 + i)) $((50 + i))>"
	done
	at_terminal "$ctl $tools/inside winch" <<-EOT
		expect <0 30 100>
		$steps
		send \x03
		end
	EOT
	atf_check_equal 130 "$status"
	# An outer shell with job control is in its right mind afterwards.
	at_terminal "bash --norc -ic 'sbxctl run $AS -- bash --norc -ic true;
	    sh -c \"echo up; exec sleep 100\"; echo back'" <<-'EOT'
		expect up
		send \x03
		end
		never cannot set terminal
	EOT
	for sid in $(sbxctl ls | awk 'NR > 1 { print $1 }'); do
		atf_check -o ignore sbxctl rm --discard "$sid"
	done
}
jobs_body()
{
	int_begin
	int_users jobs_one
	int_end
}

atf_test_case injected
injected_head()
{
	atf_set descr "E82: TIOCSTI, TIOCLINUX, OSC 52 and title reports do not \
reach the owner's shell"
	atf_set require.user root
	atf_set timeout 120
}
injected_one()
{
	ctl="sbxctl run $AS"
	at_terminal "$ctl -- $tools/inside forbidden; m=\$(stty -g)
	    stty -icanon min 0 time 10; x=\$(dd bs=9 count=1 2>/dev/null)
	    stty \$m; echo got:\$x:" <<-'EOT'
		expect got::
		end
	EOT
	atf_check_equal 5 "$(grep -c '^ioctl EPERM' shown)"
	osc='printf "\033]52;c;ZXZpbA==\007\033]2;title\007\033[21t plain\n"'
	at_terminal "$ctl -- sh -c '$osc'" <<-'EOT'
		expect plain
		end
		never ]52;
		never \e[21t
	EOT
	at_terminal "$ctl --raw -- sh -c '$osc'" <<-'EOT'
		expect \e]52;c;ZXZpbA==
		expect plain
		end
	EOT
	# Whichever stream leads to the terminal, also of a command that was
	# added: it is no other terminal because its input is none.
	evil='printf "\033]52;c;ZXZpbA==\007\033[21t\033[5i\033[cplain\n"'
	sid=$(cd "$P" && sbxctl new $AS -- sleep 1000) || atf_fail "new: $?"
	for way in "$ctl --|</dev/null" "$ctl --|>&2 </dev/null" \
	    "$ctl --|>&2 | cat" "sbxctl exec $sid|</dev/null" \
	    "sbxctl exec $sid|>&2 | cat"; do
		inside=${way#*|}
		case $inside in
		*">&2"*) said="$evil >&2" ;;
		*) said=$evil ;;
		esac
		at_terminal "${way%%|*} sh -c '$said' ${inside#>&2}" <<-'EOT'
			expect plain
			end
			never ]52;
			never \e[21t
			never \e[5i
			never \e[c
		EOT
	done
	atf_check -o ignore sbxctl kill "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	# kitty types what is in it, and iTerm2, vim and emacs take commands.
	for osc in 'P@kitty-echo|YXBwbHk=' 'P@kitty-cmd{}' P1000p \
	    ']51;["call","Tapi_x",[]]' _x ^x; do
		at_terminal "$ctl -- printf '\\033%s\\033\\\\plain\\n' '$osc'" <<-EOT
			expect plain
			end
			never $osc
		EOT
	done
	# A terminal that types for the session, and is slow: what it has typed
	# when the question comes is no answer to it.
	terminal=
	at_terminal "$ctl -- sh -c 'echo l >late'" <<-'EOT'
		expect \e[5n
		sleep 300
		never [a/d/K/v]
		send apply\e[0n
		expect [a/d/K/v]
		send \n
		expect is kept
		end
	EOT
	unset terminal
	atf_check test ! -e "$P/late"
	sid=$(sbxctl ls | awk 'NR == 2 { print $1 }')
	atf_check -o ignore sbxctl rm --discard "$sid"
	# Modes that a full-screen program left on are put back.
	at_terminal "$ctl -- sh -c 'printf \"\033[?1049h\033[?25l\033[?2004h\"
	    kill -9 \$\$'" <<-'EOT'
		expect \e[?1049h
		end
	EOT
	for m in '?1049l' '?25h' '?2004l'; do
		atf_check -o ignore grep -aF "[$m" shown
	done
	# Nor by a second command at a terminal of its own.
	int_live held sh -c 'read -r l'
	at_terminal "sbxctl exec $sid $tools/inside forbidden
	    m=\$(stty -g); stty -icanon min 0 time 10
	    x=\$(dd bs=9 count=1 2>/dev/null); stty \$m; echo got:\$x:" <<-'EOT'
		expect got::
		end
	EOT
	atf_check_equal 5 "$(grep -c '^ioctl EPERM' shown)"
	exec 9>&-
	wait "$live" || :
	atf_check -o ignore sbxctl rm --discard "$sid"
}
injected_body()
{
	int_begin
	int_each injected_one
	int_end
}

atf_test_case programs
programs_head()
{
	atf_set descr "vim and less start, work, and leave; a large paste arrives"
	atf_set require.user root
	atf_set timeout 120
}
programs_one()
{
	at_terminal "sbxctl run $AS -- less a.txt" <<-'EOT'
		expect three
		send q
		end
	EOT
	atf_check_equal 0 "$status"
	at_terminal "sbxctl run $AS -- vim.tiny -u NONE a.txt" <<-'EOT'
		expect three
		send Gotyped\x1b
		send :wq\r
		expect M  a.txt
		expect ?
		send a\n
		expect landed
		end
	EOT
	atf_check -o match:'^typed$' cat "$P/a.txt"
	{
		echo 'expect <ready>'
		printf 'send '
		head -c 1000000 /dev/zero | tr '\0' 'p'
		echo
		echo 'expect <1000000 '
		echo end
	} >paste
	at_terminal "sbxctl run $AS -- $tools/inside eat raw 1000000" <paste
}
programs_body()
{
	int_begin
	int_users programs_one
	int_end
}

# How long sbxd has computed, in the kernel's ticks.
broker_ticks()
{
	sed 's/.*) //' "/proc/$sbx_suite/stat" | awk '{ print $12 + $13 }'
}

# broker_one COMMAND...: 200 MB at that terminal, from "begun" to "over".
broker_one()
{
	printf '%s\n' 'expect begun' forget 'touch there' 'await go' \
	    'send \n' 'expect over' 'touch seen' 'await measured' 'send \n' \
	    end >steps
	rm -f there go seen measured
	pty -w 200 steps "$@" >shown 2>wrong &
	broker_pty=$!
	int_wait test -e there
	# What the start has left to do.
	sleep 1
	before=$(broker_ticks)
	touch go
	until [ -e seen ]; do
		kill -0 "$broker_pty" || atf_fail "$(cat wrong)"
		sleep 0.1
	done
	after=$(broker_ticks)
	touch measured
	wait "$broker_pty" || atf_fail "status $?: $(cat wrong)"
	# One may be a tick that a timer has hit.
	[ $((after - before)) -le 1 ] ||
	    atf_fail "sbxd has computed $((after - before)) ticks: $*"
}

atf_test_case broker
broker_head()
{
	atf_set descr "sbxd does not compute while 200 MB go to a terminal, to \
who has started the command and to who looks in"
	atf_set require.user root
	atf_set timeout 500
}
broker_body()
{
	int_begin
	int_who root
	line=$(printf '%099d' 7)
	yes "$line" | head -n 2000000 >"$SBX_SCRATCH/big"
	text="echo begun; read -r l; cat '$SBX_SCRATCH/big'; echo over
	    read -r l"
	broker_one run -- sh -c "$text"
	sid=$(cd "$P" && sbxctl new --name looked-at -- sh -c "$text")
	broker_one sbxctl attach "$sid"
	int_wait sh -c "sbxctl ls | grep -q '^$sid .*ended'"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
}

atf_init_test_cases()
{
	for c in choice below paged interrupted statuses jobs injected programs \
	    broker; do
		atf_add_test_case "$c"
	done
}
