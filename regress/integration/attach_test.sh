# new and attach: a session that runs without anybody, and people at it.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# att_new NAME [OPTION...] COMMAND...: a session of that name; its id is $sid.
att_new()
{
	att_name=$1
	shift
	# What runs in it is shown on terminals that att_at makes.
	sid=$(cd "$P" && TERM=xterm sbxctl new $AS --repo "$P" \
	    --name "$att_name" "$@") ||
	    atf_fail "new: status $?"
	expr "$sid" : '[a-z2-7]\{12\}$' >/dev/null ||
	    atf_fail "no id: $sid"
}

# att_at NAME COMMAND...: a terminal that goes by the steps on stdin, in the
# background; what it has shown is in NAME.out. All end by att_wait NAME, which
# sets $status.
att_at()
{
	att_t=$1
	shift
	cat >"$att_t.steps"
	(TERM=xterm LC_ALL=C.UTF-8 exec pty ${ATT_SIZE--r 30 -c 100} \
	    "$att_t.steps" "$@") >"$att_t.out" 2>"$att_t.err" &
	eval "att_pid_$att_t=$!"
}
att_wait()
{
	for att_t in "$@"; do
		status=0
		eval "wait \$att_pid_$att_t" || status=$?
		if [ "$status" -eq 99 ]; then
			tail -n 30 ./*.out ./*.err >&2
			atf_fail "terminal $att_t did not go that way"
		fi
	done
}
att_one()
{
	att_at one "$@"
	att_wait one
}

# att_end [STATUS]: the session in $sid ends, and so; it is removed.
att_end()
{
	int_wait sh -c "sbxctl ls | grep -q '^$sid .*ended ${1-0} '"
	atf_check -o ignore sbxctl rm --discard "$sid"
}

atf_test_case detached
detached_head()
{
	atf_set descr "new, attach, detach, come back, and the end"
	atf_set require.user root
}
detached_one()
{
	att_new alone sh -c 'echo begun; while read -r l; do echo "got $l"
	    [ "$l" = go ] && exit 7; done'
	atf_check_equal running "$(int_state alone)"
	# What was written with nobody there comes first.
	att_one sbxctl attach "$sid" <<-'EOT'
		expect begun
		send one\n
		expect got one
		send \x1c
		expect runs on
		end
	EOT
	atf_check_equal 0 "$status"
	atf_check_equal running "$(int_state alone)"
	# By its name; the terminal goes; it is not the session's affair.
	att_one sbxctl attach alone <<-'EOT'
		expect begun
		expect got one
		send two\n
		expect got two
		hangup
		end
	EOT
	atf_check_equal 129 "$status"
	att_one sh -c "cd '$P' && exec sbxctl attach" <<-'EOT'
		expect got two
		signal 15
		end
	EOT
	atf_check_equal 143 "$status"
	atf_check_equal running "$(int_state alone)"
	att_one sh -c 'stty -g >before; sbxctl attach "$0"; s=$?; stty -g >after
	    exit $s' "$sid" <<-'EOT'
		expect got two
		send go\n
		expect got go
		expect ended with status 7
		end
	EOT
	atf_check_equal 7 "$status"
	atf_check cmp before after
	att_end 7
	int_state_check
}
detached_body()
{
	int_begin
	int_each detached_one
	int_end
}

atf_test_case shared
shared_head()
{
	atf_set descr "two at one terminal see the same; who comes late sees \
what a full-screen program shows"
	atf_set require.user root
	atf_set timeout 120
}
shared_body()
{
	int_begin
	int_who user
	att_new both bash --norc -i
	att_at a sbxctl attach "$sid" <<-'EOT'
		expect bash
		send PS1=rea''dy:\n
		expect ready:
		touch a.up
		await b.up
		send seq 3000; echo en''d\n
		expect \r\n3000\r\nend
		await b.typed
		expect from-b
		touch a.done
		send \x1c
		expect runs on
		end
	EOT
	att_at b sbxctl attach "$sid" <<-'EOT'
		expect bash
		await a.up
		expect ready:
		touch b.up
		expect \r\n3000\r\nend
		send echo from''-b\n
		expect from-b
		touch b.typed
		await a.done
		send \x1c
		expect runs on
		end
	EOT
	att_wait a b
	for t in a b; do
		tr -d '\r' <$t.out | grep '^[0-9]*$' >$t.seq
	done
	seq 3000 | atf_check -o file:a.seq cat
	atf_check cmp a.seq b.seq
	# In the alternate screen, and with the mode that says so.
	for c in 'less a.txt' 'vim -u NONE a.txt'; do
		command -v "${c%% *}" >/dev/null || continue
		quit=q
		[ "${c%% *}" = less ] || quit=':q!\r'
		att_at a sbxctl attach "$sid" <<-EOT
			expect ready:
			send $c\n
			expect \e[?1049h
			expect three
			touch shown
			await left
			send \x1c
			end
		EOT
		att_at b sh -c 'while [ ! -e shown ]; do sleep 0.05; done
		    exec sbxctl attach "$0"' "$sid" <<-'EOT'
			expect \e[?1049h
			expect three
			send \x1c
			expect \e[?1049l
			expect runs on
			touch left
			end
		EOT
		att_wait a b
		att_one sbxctl attach "$sid" <<-EOT
			expect three
			send $quit
			expect \e[?1049l
			send echo ba''ck\r
			expect back
			send \x1c
			end
		EOT
		rm -f shown left
	done
	att_one sbxctl attach "$sid" <<-'EOT'
		expect ready:
		send exit 4\n
		end
	EOT
	atf_check_equal 4 "$status"
	att_end 4
	int_end
}

atf_test_case asked
asked_head()
{
	atf_set descr "what the session asked of a terminal before one came is \
not asked, nor of two at once"
	atf_set require.user root
}
asked_body()
{
	int_begin
	int_who root
	att_new q sh -c 'printf "\033[c\033]11;?\033\\\\old:"; echo x >asked
	    read x; printf "\033[6n\033[>cnew:"; read x'
	int_wait sh -c "ls $SBX_STATE/s/$sid/*/u/asked >/dev/null 2>&1"
	# What has been asked is soon read.
	sleep 0.3
	att_at a sbxctl attach "$sid" <<-'EOT'
		expect old:
		touch a.up
		await b.up
		send \n
		expect \e[6n
		expect \e[>c
		expect new:
		touch a.new
		await b.left
		send \n
		end
		never \e[c
		never 11;?
	EOT
	att_at b sbxctl attach "$sid" <<-'EOT'
		expect old:
		await a.up
		touch b.up
		expect new:
		await a.new
		never \e[
		send \x1c
		touch b.left
		end
	EOT
	att_wait a b
	att_end
	int_end
}

atf_test_case sizes
sizes_head()
{
	atf_set descr "E83: the size of the one that typed last, one SIGWINCH \
each, also while nobody was there"
	atf_set require.user root
	atf_set timeout 120
}
sizes_body()
{
	int_begin
	int_who user
	cp "$tools/inside" "$P/inside"
	sid=$(cd "$P" && ATT_SIZE='' && sbxctl new $AS --repo "$P" -- \
	    "$tools/inside" winch </dev/null) || atf_fail new
	att_at a sbxctl attach "$sid" <<-'EOT'
		expect <0 24 80>
		expect <1 30 100>
		touch a.up
		await b.up
		resize 31 101
		expect <2 31 101>
		touch a.sized
		expect <3 40 120>
		resize 33 103
		await b.sized
		sleep 200
		never 33 103
		send x
		expect <5 33 103>
		touch a.typed
		await b.gone
		send \x1c
		end
	EOT
	ATT_SIZE='-r 40 -c 120' att_at b sh -c 'while [ ! -e a.up ]; do
	    sleep 0.05; done; exec sbxctl attach "$0"' "$sid" <<-'EOT'
		expect <1 30 100>
		touch b.up
		await a.sized
		never 40 120
		send x
		expect <3 40 120>
		resize 41 121
		expect <4 41 121>
		touch b.sized
		await a.typed
		expect <5 33 103>
		send \x1c
		touch b.gone
		end
	EOT
	att_wait a b
	# 20 different ones, each with nobody in between.
	n=5
	for i in $(seq 20); do
		n=$((n + 1))
		ATT_SIZE="-r $((20 + i)) -c $((60 + i))" att_one \
		    sbxctl attach "$sid" <<-EOT
			expect <$n $((20 + i)) $((60 + i))>
			send \x1c
			end
		EOT
	done
	# The same size again is none.
	ATT_SIZE="-r 40 -c 80" att_one sbxctl attach "$sid" <<-EOT
		expect <$n 40 80>
		sleep 200
		never <$((n + 1))
		send \x03
		end
	EOT
	atf_check_equal 130 "$status"
	att_end 130
	int_end
}

atf_test_case keys
keys_head()
{
	atf_set descr "detach keys: split over reads, several, set, none"
	atf_set require.user root
	atf_set timeout 120
}
keys_body()
{
	int_begin
	int_who root
	att_new k sh -c 'stty raw -echo; echo up; exec cat -v'
	# As the long form, in pieces.
	att_one sbxctl attach "$sid" <<-'EOT'
		expect up
		send a\e[92;5
		send u
		expect runs on
		end
	EOT
	att_one sbxctl attach --detach-keys ctrl-p,ctrl-q "$sid" <<-'EOT'
		expect up
		send x\x1c\x10
		expect x^\\
		sleep 300
		never ^P
		send y
		expect ^Py
		send \x10
		sleep 100
		send \x10
		sleep 100
		send \x11
		expect runs on
		end
	EOT
	# Escape itself is not held up for long.
	SBX_DETACH_KEYS='C-a,d' att_one env SBX_DETACH_KEYS='C-a,d' \
	    sbxctl attach "$sid" <<-'EOT'
		expect up
		send \e
		expect ^[
		send \x1c
		expect ^\\
		send \x01d
		expect runs on
		end
	EOT
	# The option wins over the environment.
	att_one env SBX_DETACH_KEYS=z sbxctl attach --detach-keys none "$sid" \
	    <<-'EOT'
		expect up
		send z\x1c.
		expect z^\\.
		hangup
		end
	EOT
	atf_check_equal running "$(int_state "$sid")"
	att_one sh -c 'kill -9 $(pgrep -x cat); exec sbxctl attach "$0"' \
	    "$sid" <<-'EOT'
		end
	EOT
	int_wait sh -c "sbxctl ls | grep -q '^$sid .*ended 137 '"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
}

atf_test_case keys_flow
keys_flow_head()
{
	atf_set descr "Escape alone arrives also while output never pauses"
	atf_set require.user root
	atf_set timeout 120
}
keys_flow_body()
{
	int_begin
	int_who root
	att_new k sh -c 'stty raw -echo; while sleep 0.01; do printf .; done &
	    echo up; exec cat -v'
	att_one sbxctl attach "$sid" <<-'EOT'
		expect up
		send \e
		expect ^[
		send \e[92;5
		send u
		expect runs on
		end
	EOT
	atf_check -o ignore sbxctl stop "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
}

atf_test_case stopped
stopped_head()
{
	atf_set descr "one that is stopped while 50 MB are written holds up \
neither the command nor another one"
	atf_set require.user root
	atf_set timeout 180
}
stopped_body()
{
	int_begin
	int_who user
	ATT_SIZE='-w 120'
	att_new flood sh -c 'echo up; read x; yes "$0" |
	    head -c 50000000; echo all; read x' "$(seq -s " " 30)"
	att_at a sh -c 'echo $$ >a.pid; exec sbxctl attach "$0"' "$sid" <<-'EOT'
		expect up
		touch a.up
		await stopped
		send \n
		expect all
		touch a.done
		await b.done
		send \n
		end
	EOT
	att_at b sh -c 'echo $$ >b.pid; exec sbxctl attach "$0"' "$sid" <<-'EOT'
		expect up
		touch b.up
		await goes-on
		expect all
		touch b.done
		end
	EOT
	int_wait_file a.up
	int_wait_file b.up
	kill -STOP "$(cat b.pid)"
	touch stopped
	# As long as the other one, which gives up by itself.
	while [ ! -e a.done ] && kill -0 "$(cat a.pid)"; do
		sleep 0.1
	done
	# It was b that was not there: the end of it is what it gets.
	kill -CONT "$(cat b.pid)"
	touch goes-on
	att_wait a b
	atf_check test "$(wc -c <b.out)" -lt 20000000
	att_end
	int_end
}

atf_test_case slow_other
slow_other_head()
{
	atf_set descr "who was attached finds the session ended, though another \
one has not taken its end"
	atf_set require.user root
	atf_set timeout 120
}
slow_other_body()
{
	int_begin
	int_who user
	att_new both sh -c 'echo up; read x; seq 100000; echo all'
	att_at b sh -c 'echo $$ >b.pid; exec sbxctl attach "$0"' "$sid" <<-'EOT'
		expect up
		touch b.up
		await goes-on
		end
	EOT
	int_wait_file b.up
	kill -STOP "$(cat b.pid)"
	att_one sh -c 'sbxctl attach "$0"; sbxctl ls; sbxctl resume "$0" -- true
	    echo "resumed $?"' "$sid" <<-'EOT'
		expect up
		send \n
		expect has ended with status 0
		expect ended
		expect resumed 0
		end
	EOT
	kill -CONT "$(cat b.pid)"
	touch goes-on
	att_wait b
	att_end
	int_end
}

atf_test_case crowd
crowd_head()
{
	atf_set descr "20 at one terminal, coming and going"
	atf_set require.user root
	atf_set timeout 120
}
crowd_body()
{
	int_begin
	int_who user
	att_new crowd sh -c 'stty -echo; echo up; while read x; do
	    echo "got $x"; [ "$x" != end ] || exit 6; done'
	for i in $(seq 20); do
		att_at "t$i" sbxctl attach "$sid" <<-EOT
			expect up
			touch up.$i
			await go
			send w$i\n
			expect got w$i
			touch typed.$i
			expect got end
			end
		EOT
	done
	for i in $(seq 20); do
		int_wait_file "up.$i"
	done
	touch go
	for i in $(seq 20); do
		int_wait_file "typed.$i"
	done
	# Some are killed on the way, and come no more.
	att_one sbxctl attach "$sid" <<-'EOT'
		expect got w
		send end\n
		end
	EOT
	atf_check_equal 6 "$status"
	for i in $(seq 20); do
		att_wait "t$i"
		atf_check_equal 6 "$status"
		for j in $(seq 20); do
			grep -q "got w$j" "t$i.out" ||
			    atf_fail "terminal $i has no w$j"
		done
	done
	att_end 6
	int_end
}

atf_test_case homes
homes_head()
{
	atf_set descr "run: another one looks in; its own terminal goes, and \
the command with it"
	atf_set require.user root
}
homes_body()
{
	int_begin
	int_who user
	att_at own sh -c "cd '$P' && exec sbxctl run $AS --name own --keep -- \
	    sh -c 'trap \"echo hup; exit 3\" HUP; trap \"echo quit\" QUIT
	    echo up; while :; do
	    read x || sleep 0.1; echo got \$x; done'" <<-'EOT'
		expect up
		send \x1c
		expect quit
		await looked
		expect got hello
		touch seen
		await again
		hangup
		sleep 300
	EOT
	att_one sh -c 'until sbxctl ls | grep -q "own.*running"; do
	    sleep 0.1; done; exec sbxctl attach own' <<-'EOT'
		expect up
		touch looked
		send hello\n
		expect got hello
		await seen
		send \x1c
		expect runs on
		end
	EOT
	att_one sbxctl attach own <<-'EOT'
		expect got hello
		touch again
		expect hup
		expect ended with status 3
		end
	EOT
	atf_check_equal 3 "$status"
	att_wait own
	sid=$(sbxctl ls | awk 'NR == 2 { print $1 }')
	att_end 3
	int_end
}

atf_test_case early
early_head()
{
	atf_set descr "E89: a command that ends at once, or cannot be executed"
	atf_set require.user root
}
# early_told COMMAND STATUS: how it ended and after how long is told.
early_told()
{
	int_wait sh -c "sbxctl ls | grep -q '^$sid .*ended $2 '"
	sbxctl show --json "$sid" >told || atf_fail show
	case $1 in
	exit*) by='"signal" not in o' ran='ran  *[0-9]* ms$' ;;
	*) by='o["signal"] == 1' ran='ran  *[0-9]* ms, ended by signal 1, SIGHUP$' ;;
	esac
	case $1 in
	sleep*) after='1200 <= o["ms"] < 30000' ;;
	*) after='0 <= o["ms"] < 10000' ;;
	esac
	int_json told 'o["state"] == "ended"' "o['status'] == $2" "$by" "$after"
	atf_check -o match:"$ran" sbxctl show "$sid"
}
early_body()
{
	int_begin
	int_who user
	cd "$P" || atf_fail cd
	# shellcheck disable=SC2086 # words
	set -- $AS
	int_refused 127 nowhere sbxctl new "$@" nowhere
	int_refused 126 src sbxctl new "$@" ./src
	printf '#!/no/such/interpreter\n' >bad
	chmod 755 bad
	int_refused 126 interpreter sbxctl new "$@" ./bad
	int_state_check
	for c in 'exit 0' 'exit 1' 'kill -HUP $$' 'exit 129' \
	    'sleep 1.2; kill -HUP $$'; do
		sid=$(sbxctl new "$@" --json -- sh -c "$c") || atf_fail new
		sid=$(printf '%s' "$sid" | tr -d '{}" \n' | cut -d: -f2)
		case $c in
		'exit 0') s=0 ;;
		'exit 1') s=1 ;;
		*) s=129 ;;
		esac
		early_told "$c" "$s"
		att_end "$s"
	done
	int_state_check
	int_end
}

atf_test_case theirs
theirs_head()
{
	atf_set descr "who may attach and execute: owner, root, an admin where \
it is not root's"
	atf_set require.user root
}
# types FILE USER: that one's JOIN and EXEC are answered what the file says.
types()
{
	setpriv --reuid "$2" --clear-groups \
	    "$tools/client" "$SBX_STATE/sbxd.sock" types "$sid" >answers ||
	    atf_fail "status $? of client"
	int_same "$(cat "$1")" "$(cat answers)" "not what $2 may"
}
theirs_body()
{
	echo '{"roles": {"admin": [23456]}}' >conf
	int_begin -f "$PWD/conf"
	chmod 0666 "$SBX_STATE/sbxd.sock"
	printf 'JOIN: SESSION\nEXEC: SESSION\n' >may
	printf 'JOIN: auth.denied\nEXEC: auth.denied\n' >denied
	printf 'JOIN: session.unknown\nEXEC: session.unknown\n' >unknown
	# Root's, as a user: that user looks only.
	int_who user
	att_new a sleep 1000
	types denied "$int_user"
	types may 23456
	types may 0
	types unknown 34567
	atf_check -o match:"$sid" sbx-as "$int_user" sbxctl ls
	int_refused 125 "belongs to root (uid 0)" sbx-as "$int_user" sbxctl exec "$sid" true
	# It may be ended with what it ends.
	sbxctl exec "$sid" pkill -x sleep 2>/dev/null || :
	att_end 143
	# Root's own: no admin's.
	int_who root
	att_new b sleep 1000
	types denied 23456
	types unknown "$int_user"
	int_refused 125 "no session's id" sbx-as "$int_user" sbxctl exec \
	    "$sid" true
	# It may be ended with what it ends.
	sbxctl exec "$sid" pkill -x sleep 2>/dev/null || :
	att_end 143
	# The user's own.
	int_who user
	sid=$(sbx-as "$int_user" sh -c 'cd "$0" && exec sbxctl new sleep 1000' \
	    "$P") || atf_fail new
	types may "$int_user"
	types may 0
	types may 23456
	types unknown 34567
	atf_check -o match:"^$int_user$" sbx-as "$int_user" sbxctl exec \
	    "$sid" id -un
	sbx-as "$int_user" sbxctl exec "$sid" pkill -x sleep 2>/dev/null || :
	att_end 143
	int_end
}

atf_test_case given
given_head()
{
	atf_set descr "who gives its connection away for one session is not \
gone from another that it started"
	atf_set require.user root
}
given_body()
{
	int_begin
	int_who root
	atf_check -o inline:'2 ended, 0 hidden, 1 words
3 ended, 0 hidden, 1 words\n' "$tools/client" "$SBX_STATE/sbxd.sock" two "$P"
	for sid in $(sbxctl ls | awk 'NR > 1 { print $1 }'); do
		atf_check -o match:'^state *ended 0' sbxctl show "$sid"
		atf_check -o ignore sbxctl rm "$sid"
	done
	int_end
}

atf_test_case anew
anew_head()
{
	atf_set descr "what the owner replaced by a rename, made and removed \
shows to who attaches"
	atf_set require.user root
	atf_set timeout 120
}
anew_one()
{
	att_new anew sh -c 'while cat Makefile; ls src; do echo "-"; read -r l
	    done'
	att_one sbxctl attach "$sid" <<-'EOT'
		expect main.c
		send \x1c
		end
	EOT
	echo owner >"$P/m" && chown --reference="$P" "$P/m"
	mv "$P/m" "$P/Makefile"
	echo fresh >"$P/src/fresh"
	rm "$P/src/main.c"
	att_one sbxctl attach "$sid" <<-'EOT'
		expect -
		send \n
		expect owner
		expect fresh
		expect -
		send \x03
		end
	EOT
	tr -d '\r' <one.out | sed '1,/^-$/d' >seen
	atf_check -o not-match:main cat seen
	att_end 130
}
anew_body()
{
	int_begin
	int_each anew_one
	int_end
}

atf_test_case audited
audited_head()
{
	atf_set descr "who types into somebody else's session is in the audit \
log, or does not"
	atf_set require.user root
}
# audited_are: what the log has of the session, without the times, is want.
audited_are()
{
	sed -n "s/^[^ ]*Z \(.*\) session=$sid /\1 /p" \
	    "$SBX_STATE/sbxd/audit" >got
	int_same "$(cat want)" "$(cat got)" "another audit log"
}
audited_body()
{
	int_begin
	chmod 0666 "$SBX_STATE/sbxd.sock"
	int_who user
	uid=$(id -u "$int_user")
	sid=$(sbx-as "$int_user" sh -c 'cd "$0" && exec sbxctl new sh -c "
	    echo up; sleep 1000"' "$P") || atf_fail new
	# Its owner's own is nobody's affair, nor is what was refused.
	atf_check sbx-as "$int_user" sbxctl exec "$sid" true
	att_one sh -c 'exec sbxctl exec "$0" ""' "$sid" <<-'EOT'
		end
	EOT
	: >want
	audited_are
	att_one sbxctl attach "$sid" <<-'EOT'
		expect up
		send \x1c
		end
	EOT
	atf_check sbxctl exec "$sid" true
	int_refused 127 nowhere sbxctl exec "$sid" "$(printf 'nowhere\nx')"
	printf 'attach peer=0 owner=uid:%s\n' "$uid" >want
	printf 'exec peer=0 owner=uid:%s command=%s\n' "$uid" true "$uid" \
	    nowhere%0Ax >>want
	audited_are
	# A log that cannot be written: its owner types, and nobody else. The
	# filter is asked for the call that comes in place of the failed one.
	strace -qq -o trace -e trace=fdatasync \
	    -e inject=fdatasync:error=EIO:syscall=getpid -p "$sbx_suite" &
	strace=$!
	int_wait grep -q '^TracerPid:.*[1-9]' "/proc/$sbx_suite/status"
	int_refused 125 'Input/output error' sbxctl exec "$sid" true
	atf_check sbx-as "$int_user" sbxctl exec "$sid" true
	kill "$strace"
	wait "$strace" || :
	printf 'exec peer=0 owner=uid:%s command=true\n' "$uid" >>want
	sbx-as "$int_user" sbxctl kill "$sid" >/dev/null || atf_fail kill
	atf_check -e ignore sbxctl resume "$sid" -- true </dev/null
	printf 'resume peer=0 owner=uid:%s command=true\n' "$uid" >>want
	audited_are
	sbx-as "$int_user" sbxctl resume "$sid" -- true </dev/null 2>/dev/null ||
	    atf_fail resume
	audited_are
	atf_check -o ignore sbx-as "$int_user" sbxctl rm --discard "$sid"
	int_end
}

atf_test_case lost
lost_head()
{
	atf_set descr "worker or suite killed: one line for who is attached"
	atf_set require.user root
}
lost_body()
{
	int_begin
	int_who user
	for who in worker sbxd; do
		att_new "$who" sh -c 'echo up; sleep 1000'
		att_at a sh -c 'sbxctl attach "$0" 2>line' "$sid" <<-'EOT'
			expect up
			touch a.up
			end
		EOT
		int_wait_file a.up
		rm a.up
		if [ "$who" = worker ]; then
			# shellcheck disable=SC2046 # one
			kill -9 $(int_pids sbx-worker)
		else
			kill -9 "$(int_pids sbxd)"
		fi
		att_wait a
		atf_check_equal 125 "$status"
		atf_check_equal 1 "$(wc -l <line)"
		atf_check -o match:'terminal is gone' cat line
	done
	int_suite
	for n in worker sbxd; do
		int_wait sh -c "sbxctl ls | grep -q '$n .*ended'"
		# The suite that was killed may hold it for a moment more.
		int_wait sh -c "sbxctl rm --discard $n >rm.out 2>rm.err ||
		    ! grep -q 'in use by another suite' rm.err"
		atf_check -s not-exit:0 -e ignore sbxctl show "$n"
	done
	int_end
}

atf_test_case embedded
embedded_head()
{
	atf_set descr "new starts a suite where none runs, which lives as long \
as its session"
	atf_set require.user root
}
embedded_body()
{
	int_tools
	int_clean_mark
	int_who user
	att_new e sh -c 'echo up; read x; echo got $x; exit 5'
	sleep 3
	atf_check_equal running "$(int_state e)"
	att_one sbxctl attach "$sid" <<-'EOT'
		expect up
		send x\n
		expect got x
		end
	EOT
	atf_check_equal 5 "$status"
	int_clean_check
	atf_check -o match:"$sid .*ended 5" sbxctl ls
	int_clean_check
}

atf_test_case reviewed
reviewed_head()
{
	atf_set descr "a review freezes the session: who is attached, and \
further commands, wait, and go on"
	atf_set require.user root
	atf_set timeout 120
}
reviewed_body()
{
	int_begin
	int_who user
	att_new r sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); echo x >f$i
	    done; echo up; while read x; do echo "got $x"; done'
	att_at a sbxctl attach "$sid" <<-'EOT'
		expect up
		touch a.up
		await reviewed
		send end\n
		expect got end
		send \x04
		end
	EOT
	int_wait_file a.up
	(for i in 1 2 3 4 5 6; do
		sbxctl changes "$sid" >changes || exit 1
	done) &
	for i in $(seq 30); do
		atf_check -o inline:"$i\n" sbxctl exec "$sid" echo "$i"
	done
	wait $! || atf_fail "changes"
	atf_check -o match:'A  f3000' cat changes
	touch reviewed
	att_wait a
	atf_check_equal 0 "$status"
	att_end
	int_end
}

atf_test_case refused
refused_head()
{
	atf_set descr "every refusal is one line"
	atf_set require.user root
}
# at_refused STATUS TEXT COMMAND...: at a terminal, which attach wants.
at_refused()
{
	want=$1 text=$2
	shift 2
	att_one sh -c '"$@" 2>line' - "$@" <<-'EOT'
		end
	EOT
	if [ "$status" -ne "$want" ] || [ -s one.out ] ||
	    [ "$(wc -l <line)" -ne 1 ] || ! grep -q -F -e "$text" line; then
		cat one.out line >&2
		atf_fail "status $status, not one line with \"$text\": $*"
	fi
}
refused_body()
{
	int_begin
	int_who root
	int_live pipes cat
	piped=$sid
	att_new ended true
	int_wait sh -c "sbxctl ls | grep -q '^$sid .*ended'"
	int_refused 125 terminal sbxctl attach "$piped"
	at_refused 125 'has no terminal' sbxctl attach "$piped"
	at_refused 125 'has ended' sbxctl attach "$sid"
	at_refused 125 zzzz sbxctl attach zzzz
	at_refused 125 'no session' sh -c 'cd / && exec sbxctl attach'
	at_refused 125 'no such key' sbxctl attach --detach-keys F1 "$piped"
	at_refused 125 SBX_DETACH_KEYS env SBX_DETACH_KEYS=,, sbxctl attach \
	    "$piped"
	at_refused 2 'given twice' sbxctl attach --detach-keys a \
	    --detach-keys b "$piped"
	at_refused 2 'too many' sbxctl attach a b
	int_refused 125 'has ended' sbxctl exec "$sid" true
	int_refused 125 zzzz sbxctl exec zzzz true
	int_refused 2 'is missing' sbxctl exec "$piped"
	int_refused 2 'is missing' sbxctl exec "$piped" --
	int_refused 2 'is missing' sbxctl exec
	int_refused 125 'is empty' sbxctl exec "$piped" ''
	int_refused 2 '--env x: ' sbxctl exec --env x "$piped" true
	int_refused 125 LD_PRELOAD sbxctl exec --env LD_PRELOAD=x "$piped" true
	int_refused 2 --keep sbxctl exec --keep "$piped" true
	int_refused 127 nowhere sbxctl exec "$piped" nowhere
	int_refused 126 /etc/passwd sbxctl exec "$piped" /etc/passwd
	int_refused 127 /no/thing sbxctl exec "$piped" /no/thing
	cd "$P" || atf_fail cd
	int_refused 2 COMMAND sbxctl new
	int_refused 125 'is empty' sbxctl new ''
	int_refused 2 --raw sbxctl new --raw true
	int_refused 125 /nowhere sbxctl new --repo /nowhere true
	cd "$OLDPWD" || atf_fail cd
	# Something follows before the answer; it goes in the middle.
	for k in follow halfway; do
		atf_check -o ignore "$tools/client" "$SBX_STATE/sbxd.sock" \
		    $k "$piped"
	done
	atf_check -o inline:'still\n' sbxctl exec "$piped" echo still
	atf_check -o ignore sbxctl rm "$sid"
	exec 9>&-
	wait "$live"
	int_end
}

atf_init_test_cases()
{
	for c in detached shared asked sizes keys keys_flow stopped slow_other crowd homes \
	    early theirs given anew audited lost embedded reviewed refused; do
		atf_add_test_case "$c"
	done
}
