# run without a terminal, against a scripted suite (fake.c, fake_run.c): what
# is asked for, and that bytes, signals and statuses come through.

fake_start() {
	FAKE=${1-clean} FAKE_PROJECT=$SBX_SCRATCH/project sbx_fake suite
	mkdir -p "$SBX_SCRATCH/project/sub"
	cd "$SBX_SCRATCH/project" || exit 1
}
# asked LINE: the suite was asked for this; not_asked PATTERN
asked() {
	grep -q -F -x -e "$1" "$SBX_STATE/asked" ||
	    atf_fail "not asked: $1; but: $(cat "$SBX_STATE/asked")"
}
not_asked() {
	! grep -q -e "$1" "$SBX_STATE/asked" ||
	    atf_fail "asked: $(grep -e "$1" "$SBX_STATE/asked")"
}
forget() {
	: >"$SBX_STATE/asked"
}

atf_test_case request
request_body() {
	fake_start
	mkdir "$SBX_SCRATCH/home"
	umask 027
	# shellcheck disable=SC2088 # sbxctl expands it
	env -i PATH="$PATH" SBX_STATE="$SBX_STATE" HOME="$SBX_SCRATCH/home" \
	    TERM=xterm LANG=C.UTF-8 API_KEY=k TMUX=x LD_LIBRARY_PATH=/x \
	    GIT_DIR=/g SSH_AUTH_SOCK=/s DISPLAY=:0 XDG_RUNTIME_DIR=/tmp/r \
	    OLDPWD=/o sbxctl run --name 'a name, with: signs' \
	    --hide '~/.ssh' --hide sub/../x --hide '/a//b/./c/' --ro '~' \
	    --hide "$(printf 'odd,:\n\377')" --ro '~root/y' \
	    --no-network --env NEW=1 --env=API_KEY=other --env EMPTY= \
	    -- out: --name || atf_fail "run"
	for l in 'argv out:' 'argv --name' "hide $SBX_SCRATCH/home/.ssh" \
	    "hide $SBX_SCRATCH/project/x" 'hide /a/b/c' \
	    "hide $SBX_SCRATCH/project/odd,:<U+000A><FF>" \
	    "ro $SBX_SCRATCH/home" "ro $SBX_SCRATCH/project/~root/y" \
	    "cwd $SBX_SCRATCH/project" "project $SBX_SCRATCH/project" \
	    "home $SBX_SCRATCH/home" 'user root' 'name a name, with: signs' \
	    'network none' 'tty 0 0 0' 'umask 027' \
	    "env HOME=$SBX_SCRATCH/home" 'env USER=root' 'env LOGNAME=root' \
	    'env TERM=xterm' 'env NEW=1' 'env API_KEY=other' 'env EMPTY=' \
	    "env PWD=$SBX_SCRATCH/project" \
	    'env XDG_RUNTIME_DIR=/run/user/0'; do
		asked "$l"
	done
	not_asked '^env \(TMUX\|LD_\|GIT_\|SSH_\|DISPLAY\|OLDPWD\|SBX_\|_=\)'
	not_asked '^as '
	[ "$(grep -c '^env API_KEY' "$SBX_STATE/asked")" = 1 ] ||
	    atf_fail "a variable twice"
	sbx_fake_stop
}

# Options end at the first word: the command's own are its own.
# A path where nothing is protects nothing now, and says so; one that is there,
# or that may not be looked at, does not.
atf_test_case missing
missing_body() {
	fake_start
	: >here
	mkdir sub/in
	cd sub || atf_fail cd
	atf_check -e inline:"sbxctl: --hide secret: nothing is at $PWD/secret now: nothing is hidden yet
sbxctl: --hide ../here/x: nothing is at $SBX_SCRATCH/project/here/x now: nothing is hidden yet
sbxctl: --ro ~/typo: nothing is at $HOME/typo now: it is not read-only
" -o ignore sbxctl run --repo .. --hide secret --hide ../here --hide ../here/x \
	    --ro in --ro '~/typo' -- true
	asked "hide $PWD/secret"
	asked "ro $PWD/in"
	# As whoever asks: nothing is told that could not be seen.
	sbx_user user
	# shellcheck disable=SC2154
	mkdir -m 0700 "$SBX_SCRATCH/closed"
	mkdir "$user_home/p"
	chown "$user:" "$user_home/p"
	chmod 755 "$SBX_STATE"
	chmod 666 "$SBX_STATE/sbxd.sock"
	cd "$user_home/p" || atf_fail cd
	atf_check -o ignore -e empty sbx-as "$user" env SBX_STATE="$SBX_STATE" \
	    HOME="$user_home" sbxctl run --hide "$SBX_SCRATCH/closed/no" -- true
	sbx_fake_stop
}

atf_test_case words
words_body() {
	fake_start
	atf_check sbxctl run exit:0 --keep -x --
	asked 'argv --keep'
	asked 'argv -x'
	asked 'argv --'
	sbx_fake_stop
}

atf_test_case project
project_body() {
	fake_start
	p=$SBX_SCRATCH/project
	mkdir -p "$SBX_SCRATCH/git/.git" "$SBX_SCRATCH/git/a/b" \
	    "$SBX_SCRATCH/tree/a"
	echo 'gitdir: /x' >"$SBX_SCRATCH/tree/.git"
	ln -s "$SBX_SCRATCH/git/a" "$SBX_SCRATCH/link"
	for w in "$SBX_SCRATCH/git/a/b $SBX_SCRATCH/git" \
	    "$SBX_SCRATCH/tree/a $SBX_SCRATCH/tree" \
	    "$SBX_SCRATCH/link/b $SBX_SCRATCH/git" "$p/sub $p/sub"; do
		forget
		cd "${w% *}" || exit 1
		atf_check sbxctl run exit:0
		asked "project ${w#* }"
	done
	asked "cwd $p/sub"
	forget
	atf_check sbxctl run --repo "$SBX_SCRATCH/link" exit:0
	asked "project $SBX_SCRATCH/git/a"
	asked "cwd $SBX_SCRATCH/git/a"
	forget
	cd "$SBX_SCRATCH/git/a/b" || exit 1
	atf_check sbxctl run --repo .. exit:0
	asked "project $SBX_SCRATCH/git/a"
	asked "cwd $SBX_SCRATCH/git/a/b"
	sbx_fake_stop
}

# refused PATTERN WORD...: 125, one line, and the suite is asked for nothing.
refused() {
	want=$1
	shift
	forget
	atf_check -s exit:125 -o empty -e save:err sbxctl run "$@"
	[ "$(wc -l <err)" -eq 1 ] || atf_fail "$*: not one line: $(cat err)"
	grep -q -e "^sbxctl: $want" err || atf_fail "$*: $(cat err)"
	not_asked '^NEW'
}

atf_test_case refusals
refusals_body() {
	fake_start
	sbx_user user
	long=$(printf '%04096d' 0)
	touch file
	refused '--repo /no/such: No such file' --repo /no/such true
	refused '--repo : an empty path\|--repo: an empty path' --repo '' true
	refused 'file: not a folder' --repo file true
	refused '/: the whole machine' --repo / true
	refused '/proc: nothing below /proc' --repo /proc true
	refused '/proc/self: nothing below /proc' --repo /proc/self true
	refused '/sys/kernel: nothing below /sys' --repo /sys/kernel true
	refused '/dev/shm: nothing below /dev' --repo /dev/shm true
	refused "--repo $long: File name too long" --repo "$long" true
	# shellcheck disable=SC2154
	refused "$user_home: owned by $user, and .* as root: give --as $user\$" \
	    --repo "$user_home" true
	# shellcheck disable=SC2154
	refused ".*/project: owned by root, and .* as $user: give --as root" \
	    --as "$user" true
	refused '--as nosuchuser: there is no such user' --as nosuchuser true
	refused '--hide: an empty path' --hide '' true
	refused '--ro 0000.*File name too long: the limit is 4095' \
	    --ro "$long" true
	refused '--name "": a name is not empty' --name '' true
	refused '--name "-x": a name is not empty and does' --name=-x true
	refused '--name a<U+000A>b: a name has no control' \
	    --name "$(printf 'a\nb')" true
	refused '--name <FF>: not UTF-8' --name "$(printf '\377')" true
	refused '--name 000.*: longer than 128' --name "$long" true
	refused '--env LD_PRELOAD: this name never enters' \
	    --env LD_PRELOAD=/x true
	cd /
	refused '/: the whole machine' true
	mkdir "$SBX_SCRATCH/gone"
	cd "$SBX_SCRATCH/gone" || exit 1
	rmdir "$SBX_SCRATCH/gone"
	atf_check -s exit:125 -o empty -e match:'^sbxctl: the current folder' \
	    sbxctl run true
	# As an ordinary user.
	cd "$SBX_SCRATCH/project" || exit 1
	chmod 777 "$SBX_STATE" "$SBX_STATE/sbxd.sock"
	mkdir -m 700 "$SBX_SCRATCH/shut"
	for w in "--as root:--as root: only root" \
	    "--repo $SBX_SCRATCH/project:$SBX_SCRATCH/project: owned by root, not by you .$user.: only" \
	    "--repo $SBX_SCRATCH/shut/x:--repo $SBX_SCRATCH/shut/x: Permission denied"; do
		# shellcheck disable=SC2086
		atf_check -s exit:125 -o empty -e match:"^sbxctl: ${w#*:}" \
		    sbx-as "$user" env SBX_STATE="$SBX_STATE" \
		    sbxctl run ${w%%:*} true
	done
	sbx_fake_stop
}

# Whom the session runs as.
atf_test_case as
as_body() {
	fake_start
	sbx_user user
	# shellcheck disable=SC2154
	cd "$user_home" || exit 1
	# shellcheck disable=SC2154
	XDG_CONFIG_HOME=/root/x atf_check \
	    -e match:"^sbxctl: note: all of the home folder $user_home is the" \
	    sbxctl run --as "$user" exit:0
	asked "as $(id -u "$user") $(id -g "$user")"
	for g in $(id -G "$user"); do
		asked "group $g"
	done
	asked "user $user"
	asked "home $user_home"
	asked "env HOME=$user_home"
	asked "env USER=$user"
	not_asked '^env XDG_CONFIG_HOME'
	# A folder in it is not all of it.
	mkdir "$user_home/p"
	chown "$user:" "$user_home/p"
	cd "$user_home/p" || exit 1
	atf_check sbxctl run --as "$user" exit:0
	# HOME is somebody else's: the password entry's.
	forget
	chmod 777 "$SBX_STATE" "$SBX_STATE/sbxd.sock"
	HOME=/root atf_check sbx-as "$user" env HOME=/root \
	    SBX_STATE="$SBX_STATE" sbxctl run exit:0
	asked "home $user_home"
	asked "user $user"
	not_asked '^as '
	# Oneself is not another one, root is.
	forget
	for w in run new; do
		atf_check -o ignore sbx-as "$user" env SBX_STATE="$SBX_STATE" \
		    sbxctl $w --as "$user" exit:0
		asked "user $user"
		not_asked '^as '
		atf_check -s not-exit:0 -o empty \
		    -e match:'--as root: only root runs sessions as others' \
		    sbx-as "$user" env SBX_STATE="$SBX_STATE" sbxctl $w \
		    --as root exit:0
	done
	sbx_fake_stop
}

atf_test_case streams
streams_body() {
	fake_start
	printf 'a\0b\377\n\r' >in
	atf_check -e inline:'to err' -o file:in \
	    sh -c 'sbxctl run err:"to err" cat <in'
	# An input that is not there is an input at its end.
	atf_check -o inline:'out' sh -c 'sbxctl run cat out:out <&-'
	atf_check -o inline:'out' sh -c 'sbxctl run cat out:out </dev/null'
	# Nothing is filtered and nothing lost, both ways.
	atf_check -o save:out sbxctl run zeros:5000000
	[ "$(wc -c <out)" -eq 5000000 ] || atf_fail "$(wc -c <out) bytes"
	atf_check -o file:out sh -c 'sbxctl run cat <out'
	# A reader that is slower than the session.
	(sbxctl run zeros:3000000; echo $? >status) |
	    (sleep 1; cat >slow)
	[ "$(wc -c <slow)" -eq 3000000 ] || atf_fail "$(wc -c <slow) bytes"
	[ "$(cat status)" = 0 ] || atf_fail "status $(cat status)"
	printf 'a\033]52;c;x\007b' >seq
	atf_check -o file:seq sh -c 'sbxctl run cat <seq'
	# Two streams into one pipe, as they come.
	atf_check -o inline:'123' \
	    sh -c 'sbxctl run out:1 pause:100 err:2 pause:100 out:3 2>&1'
	sbx_fake_stop
}

# A file that output is appended to by several is appended to by us.
atf_test_case appending
appending_body() {
	fake_start
	{
		echo before
		sbxctl run 'out:inside\n' 'err:error\n'
		echo after
	} >file 2>&1
	printf 'before\ninside\nerror\nafter\n' >want
	sort want >want.s
	sort file >file.s
	cmp want.s file.s || atf_fail "$(cat file)"
	[ "$(tail -n 1 file)" = after ] || atf_fail "$(cat file)"
	# Our caller's pipe is not made non-blocking behind its back.
	mkfifo fifo
	cat fifo >/dev/null &
	exec 3>fifo
	sbxctl run out:x >&3
	flags=$(sed -n 's/^flags:[^0-9]*//p' "/proc/$$/fdinfo/3")
	exec 3>&-
	[ $((flags & 04000)) -eq 0 ] || atf_fail "O_NONBLOCK is set: $flags"
	wait $!
	sbx_fake_stop
}

atf_test_case statuses
statuses_body() {
	fake_start
	for s in 0 1 7 125 126 127 137 143 255; do
		atf_check -s exit:$s sbxctl run exit:$s
	done
	atf_check -s exit:127 -o empty \
	    -e inline:'sbxctl: missing: no such file\n' sbxctl run missing
	atf_check -s exit:126 -o empty \
	    -e inline:'sbxctl: notexec: permission\n' sbxctl run notexec
	atf_check -s exit:125 -o empty -e inline:'sbxctl: no overlay\n' \
	    sbxctl run refuse
	atf_check -s exit:125 -o inline:'x' \
	    -e match:'^sbxctl: .*the suite has ended' sbxctl run out:x die
	atf_check -s exit:125 -o empty -e match:'^sbxctl: .*broken answer: EX' \
	    sbxctl run wild
	# A session that never came to run is given up.
	asked 'discard 0'
	sbx_fake_stop
}

atf_test_case signals
signals_body() {
	fake_start
	for s in INT:2 TERM:15 HUP:1 QUIT:3 USR1:10 USR2:12; do
		rm -f out
		sbxctl run out:ready signal exit:9 </dev/null >out 2>err &
		pid=$!
		n=0
		until grep -qs ready out; do
			n=$((n + 1))
			[ $n -lt 100 ] || atf_fail "it does not run"
			sleep 0.05
		done
		kill -"${s%:*}" $pid
		wait $pid
		[ $? -eq 9 ] || atf_fail "$s: status"
		grep -q "signal ${s#*:}" out || atf_fail "$s: $(cat out)"
	done
	sbx_fake_stop
}

# alarmed HOW COMMAND: it begins with an alarm of its caller's in a second, or
# with alarms blocked.
alarmed='import os, signal, sys
if sys.argv[1] == "set":
	signal.alarm(1)
else:
	signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
os.execvp(sys.argv[2], sys.argv[2:])'

# until_asked LINE
until_asked() {
	n=0
	until grep -q -x "$1" "$SBX_STATE/asked"; do
		n=$((n + 1))
		[ $n -lt 200 ] || atf_fail "not asked: $1"
		sleep 0.05
	done
}

# An alarm is the caller's, whether the command runs or does not yet; and one
# that the caller has blocked keeps no interrupted start alive.
atf_test_case alarm
alarm_body() {
	fake_start
	atf_check -s signal:14 -o ignore -e empty \
	    python3 -c "$alarmed" set sbxctl run pause:5000 exit:9
	forget
	python3 -c "$alarmed" blocked sbxctl run held exit:9 </dev/null \
	    2>err &
	pid=$!
	until_asked 'argv held'
	kill -TERM $pid
	wait $pid
	[ $? -eq 143 ] || atf_fail "blocked: status"
	atf_check grep -q 'interrupted while it starts' err
	sbx_fake_stop
	sbx_fake mute
	atf_check -s signal:14 -o ignore -e empty \
	    python3 -c "$alarmed" set sbxctl run true
	sbx_fake_stop
}

# A start that is refused after a signal ends by the signal, and says why.
atf_test_case refused_late
refused_late_body() {
	fake_start
	sbxctl run held refuse </dev/null 2>err &
	pid=$!
	until_asked 'argv held'
	kill -TERM $pid
	touch "$SBX_STATE/go"
	wait $pid
	[ $? -eq 143 ] || atf_fail "status"
	grep -q '^sbxctl: no overlay$' err || atf_fail "$(cat err)"
	sbx_fake_stop
}

# Who reads our output goes away: the command is told, and we end.
atf_test_case broken_pipe
broken_pipe_body() {
	fake_start
	(sbxctl run out:x pause:300 zeros:2000000 signal exit:5 </dev/null
	    echo $? >status) | head -c 1 >/dev/null
	[ "$(cat status)" = 5 ] || atf_fail "status $(cat status)"
	asked 'SIGNAL 13'
	sbx_fake_stop
}

# What cannot be written is told, and ends the command like a reader that went
# away does, which is told by nothing but the status.
atf_test_case full
full_body() {
	fake_start
	atf_check -s exit:125 -e inline:'sbxctl: standard output: No space left on device: not all that the command wrote is there\n' \
	    sh -c 'sbxctl run out:x exit:0 >/dev/full'
	forget
	atf_check -s exit:125 -e match:'^sbxctl: standard output: No space left' \
	    sh -c 'sbxctl run out:x pause:300 zeros:2000000 signal exit:141 >/dev/full'
	asked 'SIGNAL 13'
	# Nobody can be told.
	atf_check -s exit:125 -o inline:'x' \
	    sh -c 'sbxctl run out:x err:y exit:0 2>/dev/full'
	atf_check -o inline:'x' -e inline:'y' sbxctl run out:x err:y exit:0
	sbx_fake_stop
}

# Without a terminal nothing is decided: what has changed is kept, with a
# line; where nothing has, the session is removed.
atf_test_case after
after_body() {
	fake_start clean
	atf_check -o empty -e empty sbxctl run exit:0
	asked WAIT
	asked REMOVE
	asked 'discard 0'
	not_asked '^CHANGES'
	forget
	atf_check -o empty -e match:'^sbxctl: session aaaabbbbcccc is kept' \
	    sbxctl run --keep exit:0
	not_asked '^REMOVE'
	sbx_fake_stop
	fake_start changes
	atf_check -s exit:3 -o empty \
	    -e inline:'sbxctl: session aaaabbbbcccc is kept: 6 files changed, 3 insertions(+), 2 deletions(-), and 2 that do not land: "sbxctl changes aaaabbbbcccc" lists all, "sbxctl diff aaaabbbbcccc" shows it, then apply, discard or rm\n' \
	    sbxctl run exit:3
	not_asked '^discard 1'
	not_asked '^APPLY'
	not_asked '^DISCARD'
	sbx_fake_stop
}

atf_init_test_cases() {
	atf_add_test_case request
	atf_add_test_case missing
	atf_add_test_case words
	atf_add_test_case project
	atf_add_test_case refusals
	atf_add_test_case as
	atf_add_test_case streams
	atf_add_test_case appending
	atf_add_test_case statuses
	atf_add_test_case signals
	atf_add_test_case alarm
	atf_add_test_case refused_late
	atf_add_test_case broken_pipe
	atf_add_test_case full
	atf_add_test_case after
}
