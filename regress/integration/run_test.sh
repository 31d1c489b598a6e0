# sbxctl run without a terminal: statuses, streams, environment, what is kept.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# head NAME TEXT: an ordinary case's head.
for int_case in 'status:the exit status is the command'\''s' \
    'streams:stdin, stdout, stderr pass every byte' \
    'large:more than any buffer, both ways at once' \
    'environment:built and sieved, --env wins' \
    'identity:uid, groups, home, folder, umask are the user'\''s' \
    'kept:changed is kept with one line, unchanged is removed' \
    'untouched:no byte outside changes, whatever is written inside' \
    'network:--no-network leaves loopback only' \
    'background:what the command leaves behind ends with it' \
    'signals:a signal to sbxctl ends the command and keeps' \
    'closed:a reader that goes away is told as at home' \
    'limits:a suite has not the limits of who starts it, or is not started' \
    'embedded:no suite runs: one is started and ends by itself' \
    'embedded_long:a suite of a state whose path is long' \
    'together:two at once on a state that is not there yet' \
    'client_user:an ordinary user as a client of a running suite'; do
	eval "${int_case%%:*}_head() {
		atf_set descr '$(printf %s "${int_case#*:}" |
		    sed "s/'/'\\\\''/g")'
		atf_set require.user root
		atf_set timeout 120
	}"
done

status_one()
{
	atf_check -s exit:0 run -- true
	atf_check -s exit:1 run -- false
	atf_check -s exit:77 run -- sh -c 'exit 77'
	atf_check -s exit:255 run -- sh -c 'exit 255'
	# By a signal, each as a shell would tell it; no core is told.
	for s in 1 2 3 6 9 13 15; do
		atf_check -s exit:$((128 + s)) run -- sh -c "kill -$s \$\$"
	done
	# Not there; there and not executable; a folder; no interpreter.
	int_refused 127 nowhere-to-be-found run -- nowhere-to-be-found
	int_refused 127 /no/such/file run -- /no/such/file
	int_refused 126 a.txt run -- ./a.txt
	int_refused 126 src run -- ./src
	mkdir -p "$P/b"
	printf '#!/no/such/interpreter\n' >"$P/b/script"
	chmod 755 "$P/b/script"
	int_refused 126 script run -- ./b/script
	# Ours.
	[ -n "$AS" ] ||
	    int_refused 125 nobody-here run --as nobody-here -- true
	int_refused 2 --bogus run --bogus -- true
	int_refused 2 COMMAND run
	rm -r "$P/b"
}
status_body()
{
	int_begin
	int_each status_one
	int_state_check
	int_end
}

streams_one()
{
	head -c 100000 /dev/urandom >in
	atf_check -o file:in run -- cat <in
	atf_check -o empty -e file:in run -- sh -c 'cat >&2' <in
	# Each on its own, in its own order.
	atf_check -o inline:'one\ntwo\n' -e inline:'er\n' run -- \
	    sh -c 'echo one; echo er >&2; echo two'
	atf_check -o inline:'0\n' run -- sh -c 'wc -c' </dev/null
	# No terminal is made where there is none.
	atf_check -s exit:1 run -- sh -c 'test -t 0 || test -t 1 || test -t 2'
	# The end of input is told, and only then does it end.
	atf_check -o inline:'a\nb\n' run -- sort <<-'EOT'
		b
		a
	EOT
	# Descriptors of the caller's do not come along.
	exec 7<in
	atf_check -o inline:'0\n1\n2\n' run -- sh -c \
	    'for f in /proc/$$/fd/*; do [ ! -e "$f" ] || echo "${f##*/}"; done'
	exec 7<&-
}
streams_body()
{
	int_begin
	int_each streams_one
	int_end
}

large_body()
{
	int_begin
	int_who root
	head -c 20000000 /dev/urandom >in
	run -- cat <in >out 2>err
	atf_check cmp in out
	atf_check -o empty cat err
	# Nothing is lost that was written just before the end.
	for n in 1 2 3 4 5; do
		run -- sh -c 'head -c 300000 /dev/zero; head -c 70000 /dev/zero >&2
		    exit 3' >out 2>err && atf_fail "status"
		atf_check_equal 300000 "$(wc -c <out)"
		atf_check_equal 70000 "$(wc -c <err)"
	done
	int_end
}

environment_one()
{
	# D65, D68: what belongs to the owner's terminal, desktop, agents and
	# loader, and what does not.
	(
		cd "$P" || exit 1
		env SSH_AUTH_SOCK=/a SSH_AGENT_PID=1 GPG_AGENT_INFO=/g \
		    DBUS_SESSION_BUS_ADDRESS=unix:path=/b TMUX=/t,1,0 \
		    TMUX_PANE=%1 STY=x DISPLAY=:0 WAYLAND_DISPLAY=w \
		    XAUTHORITY=/x LISTEN_FDS=1 LISTEN_PID=2 \
		    NOTIFY_SOCKET=/n LD_LIBRARY_PATH=/l LD_BIND_NOW=1 \
		    GIT_DIR=/g GIT_INDEX_FILE=/i SBX_SECRET=1 \
		    ANTHROPIC_API_KEY=key COLORTERM=truecolor LANG=C.UTF-8 \
		    LC_ALL=C.UTF-8 TZ=UTC https_proxy=http://127.0.0.1:1 \
		    SSL_CERT_FILE=/c MINE='a b
c' sbxctl run $AS --repo "$P" --env K=V --env TZ=CET --env EMPTY= -- env -0
	) >env.out 2>env.err || atf_fail "$(cat env.err)"
	tr '\n\0' '|\n' <env.out | sort >env.lines
	for v in SSH_ GPG_ DBUS_ TMUX STY DISPLAY WAYLAND_ XAUTH LISTEN_ \
	    NOTIFY_ LD_ GIT_ SBX_STATE SBX_SECRET; do
		atf_check -s exit:1 -o empty grep "^$v" env.lines
	done
	for v in 'ANTHROPIC_API_KEY=key' COLORTERM=truecolor LANG=C.UTF-8 \
	    LC_ALL=C.UTF-8 TZ=CET https_proxy=http://127.0.0.1:1 \
	    SSL_CERT_FILE=/c 'MINE=a b|c' K=V EMPTY= "HOME=$who_home" \
	    "PWD=$P"; do
		atf_check -o ignore -e ignore grep -xF "$v" env.lines
	done
	atf_check -o ignore grep -xE 'SBX_SESSION=[a-z2-7]{12}' env.lines
	user=$(stat -c %U "$P")
	atf_check -o ignore grep -xF "USER=$user" env.lines
	atf_check -o ignore grep -xF "LOGNAME=$user" env.lines
	int_refused 2 NOEQUALS run --env NOEQUALS -- true
	int_refused 125 LD_PRELOAD run --env LD_PRELOAD=/x -- true
	# Names that only begin like those, and the same name twice.
	atf_check -o inline:'2 x\n' run --env A=1 --env A=2 --env LDX=x -- \
	    sh -c 'echo $A $LDX'
	environment_temporary
}
# A folder for temporary files that is not there inside is not named either.
environment_temporary()
{
	say='echo "${TMPDIR-}${TMP-}${TEMP-}"; rm "$(mktemp)"'
	mkdir -p /tmp/there /run/there
	for t in /tmp/there /run/there/ /tmp/../tmp//there/deep /dev/there; do
		atf_check -o inline:'\n' \
		    env TMPDIR="$t" TMP="$t" TEMP="$t" run -- sh -c "$say"
	done
	rmdir /tmp/there /run/there
	for t in /tmp /tmp/ /dev/shm /tmpdir "$who_home/tmp" "$P"; do
		atf_check -o inline:"$t$t\n" env -u TMPDIR TMP="$t" TEMP="$t" \
		    run -- sh -c "$say"
	done
	# Who names it all the same gets it.
	atf_check -o inline:'/tmp/there\n' env TMP=/tmp/there \
	    run --env TMP=/tmp/there -- sh -c 'echo "$TMP"'
}
environment_body()
{
	int_begin
	int_each environment_one
	# sbxctl inside says where it is.
	cp "$SBX_BUILDDIR/bin/sbxctl" "$tools"
	int_refused 1 'inside of session' run -- "$tools/sbxctl" ls
	int_end
}

identity_one()
{
	user=$(stat -c %U "$P")
	atf_check -o inline:"$(id "$user")\n" run -- id
	atf_check -o inline:"$P\n" run -- pwd
	atf_check -o inline:"$P/src\n" sh -c "cd $P/src &&
	    exec sbxctl run $AS --repo $P -- pwd"
	# The project is the nearest parent with .git, else the folder.
	atf_check -o inline:"$P/src\n" -e match:kept sh -c "cd $P/src &&
	    exec sbxctl run $AS --keep -- pwd"
	atf_check -o inline:'0022\n' run -- sh -c umask
	# What the caller has, whatever it is: 0 is one, too.
	for mask in 000 022 077; do
		atf_check -o inline:"0$mask\n" sh -c "umask $mask; cd $P &&
		    exec sbxctl run $AS -- sh -c umask"
	done
	# No capability, no way back to one.
	atf_check -o match:'CapEff:.0*$' -o match:'CapBnd:.0*$' \
	    -o match:'NoNewPrivs:.1$' run -- cat /proc/self/status
}
identity_body()
{
	int_begin
	int_who user
	sbx-groupadd "sbxg-${SBX_SCRATCH##*.}" "$int_user" ||
	    atf_fail "no second group"
	int_each identity_one
	# A client that says none has that of a login.
	int_who root
	sid=$(umask 077; client "$SBX_STATE/sbxd.sock" plain "$P") ||
	    atf_fail "NEW without a umask"
	atf_check -o match:'^[+]0022$' sbxctl diff "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	# One that calls itself root is shown as what its socket says.
	int_who user
	chmod 0666 "$SBX_STATE/sbxd.sock"
	sid=$(sbx-as "$int_user" env HOME="$int_user_home" client \
	    "$SBX_STATE/sbxd.sock" plain "$P") || atf_fail "NEW as a user"
	atf_check -o match:"^user      $int_user\$" sbxctl show "$sid"
	atf_check -o match:"^$sid .*  $int_user  " sbxctl ls
	atf_check -o ignore sbxctl rm --discard "$sid"
	for sid in $(sbxctl ls | awk 'NR > 1 { print $1 }'); do
		atf_check -o ignore sbxctl rm "$sid"
	done
	int_end
}

kept_one()
{
	run -- true 2>err || atf_fail "$(cat err)"
	atf_check -o empty cat err
	int_state_check
	run -- sh -c 'echo x >new' 2>err
	int_kept err
	atf_check -o match:'sbxctl diff' -o match:'1 file changed' cat err
	int_state_check "$sid"
	atf_check -o match:"A  new" sbxctl changes "$sid"
	# What is not to land is still somebody's work.
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_state_check
	run -- mkfifo f 2>err
	int_kept err
	atf_check -o ignore sbxctl rm --discard "$sid"
	# The same bytes again are no change, a touch is none.
	run -- sh -c 'cp a.txt b && mv b a.txt; touch a.txt' 2>err
	atf_check -o empty cat err
	int_state_check
	run --keep -- true 2>err
	int_kept err
	atf_check -o ignore sbxctl rm "$sid"
	# Outside of the project: real all the same, but nothing of it lands.
	run -- sh -c 'echo x >$HOME/outside; cat $HOME/outside' >out 2>err ||
	    atf_fail "$(cat err)"
	atf_check -o inline:'x\n' cat out
	atf_check test ! -e "$who_home/outside"
	for sid in $(sbxctl ls | awk 'NR > 1 { print $1 }'); do
		atf_check -o ignore sbxctl rm --discard "$sid"
	done
	# A failed command's changes are kept with its status.
	run -- sh -c 'echo x >new; exit 9' 2>err && atf_fail "status lost"
	int_kept err
	atf_check -o match:'ended 9' sbxctl show "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	# The suite's own refusals leave nothing.
	int_refused 127 nope run --keep -- nope
	int_state_check
}
kept_body()
{
	int_begin
	int_each kept_one
	int_end
}

# But for the files that another case's user may just be put into.
etc_tree()
{
	sbx_tree /etc | grep -vE \
	    '^\. |[ /](passwd|group|shadow|gshadow|subuid|subgid)([-.+ ]|$)'
}
untouched_one()
{
	mkdir "$who_home/d"
	echo secret >"$who_home/d/s"
	chown -R "$(stat -c %u "$P")" "$who_home/d"
	before=$(sbx_tree "$who_home")
	etc=$(etc_tree)
	run --keep -- sh -c 'exec 2>/dev/null
		echo x >>a.txt; rm Makefile; mkdir n; echo y >n/f
		mv src src2; ln -sf /etc/passwd link; chmod 700 .
		rm -rf ~/d; echo z >~/.profile; chmod 000 ~
		for f in /etc/passwd /etc/hostname /usr/bin/env /etc/shadow; do
			echo w >>$f; chmod 777 $f; rm -f $f
		done
		rm -rf .git /var/lib/dpkg/info /etc/cron.d
		echo q >/usr/local/new; echo q >/etc/new; true' \
	    >out 2>err || atf_fail "$(cat err)"
	int_kept err
	int_same "$before" "$(sbx_tree "$who_home")" "the home was touched"
	int_same "$etc" "$(etc_tree)" "/etc was touched"
	atf_check -s exit:1 grep -x w /etc/passwd
	atf_check test ! -e /usr/local/new
	atf_check -o ignore sbxctl rm --discard "$sid"
}
untouched_body()
{
	int_begin
	int_each untouched_one
	int_end
}

network_one()
{
	run --no-network -- ip -o link >out || atf_fail "ip"
	atf_check_equal 1 "$(wc -l <out)"
	atf_check -o match:'^1: lo: .*LOOPBACK,UP' cat out
	host=$(readlink /proc/self/ns/net)
	atf_check -o inline:"$host\n" run -- readlink /proc/self/ns/net
	atf_check -o not-match:"$host" run --no-network -- \
	    readlink /proc/self/ns/net
	# What listens outside is out of reach; what listens inside is not.
	atf_check -o inline:'refused\ninside\n' run --no-network -- python3 -c '
import socket
s = socket.socket()
s.settimeout(3)
try:
    s.connect(("127.0.0.1", 9))
    print("connected")
except OSError:
    print("refused")
l = socket.socket()
l.bind(("127.0.0.1", 0))
l.listen()
c = socket.create_connection(l.getsockname())
print("inside")'
}
network_body()
{
	int_begin
	int_users network_one
	int_end
}

background_one()
{
	start=$(date +%s)
	# D75: a grandchild that holds the pipes, in a session of its own.
	run -- sh -c 'setsid nohup sleep 4242 & (sleep 4243 & ) & sleep 4244 &
	    trap "" TERM HUP; echo said' >out 2>err </dev/null ||
	    atf_fail "$(cat err)"
	atf_check -o inline:'said\n' cat out
	# The least of what it would wait for is far more.
	[ $(($(date +%s) - start)) -le 60 ] || atf_fail "it was waited for"
	n=0
	while pgrep -f '^sleep 424[234]' >/dev/null; do
		n=$((n + 1))
		[ "$n" -lt 100 ] || atf_fail "$(pgrep -af '^sleep 424')"
		sleep 0.1
	done
}
background_body()
{
	int_begin
	int_each background_one
	int_end
}

signals_one()
{
	for s in TERM INT HUP; do
		int_live "by$s" sh -c 'echo x >f; exec sleep 1000'
		# The shell's child is the subshell that has become sbxctl.
		kill -$s "$live"
		status=0
		wait "$live" || status=$?
		exec 9>&-
		case $status in
		129 | 130 | 143) ;;
		*) atf_fail "SIG$s: status $status" ;;
		esac
		int_wait sh -c "sbxctl ls | grep -q '$sid .*ended'"
		atf_check -o match:'A  f' sbxctl changes "$sid"
	done
	# Killed: nothing decides, the session ends and is kept.
	int_live killed sh -c 'echo x >f; exec sleep 1000'
	kill -9 "$live"
	wait "$live" || :
	exec 9>&-
	int_wait sh -c "sbxctl ls | grep -q '$sid .*ended'"
	atf_check -o match:'A  f' sbxctl changes "$sid"
	int_wait sh -c '! pgrep -x sbx-init >/dev/null'
}
signals_body()
{
	int_begin
	int_users signals_one
	int_end
}

closed_body()
{
	int_begin
	int_who root
	# yes ends by SIGPIPE and not by our time-out.
	start=$(date +%s)
	{ run -- yes; echo "$?" >status; } 2>err | head -n 2 >out
	atf_check -o inline:'y\ny\n' cat out
	[ $(($(date +%s) - start)) -le 5 ] || atf_fail "it took too long"
	atf_check -o inline:'141\n' cat status
	# Nobody reads for a while: nothing grows, others go on.
	{ run -- yes | sleep 4; } 2>/dev/null &
	sleep 1.5
	atf_check -o inline:'others\n' run -- echo others
	for p in $(int_pids sbx-worker) $(int_pids sbxd) $(int_pids sbxctl); do
		kb=$(awk '/^VmRSS/ { print $2 }' "/proc/$p/status")
		[ "${kb:-0}" -lt 40000 ] || atf_fail "$p holds $kb KiB"
	done
	wait $! || :
	int_wait sh -c '! pgrep -x sbx-init >/dev/null'
	int_end
}

limits_body()
{
	int_tools
	int_who root
	int_clean_mark
	for l in -f -t; do
		# shellcheck disable=SC3045 # atf-sh has bash here
		(ulimit -S "$l" 8; run -- sh -c "ulimit $l") >out ||
		    atf_fail "ulimit $l"
		atf_check -o inline:'unlimited\n' cat out
		(ulimit "$l" 8; SBX_STATE=$SBX_SCRATCH/another int_refused \
		    125 "your limit of .*ulimit $l" run -- true)
		atf_check test ! -e "$SBX_SCRATCH/another"
		int_clean_check
	done
}

embedded_body()
{
	int_tools
	int_who root
	int_clean_mark
	atf_check -s exit:3 -o inline:'in\n' run -- sh -c 'echo in; exit 3'
	atf_check -o ignore pgrep -x sbxd
	atf_check test -S "$SBX_STATE/sbxd.sock"
	# Both of one build, with its commit where one is known.
	built=$(sbxctl version | sed -n '1s/.*(\(.*\)).*/ .\1./p')
	atf_check -o match:"^sbxd [0-9.-]*$built, .*at $SBX_STATE/sbxd.sock\$" \
	    sbxctl version
	# A second one is its client.
	pid=$(pgrep -x sbxd)
	used=$(date +%s%N)
	atf_check run -- true
	atf_check_equal "$pid" "$(pgrep -x sbxd)"
	# 2 s after the last use it is gone, and nothing of it.
	sleep 1
	pgrep -x sbxd >pids || [ $(($(date +%s%N) - used)) -ge 2000000000 ] ||
	    atf_fail "it did not wait 2 s"
	int_clean_check
	atf_check -s exit:1 -o empty pgrep -x sbxd
	# It lives as long as a session does, and its starter does not matter.
	int_live long sh -c 'echo x >f; read l; echo "got $l"'
	sleep 3
	atf_check -o match:"$sid.*running" sbxctl ls
	echo word >&9
	exec 9>&-
	wait "$live" || atf_fail "$(cat long.err)"
	atf_check -o inline:'got word\n' cat long.out
	# It comes back for who looks at what was kept.
	int_clean_check
	atf_check -o match:'A  f' sbxctl changes "$sid"
	atf_check -o match:'1 file landed' sbxctl apply --yes "$sid"
	atf_check -o inline:'x\n' cat "$P/f"
	atf_check -o match:removed sbxctl rm "$sid"
	int_clean_check
	int_state_check
	# A state that this user cannot have: one line.
	int_who user
	int_refused 125 'none cannot be made: Permission denied' sbx-as "$int_user" sh -c \
	    "cd $P && SBX_STATE=$SBX_SCRATCH/none sbxctl run -- true"
}

embedded_long_body()
{
	int_tools
	int_who root
	d=$SBX_SCRATCH
	for n in 1 2 3 4 5 6; do
		d=$d/a-folder-whose-name-is-a-long-one,with:special\"characters
		mkdir "$d"
	done
	int_clean_mark
	atf_check -o inline:'yes\n' -e match:kept env SBX_STATE="$d/state" \
	    sh -c "cd $P && sbxctl run -- sh -c 'echo yes; echo x >f'"
	atf_check -o match:'A  f' env SBX_STATE="$d/state" sh -c \
	    "cd $P && sbxctl changes"
	int_clean_check
}

together_body()
{
	int_tools
	int_who root
	int_clean_mark
	for n in 1 2 3; do
		SBX_STATE=$SBX_SCRATCH/state$n
		export SBX_STATE
		for i in 1 2 3 4; do
			(cd "$P" && exec sbxctl run -- sh -c "echo $i") \
			    >"out.$i" 2>"err.$i" &
			eval "pid$i=\$!"
		done
		for i in 1 2 3 4; do
			eval "wait \$pid$i" ||
			    atf_fail "round $n, $i: $(cat "err.$i")"
			atf_check -o inline:"$i\n" cat "out.$i"
			atf_check -o empty cat "err.$i"
		done
		# One a state; those of earlier rounds may have ended by now.
		[ "$(pgrep -xc sbxd)" -le "$n" ] ||
		    atf_fail "more suites than states: $(ps -eo args)"
	done
	int_clean_check
}

client_user_body()
{
	int_tools
	int_who user
	cat >conf.json <<-EOT
		{ "socketGroup": "$int_user" }
	EOT
	int_clean_mark
	int_suite -f "$PWD/conf.json"
	inside="cd $P && sbxctl"
	atf_check -o inline:"$(id -u "$int_user")\n" sbx-as "$int_user" sh -c \
	    "$inside run -- id -u"
	atf_check -e match:kept sbx-as "$int_user" sh -c \
	    "$inside run -- sh -c 'echo x >f'"
	atf_check -o match:'A  f' sbx-as "$int_user" sh -c "$inside changes"
	# As somebody else: root's only.
	int_refused 125 'only root' sbx-as "$int_user" sh -c \
	    "$inside run --as root -- true"
	# Root's sessions are not its, its are root's to see.
	mine=$P
	int_who root
	int_keep sh -c 'echo x >g'
	atf_check -o not-match:"$sid" sbx-as "$int_user" sbxctl ls
	int_refused 1 "$sid" sbx-as "$int_user" sbxctl changes "$sid"
	int_refused 1 "$sid" sbx-as "$int_user" sbxctl apply --yes "$sid"
	atf_check -o match:"$mine" -o match:"$P" sbxctl ls
	# Landed by the user itself, in files that are its own.
	atf_check -o match:'1 file landed' sbx-as "$int_user" sh -c \
	    "cd $mine && sbxctl apply --yes"
	atf_check -o inline:"$int_user\n" stat -c %U "$mine/f"
	# One who is not in the group is told.
	sbx_user other
	int_refused 1 'may not use' sbx-as "$other" sbxctl ls
	int_end
}

atf_init_test_cases()
{
	for int_case in status streams large environment identity kept \
	    untouched network background signals closed limits embedded \
	    embedded_long together client_user; do
		atf_add_test_case "$int_case"
	done
}
