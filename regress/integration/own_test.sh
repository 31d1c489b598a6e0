# An ordinary user's own suite: what is its alone. What is as in root's is
# tested there, by int_each.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# own_user: a user with a project $P, as whom sbxctl runs; nothing names a
# state, and no suite is there.
own_user()
{
	int_tools
	int_own_closed
	int_clean_mark
	sbx_user int_own
	export int_own int_own_home
	unset SBX_STATE
	PATH=$SBX_SCRATCH/ownbin:$PATH
	P=$int_own_home/p
	sbx_repo "$P" "$int_own"
	state=$int_own_home/.local/state/sbx
}

# No process of any suite's is there.
own_none()
{
	for int_t in sbxd spawn netd mountd landd sbx-init sbx-worker; do
		! pgrep -x "$int_t" >/dev/null || return 1
	done
}

# The embedded one ends by itself.
own_ended()
{
	int_wait sh -c "! pgrep -x sbxd >/dev/null"
	int_clean_check
}

atf_test_case embedded
embedded_head()
{
	atf_set descr "run, diff, apply without root, a suite, or a state: one \
is started in the home, hidden from the session; no devices, no subuids, no \
service manager"
	atf_set require.user root
	atf_set timeout 120
}
embedded_body()
{
	own_user
	for d in /dev/net/tun /dev/fuse; do
		[ ! -e "$d" ] || atf_check -s not-exit:0 -e match:denied \
		    sbx-own sh -c ": <>$d"
	done
	atf_check -s exit:1 grep -qs "^$int_own:" /etc/subuid /etc/subgid
	atf_check test ! -e /run/systemd
	before=$(int_bytes "$P")
	run --keep -- sh -ec 'echo in >>a.txt; rm src/main.c; echo n >new
	    mkdir -p ~/made; echo h >~/made/h; ls -A ~/.local/state
	    test ! -e ~/.local/state/sbx; id -u; id -g' >out 2>err ||
	    atf_fail "$(cat out err)"
	int_kept err
	atf_check -o inline:"$(id -u "$int_own")\n$(id -g "$int_own")\n" \
	    cat out
	int_same "$before" "$(int_bytes "$P")" "the project was written to"
	atf_check test ! -e "$int_own_home/made" -a -S "$state/sbxd.sock"
	atf_check_equal "700 $int_own" "$(stat -c '%a %U' "$state")"
	atf_check -o match:'M  a.txt' -o match:'A  new' \
	    -o match:'D  src/main.c' sbxctl changes "$sid"
	atf_check -o match:'^\+in$' sbxctl diff "$sid"
	atf_check -o match:'3 files landed' sbxctl apply --yes "$sid"
	atf_check -o match:'^in$' cat "$P/a.txt"
	atf_check test ! -e "$P/src/main.c" -a -f "$P/new"
	atf_check_equal "$int_own" "$(stat -c %U "$P/new")"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	own_ended
}

# own_begin: a user's suite that is there, and nobody else's.
own_begin()
{
	int_begin
	sbx_suite_stop
	int_who own
}
own_end()
{
	int_own_stop
	int_clean_check
}

atf_test_case clients
clients_head()
{
	atf_set descr "who may use it: the user, from outside, and nobody else"
	atf_set require.user root
	atf_set timeout 120
}
clients_body()
{
	own_begin
	atf_check -o ignore -e ignore sbxctl ls
	# Not even root's sbxctl: who listens there is not root.
	root=$SBX_BUILDDIR/bin/sbxctl
	int_refused 1 "listens there, and not root" "$root" ls
	# Others do not even get at the socket.
	sbx_user other
	int_refused 1 "may not use this suite" sbx-as "$other" "$root" ls
	# From another pid namespace, as a session's process is in one: with
	# everything else as it is for the user itself.
	int_refused 1 'inside of a session' sbx-own unshare -Upf "$root" ls
	int_refused 1 'inside of a session' sbx-own unshare -Upf \
	    python3 -c '
import ctypes, os, sys
ctypes.CDLL(None).prctl(4, 0)	# not to be looked at
os.execv(sys.argv[1], sys.argv[1:])' "$root" ls
	# Whose process has ended: it cannot be asked what it was.
	kill -STOP "$int_own_suite"
	(sleep 2; kill -CONT "$int_own_suite") &
	atf_check -o match:'auth.denied.*has ended' sbx-own python3 -c '
import os, socket, sys, time
s = socket.socket(socket.AF_UNIX)
r, w = os.pipe()
if os.fork() == 0:
    s.connect(sys.argv[1])
    os._exit(0)
os.wait()
s.settimeout(10)
print(s.recv(4096))' "$SBX_STATE/sbxd.sock"
	own_end
}

atf_test_case refused
refused_head()
{
	atf_set descr "a suite that cannot be: one line, and nothing is left"
	atf_set require.user root
}
# without_namespaces COMMAND...: where nobody can make a user namespace.
without_namespaces()
{
	python3 -c '
import ctypes, os, sys
up, down = os.pipe(), os.pipe()
pid = os.fork()
if pid == 0:
    assert ctypes.CDLL(None).unshare(0x10000000) == 0
    os.write(up[1], b"x")
    os.read(down[0], 1)
    open("/proc/sys/user/max_user_namespaces", "w").write("0")
    os.execvp(sys.argv[1], sys.argv[1:])
os.read(up[0], 1)
for ids in "uid_map", "gid_map":
    open("/proc/%d/%s" % (pid, ids), "w").write("0 0 4294967295")
os.write(down[1], b"x")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))' "$@"
}
refused_body()
{
	int_tools
	sbx_user int_own
	export int_own int_own_home
	sbxd=$SBX_BUILDDIR/sbin/sbxd
	SBX_STATE=$int_own_home/s
	# Whose it is to be is said, and is so.
	int_refused 1 'start it as root, or with --user' sbx-own "$sbxd" -d
	int_refused 1 'leave it out as root' "$sbxd" --user -d
	# A state of somebody else's, and one that others may write.
	mkdir "$SBX_STATE"
	int_refused 1 "it must be uid $(id -u "$int_own")'s" \
	    sbx-own "$sbxd" --user -d
	chown "$int_own:" "$SBX_STATE"
	chmod 777 "$SBX_STATE"
	int_refused 1 'writable to that one only' sbx-own "$sbxd" --user -d
	rmdir "$SBX_STATE"
	# No group but one's own is let in.
	mkdir -p "$int_own_home/.config/sbx"
	echo '{ "socketGroup": "daemon" }' \
	    >"$int_own_home/.config/sbx/sbxd.conf"
	chown -R "$int_own:" "$int_own_home/.config"
	sbx-own "$sbxd" --user -d >out 2>err </dev/null && got=0 || got=$?
	atf_check_equal 1 "$got"
	atf_check -o match:'is for that user only' grep fatal err
	rm -r "$int_own_home/.config"
	# Where no user namespace can be had.
	without_namespaces sbx-own "$sbxd" --user -d >out 2>err </dev/null &&
	    got=0 || got=$?
	atf_check_equal 1 "$got"
	atf_check -o match:'max_user_namespaces.*have root start sbxd' \
	    grep fatal err
	own_none
}

atf_test_case places
places_head()
{
	atf_set descr "XDG_STATE_HOME, XDG_RUNTIME_DIR and XDG_CONFIG_HOME say \
where; HOME may be a link; the state is hidden wherever it is"
	atf_set require.user root
	atf_set timeout 120
}
places_body()
{
	own_user
	real=$SBX_SCRATCH/real
	mv "$int_own_home" "$real"
	ln -s "$real" "$int_own_home"
	mkdir "$SBX_SCRATCH/xdg" "$SBX_SCRATCH/xdg/run"
	chown -R "$int_own:" "$SBX_SCRATCH/xdg"
	P=$real/p
	XDG_STATE_HOME=$SBX_SCRATCH/xdg/st XDG_RUNTIME_DIR=$SBX_SCRATCH/xdg/run
	XDG_CONFIG_HOME=$SBX_SCRATCH/xdg/cf
	export XDG_STATE_HOME XDG_RUNTIME_DIR XDG_CONFIG_HOME
	sbx-own "$SBX_BUILDDIR/sbin/sbxd" --user -d </dev/null >log 2>&1 &
	suite=$!
	int_wait grep -q 'ready on' log
	atf_check -o match:"ready on $XDG_RUNTIME_DIR/sbx/sbxd.sock" cat log
	# Where something is mounted beside it there is no mask, and the name
	# shows, but nothing else.
	# So is the socket's folder, whenever the socket in it was made.
	mkdir "$SBX_SCRATCH/xdg/run/m"
	mount -t tmpfs -o mode=755 t "$SBX_SCRATCH/xdg/run/m"
	int_keep sh -c 'echo x >f; ls -A "$0/xdg/st/sbx" 2>/dev/null || :
	    ls -A "$0/xdg/run/sbx" 2>/dev/null
	    sock reach "$0/xdg/run/sbx/sbxd.sock" 2>&1 | grep -w reached || :' \
	    "$SBX_SCRATCH"
	atf_check -o empty cat keep.out
	atf_check -o match:'"state": "hidden"' \
	    -o match:"\"of\": \"$XDG_RUNTIME_DIR/sbx\"" sbxctl \
	    explain --json "$XDG_RUNTIME_DIR/sbx/sbxd.sock" "$sid"
	umount "$SBX_SCRATCH/xdg/run/m" || atf_fail "something holds it"
	atf_check test -d "$SBX_SCRATCH/xdg/st/sbx/s/$sid" -a ! -e "$real/.local"
	atf_check -o match:'1 file landed' sbxctl apply --yes "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	kill "$suite"
	wait "$suite" || atf_fail "$(cat log)"
	# Its own configuration, which is none of the machine's; by a link, the
	# home's own name, the state is the same.
	unset XDG_STATE_HOME
	mkdir -p "$XDG_CONFIG_HOME/sbx"
	echo '{ "state": "'"$real/elsewhere"'" }' \
	    >"$XDG_CONFIG_HOME/sbx/sbxd.conf"
	chown -R "$int_own:" "$XDG_CONFIG_HOME"
	rm log
	sbx-own "$SBX_BUILDDIR/sbin/sbxd" --user -d </dev/null >log 2>&1 &
	suite=$!
	int_wait_file log 'ready on'
	atf_check test -d "$real/elsewhere/sbxd"
	kill "$suite"
	wait "$suite" || atf_fail "$(cat log)"
	rm "$XDG_CONFIG_HOME/sbx/sbxd.conf"
	unset XDG_RUNTIME_DIR XDG_CONFIG_HOME
	atf_check -o inline:"$P\n" sh -c "cd $int_own_home/p && sbxctl run -- pwd"
	own_ended
	atf_check test -d "$real/.local/state/sbx/sbxd"
}

atf_test_case tree
tree_head()
{
	atf_set descr "what differs in the tree: renaming a real folder, other \
users' files, folders that the user may write, the machine's sockets"
	atf_set require.user root
	atf_set timeout 120
}
tree_body()
{
	own_begin
	mkdir -p "$P/d/sub" "$SBX_SCRATCH/open" "$SBX_SCRATCH/theirs"
	echo 1 >"$P/d/sub/1"
	chown -R "$int_own:" "$P/d"
	# rename(2) of a real folder is EXDEV, with which mv copies.
	run --keep -- sh -ec 'test "$($0 rename d e)" = EXDEV
	    test -w "/run/user/$(id -u)"
	    mv d e; test ! -e d -a -f e/sub/1; mkdir n; $0 rename n n2; rmdir n2
	    $0 rename a.txt b.txt; test ! -e a.txt' "$tools/fs" >out 2>err ||
	    atf_fail "$(cat out err)"
	int_kept err
	atf_check -o match:'e/sub/1  from d/sub/1' \
	    -o match:'b.txt  from a.txt' sbxctl changes "$sid"
	atf_check -o match:landed sbxctl apply --yes "$sid"
	atf_check test -f "$P/e/sub/1" -a ! -e "$P/d" -a -f "$P/b.txt"
	atf_check -o ignore sbxctl rm --discard "$sid"
	# A file of another's in the project: read, not written.
	echo root >"$P/root"
	chmod 644 "$P/root"
	run --keep -- sh -c 'cat root; echo x >>root; rm -f root; ls -l root
	    stat -c %U / /etc /usr' >out 2>err || :
	atf_check -o match:'^root$' -o match:'^nobody$' \
	    -o not-match:"$int_own" cat out
	atf_check -o inline:'root\n' cat "$P/root"
	sid=$(sbxctl ls | awk 'END { print $1 }')
	atf_check -o match:'D  root' sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	# Where the user may write, writes stay in a layer; elsewhere there are
	# none, and what is nobody else's to read is not.
	top=/srv
	mount -t tmpfs -o mode=755 sbx-test "$top"
	mkdir -p "$top/mine" "$top/theirs" "$top/shut"
	echo r >"$top/mine/f"
	chown -R "$int_own:" "$top/mine"
	echo t >"$top/theirs/f"
	chmod 700 "$top/shut"
	mkfifo listen.in
	sock listen "$top/theirs/sock" <listen.in >listen.out &
	listener=$!
	exec 8>listen.in
	int_wait_file listen.out listening
	chmod 777 "$top/theirs/sock"
	run -- sh -c 'cat $0/mine/f $0/theirs/f; echo x >$0/mine/f && cat $0/mine/f
	    echo y >$0/theirs/n; ls $0/shut; $1 reach $0/theirs/sock
	    ls -ld $0/theirs' "$top" "$tools/sock" >out 2>err || :
	exec 8>&-
	wait "$listener" || :
	atf_check -o match:'^r$' -o match:'^t$' -o match:'^x$' \
	    -o match:'nobody' -o not-match:' reached' cat out
	atf_check -o match:'n: Read-only file system' \
	    -o match:'shut.*denied' cat err
	atf_check -o inline:'r\n' cat "$top/mine/f"
	# A hidden path there, and one that is not there yet.
	run --hide "$top/theirs" --hide "$top/new" -- sh -c \
	    'ls -A $0/theirs; ls -d $0/new; ls -A /' "$top" >out 2>err || :
	atf_check -o not-match:'^f$' -o not-match:'/new$' cat out
	run --keep --hide "/sbx-new-$$" --hide "$top/new" -- true 2>err
	atf_check -o match:"hide /sbx-new-$$: it is not there now" \
	    -o not-match:"note: hide $top/new" cat err
	umount "$top" || atf_fail "something holds it"
	own_end
}

atf_test_case bare
bare_head()
{
	atf_set descr "a folder that a filesystem is mounted in: sockets by \
whatever path they were bound, and what can be hidden there"
	atf_set require.user root
	atf_set timeout 120
}
bare_body()
{
	own_begin
	top=/srv
	mount -t tmpfs -o mode=755 sbx-test "$top"
	mkdir -p "$top/x/m" "$top/x/d"
	mount -t tmpfs sbx-test "$top/x/m"
	echo old >"$top/x/secret"
	echo in >"$top/x/d/f"
	ln -s x "$top/l"
	mkfifo listen.in
	sock listen "$top/x/s1" "$top/x/./s2" "$top/l/s3" "$top/l/../x//s4" \
	    <listen.in >listen.out &
	listener=$!
	exec 8>listen.in
	int_wait_file listen.out listening
	chmod 777 "$top/x/"s?
	run -- sh -c 'for n in 1 2 3 4; do "$1" reach "$0/x/s$n"; done; ls "$0/x"' \
	    "$top" "$tools/sock" >out 2>err 8>&- || :
	exec 8>&-
	wait "$listener" || :
	atf_check -o match:'^secret$' -o match:'^s4$' -o not-match:' reached' \
	    cat out
	atf_check -o not-match:'^reached' cat listen.out
	# Its owner saves it anew, and it is another file.
	int_refused 125 "hide $top/x/secret: $top/x/m is mounted in $top/x" \
	    run --hide "$top/x/secret" -- true
	int_refused 125 'hide a folder that it is in' \
	    run --hide "$top/l/secret" -- true
	run --hide "$top/x/d" --hide "$top/x/none" -- ls -A "$top/x/d" \
	    >out 2>err || atf_fail "$(cat err)"
	atf_check -o empty cat out
	atf_check -o match:"hide $top/x/d: another folder in its place" \
	    -o match:"hide $top/x/none: it is not there now" cat err
	umount "$top/x/m" "$top" || atf_fail "something holds it"
	own_end
}

atf_test_case ssh
ssh_head()
{
	atf_set descr "root's files that ssh takes from root or its user only \
are the user's inside: what ssh makes of them is the same"
	atf_set require.user root
	atf_set require.progs ssh
	atf_set timeout 120
}
# ssh_same STATUS: what -G says, and how it ends, inside and not.
ssh_same()
{
	got=0
	sbx-own ssh -G there >native 2>native.err || got=$?
	atf_check_equal "$1" "$got"
	got=0
	run -- ssh -G there >inside 2>all.err || got=$?
	atf_check_equal "$1" "$got"
	grep -v '^sbxctl: note: /etc: ' all.err >inside.err || :
	diff native inside || atf_fail "not the same"
	diff native.err inside.err || atf_fail "not the same errors"
}
# ssh_there DIR: its files are the machine's, mounted over that folder.
ssh_there()
{
	mount --bind "$1" "$2"
	ssh_same 0
	atf_check -o match:'^hostname far' -o match:'^port 2222' \
	    -o match:'^compression yes' -o match:'^user somebody' \
	    -o match:'^loglevel DEBUG' cat inside
}
ssh_body()
{
	own_begin
	cp -a /etc "$SBX_SCRATCH/etc"
	ssh=$SBX_SCRATCH/etc/ssh far=/srv/far
	conf=$ssh/ssh_config.d
	mount -t tmpfs -o mode=755 sbx-test /srv
	mkdir "$far"
	# By a link, by its path, in quotes, from one that is included.
	echo 'Compression yes' >"$conf/plain.conf"
	echo 'LogLevel DEBUG' >"$far/linked"
	ln -s "$far/linked" "$conf/link.conf"
	printf '%s\n' 'Host there' " InClude = $far/a* \"$far/b c\"" \
	    '#Include none' >"$conf/more.conf"
	echo 'HostName far.example.org' >"$far/a1"
	echo 'Port 2222' >"$far/b c"
	# One that is the user's.
	echo 'Include own' >"$far/a2"
	echo 'User somebody' >"$ssh/own"
	chown "$int_own:" "$ssh/own"
	# Where no overlay can lie on the folder, and where one does.
	ssh_there "$ssh" /etc/ssh
	umount /etc/ssh || atf_fail "something holds /etc/ssh"
	ssh_there "$SBX_SCRATCH/etc" /etc
	atf_check -o match:'^by  *a copy that is the user' \
	    sbxctl explain --repo "$P" /etc/ssh/ssh_config.d/plain.conf
	run --hide /etc/ssh/ssh_config.d/plain.conf -- sh -c 'ssh -G there |
	    grep ^compression; stat -Lc %U "$0" "$1" /etc/ssh/ssh_config
	    (echo x >"$1") 2>&1' "$far/b c" /etc/ssh/ssh_config.d/link.conf \
	    >inside 2>err || :
	atf_check -o inline:"compression no\n$int_own\n$int_own\nnobody\n" \
	    sed '$d' inside
	atf_check -o match:'Read-only file system' tail -n 1 inside
	# What ssh takes from nobody it does not take inside either.
	chmod 666 "$far/b c"
	ssh_same 255
	chmod 600 "$far/b c"
	ssh_same 255
	umount /etc /srv || atf_fail "something holds it"
	own_end
}

atf_test_case mounts
mounts_head()
{
	atf_set descr "filesystems below home and project: a home's folders \
have layers one by one, a project's has one of its own"
	atf_set require.user root
	atf_set timeout 120
}
mounts_body()
{
	own_begin
	mkdir -p "$who_home/mnt/in" "$who_home/docs" "$P/m"
	echo doc >"$who_home/docs/d"
	mount -t tmpfs -o mode=777 sbx-test "$who_home/mnt/in"
	echo t >"$who_home/mnt/in/t"
	chown -R "$int_own:" "$who_home/mnt" "$who_home/docs"
	run --keep -- sh -c 'cat ~/mnt/in/t ~/docs/d; echo x >>~/docs/d
	    echo x >>~/mnt/in/t; cat ~/docs/d ~/mnt/in/t
	    (echo x >~/new) 2>&1; echo y >y' >keep.out 2>keep.err
	sid=$(sbxctl ls | awk 'END { print $1 }')
	atf_check -o inline:'t\ndoc\ndoc\nx\nt\nx\n' sed '$d' keep.out
	atf_check -o match:"$who_home/new: Read-only file system" \
	    tail -n 1 keep.out
	atf_check -o inline:'doc\n' cat "$who_home/docs/d"
	atf_check -o inline:'t\n' cat "$who_home/mnt/in/t"
	atf_check -o match:"home $who_home: .*mnt/in is mounted in it" \
	    sbxctl show "$sid"
	atf_check -o match:'1 file landed' sbxctl apply --yes "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	umount "$who_home/mnt/in" || atf_fail "something holds it"
	mount -t tmpfs sbx-test "$P/m"
	# What was mounted after the suite started is in nobody's way there.
	chmod 777 "$P/m"
	echo m >"$P/m/f"
	chown "$int_own:" "$P/m/f"
	run --keep -- sh -c 'cat m/f; echo x >m/f; cat m/f; echo z >z' \
	    >keep.out 2>keep.err || atf_fail "$(cat keep.err)"
	sid=$(sbxctl ls | awk 'END { print $1 }')
	atf_check -o inline:'m\nx\n' cat keep.out
	atf_check -o inline:'m\n' cat "$P/m/f"
	atf_check -o match:'A  z' -o match:'m .*not landed' \
	    sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	umount "$P/m"
	int_state_check
	own_end
}

atf_test_case stopped
stopped_head()
{
	atf_set descr "a live session is reviewed while it is stopped by \
signals: what it had stopped itself stays so"
	atf_set require.user root
	atf_set timeout 120
}
# stopped_is NAME: the state of the process that is so named.
stopped_is()
{
	ps -o stat= -p "$(pgrep -of "^$1")" | cut -c1
}
# It goes on; one that was just continued may be about to.
sleeps()
{
	[ "$(stopped_is "$1")" = S ]
}
# The session has written a higher number than landed.
later_count()
{
	later=$(sbxctl diff "$sid" | sed -n 's/^+\([0-9][0-9]*\)$/\1/p')
	[ "${later:-0}" -gt "$n" ]
}
stopped_body()
{
	own_begin
	cat >"$tools/shut" <<-'EOT'
		# Not to be traced, and so not asked for its namespace either.
		import ctypes, os, time
		assert ctypes.CDLL(None).prctl(4, 0) == 0
		n = 0
		while True:
		    n += 1
		    with open("count.new", "w") as o:
		        o.write("%d\n" % n)
		    os.rename("count.new", "count")
		    time.sleep(0.01)
	EOT
	int_live stopped sh -c 'python3 "$0" & sleep 4321 & sleep 0.5; kill -STOP $!; sleep 4322 &
	    echo x >f; read l; kill -CONT %2; kill %1 %2 %3' "$tools/shut"
	int_wait pgrep -f '^sleep 4322'
	atf_check_equal T "$(stopped_is 'sleep 4321')"
	for i in 1 2 3; do
		atf_check -o match:'A  f' sbxctl changes "$sid"
		atf_check_equal T "$(stopped_is 'sleep 4321')"
		int_wait sleeps 'sleep 4322'
	done
	atf_check -o match:landed sbxctl apply --yes "$sid"
	int_wait sleeps 'sleep 4322'
	# All were stopped, and go on.
	atf_check -s exit:1 grep 'cannot be frozen' "$SBX_SCRATCH/sbxd.log"
	n=$(cat "$P/count")
	int_wait later_count
	atf_check -o match:'^warn.*cgroup.*none is this user' sbxctl doctor
	exec 9>&-
	wait "$live" || :
	# One that does not end is killed, with all that it has.
	int_live killed sh -c 'setsid sh -c "trap : TERM HUP; sleep 4323" &
	    setsid sleep 4323 & sleep 4323'
	kill -9 "$live"
	wait "$live" || :
	exec 9>&-
	int_wait sh -c '! pgrep -f "[s]leep 4323" >/dev/null'
	own_end
}

atf_test_case stopped_vfork
stopped_vfork_head()
{
	atf_set descr "who waits in vfork for a child that is stopped before \
it executes anything is as good as stopped, and goes on"
	atf_set require.user root
	atf_set timeout 120
}
stopped_vfork_body()
{
	own_begin
	cat >"$tools/vfork" <<-'EOT'
		# The child opens a FIFO before it executes anything.
		import os
		os.mkfifo("/tmp/fifo")
		open("f", "w").close()
		os.posix_spawn("/bin/echo", ["echo", "spawned"], os.environ,
		    file_actions=[(os.POSIX_SPAWN_OPEN, 0, "/tmp/fifo",
		    os.O_RDONLY, 0)])
		os.wait()
	EOT
	int_live vfork python3 "$tools/vfork"
	int_wait sh -c 'ps -o stat= -p "$(pgrep -of "^python3 $0")" |
	    grep -q D' "$tools/vfork"
	for i in 1 2 3; do
		atf_check -o match:'A  f' sbxctl changes "$sid"
		atf_check_equal D "$(stopped_is "python3 $tools/vfork")"
	done
	atf_check -s exit:1 grep 'cannot be frozen' "$SBX_SCRATCH/sbxd.log"
	# It may be ended with the session, which goes on by it.
	sbxctl exec "$sid" sh -c 'echo >/tmp/fifo' 2>err || :
	exec 9>&-
	wait "$live" || atf_fail "status $?"
	atf_check_equal spawned "$(cat vfork.out)"
	own_end
}

atf_test_case stopped_hidden
stopped_hidden_head()
{
	atf_set descr "where /proc hides a session's processes none is \
stopped, the review goes on without, and nothing lands while it runs"
	atf_set require.user root
	atf_set timeout 120
}
stopped_hidden_body()
{
	# Whose file can be read is not hidden from who has its uid.
	int_plain || atf_skip "sanitized programs show in /proc all the same"
	own_begin
	mount -o remount,hidepid=invisible /proc
	int_live hidden sh -c 'echo x >f; while read l; do echo "$l"; done'
	for i in 1 2; do
		atf_check -o match:'A  f' sbxctl changes "$sid"
		echo "$i" >&9
		int_wait grep "^$i\$" hidden.out
	done
	atf_check -o match:'frozen: its processes do not show in /proc' \
	    cat "$SBX_SCRATCH/sbxd.log"
	# What it writes meanwhile would leave its layer unseen.
	for what in apply discard; do
		atf_check -s exit:1 -e match:"cannot be frozen: .* \"sbxctl \
stop $sid\"" sbxctl "$what" --yes "$sid"
	done
	atf_check test ! -e "$P/f"
	exec 9>&-
	wait "$live" || atf_fail "status $?"
	mount -o remount,hidepid=off /proc
	own_end
}

atf_test_case stopped_ended
stopped_ended_head()
{
	atf_set descr "what a command left lands though its output is still \
being read"
	atf_set require.user root
	atf_set timeout 120
}
# unread_one KIB: a command that leaves so much, of which little is read. True
# if its session runs on without it.
unread_one()
{
	rm -f unread "$P/f"
	mkfifo unread
	run --name "of$1" --keep -- sh -c "echo x >f; seq 999999 |
	    head -c $1k" >unread 2>unread.err &
	reads=$!
	exec 7<unread
	n=0
	until pgrep -x sbx-spare >/dev/null && [ -n "$(int_state "of$1")" ]; do
		n=$((n + 1))
		[ "$n" -lt 100 ] || atf_fail "$(cat unread.err)"
		sleep 0.1
	done
	for n in 1 2 3 4 5; do
		[ "$(int_state "of$1")" = running ] || return 1
		# Of the session that is to come there is one as well.
		[ "$(pgrep -cx sbx-init)" -gt 1 ] || return 0
		sleep 0.1
	done
	return 1
}
unread_end()
{
	cat <&7 >all
	exec 7<&-
	wait "$reads" || atf_fail "$(cat unread.err)"
	atf_check_equal "$(($1 * 1024))" "$(wc -c <all)"
}
stopped_ended_body()
{
	own_begin
	# More than sbxctl takes, and no more than all that is between.
	for kib in 400 600 800 1000 1200 1400 1600 2000 2400; do
		if unread_one "$kib"; then
			break
		fi
		unread_end "$kib"
	done
	sid=$(sbxctl ls | awk -v n="of$kib" '$2 == n { print $1 }')
	atf_check -o match:'1 file landed' sbxctl apply --yes "$sid"
	atf_check_equal running "$(int_state "$sid")"
	atf_check_equal x "$(cat "$P/f")"
	unread_end "$kib"
	own_end
}

atf_test_case stopped_exec
stopped_exec_head()
{
	atf_set descr "exec waits while a landing has the session stopped"
	atf_set require.user root
	atf_set timeout 120
}
stopped_exec_body()
{
	own_begin
	int_live held sh -c 'echo x >f; echo up; read l || :'
	int_wait grep -q up held.out
	rm -f stall.out exec.out
	stall "$(pgrep -x spawn)" renameat2 1 >stall.out 2>stall.err &
	stall=$!
	int_wait_file stall.out ready
	sbxctl apply --yes "$sid" >apply.out 2>&1 9>&- &
	apply=$!
	int_wait_file stall.out stalled
	sbxctl exec "$sid" sh -c 'echo begun; echo y >g' >exec.out 9>&- &
	exec=$!
	# It would have begun by then; another request is answered.
	sleep 0.5
	atf_check_equal running "$(int_state held)"
	atf_check -o empty cat exec.out
	kill "$stall"
	wait "$apply" || atf_fail "$(cat apply.out)"
	wait "$exec" || atf_fail "exec: status $?"
	atf_check_equal begun "$(cat exec.out)"
	atf_check -o match:'A  g' sbxctl changes "$sid"
	exec 9>&-
	wait "$live" "$stall" || :
	own_end
}

# own_fds PID: how many descriptors it has.
own_fds()
{
	find "/proc/$1/fd" -mindepth 1 | wc -l
}
atf_test_case stopped_early
stopped_early_head()
{
	atf_set descr "an exec that was let through just before a landing is \
stopped by it as all others are"
	atf_set require.user root
	atf_set timeout 120
}
stopped_early_body()
{
	own_begin
	int_live held sh -c 'echo x >f; echo up; read l || :'
	int_wait grep -q up held.out
	init=$(int_init)
	worker=$(pgrep -f '^sbx-worker' | while read -r p; do
		[ "$(own_fds "$p")" -lt 10 ] || echo "$p"; done)
	rm -f stall.out
	stall "$(pgrep -x spawn)" renameat2 1 >stall.out 2>stall.err &
	stall=$!
	int_wait_file stall.out ready
	# It has the request, and does nothing with it yet.
	kill -STOP "$init"
	fds=$(own_fds "$worker")
	sbxctl exec "$sid" sh -c 'while :; do echo go; sleep 0.01; done' \
	    >exec.out 2>&1 9>&- &
	exec=$!
	int_wait sh -c "[ \$(find /proc/$worker/fd -mindepth 1 | wc -l) -gt $fds ]"
	sbxctl apply --yes "$sid" >apply.out 2>&1 9>&- &
	apply=$!
	int_wait grep -q "apply session=$sid .*result=begun" \
	    "$SBX_STATE/sbxd/audit"
	# Time for what does not wait for it.
	sleep 0.3
	kill -CONT "$init"
	int_wait_file stall.out stalled
	# D: it waits for a child that was stopped before it executed anything.
	for p in $(pgrep -P "$init"); do
		case $(awk '{ print $3 }' "/proc/$p/stat") in
		T | D) ;;
		*) atf_fail "$(ps -o pid,stat,args -p "$p") goes on" ;;
		esac
	done
	atf_check_equal 2 "$(pgrep -cP "$init")"
	kill "$stall"
	wait "$apply" || atf_fail "$(cat apply.out)"
	n=$(wc -l <exec.out)
	int_wait sh -c "[ \$(wc -l <exec.out) -gt $n ]"
	# Of one that does not say what it has begun nothing lands.
	kill -STOP "$init"
	int_refused 1 'does not say what it has begun, so nothing' \
	    sbxctl apply --yes "$sid"
	kill -CONT "$init"
	kill "$exec"
	exec 9>&-
	wait "$live" "$stall" "$exec" || :
	own_end
}

atf_test_case delegated
delegated_head()
{
	atf_set descr "a control group that is the user's, as a service \
manager gives one, is used, and nothing is left of it"
	atf_set require.user root
	atf_set timeout 120
}
delegated_body()
{
	own_user
	SBX_STATE=$int_own_home/state
	export SBX_STATE
	root=$(findmnt -rno TARGET -t cgroup2 | head -n 1)
	group=$root$(sed -n 's/^0:://p' /proc/self/cgroup)/user
	mkdir "$group" "$group/in"
	chown -R "$int_own:" "$group"
	sh -c 'echo $$ >"$0/in/cgroup.procs" && exec "$@"' "$group" \
	    sbx-own "$SBX_BUILDDIR/sbin/sbxd" --user -d </dev/null >log 2>&1 &
	suite=$!
	int_wait grep -q 'ready on' log
	atf_check -o match:'^ok .*cgroup .*frozen for reviews' sbxctl doctor
	int_live frozen sh -c 'while :; do echo x >>f; sleep 0.01; done'
	atf_check -o match:"^0::.*/user/in/.*/s[0-9]+\$" \
	    cat "/proc/$(pgrep -xo sbx-init)/cgroup"
	atf_check -o match:'A  f' sbxctl changes "$sid"
	atf_check -o match:landed sbxctl apply --yes "$sid"
	exec 9>&-
	kill "$live"
	wait "$live" || :
	kill "$suite"
	wait "$suite" || atf_fail "$(cat log)"
	int_wait rmdir "$group/in"
	rmdir "$group" || atf_fail "something is left in $group"
	int_clean_check
}

atf_test_case explained
explained_head()
{
	atf_set descr "explain says what a real open finds, with the user's \
own rights"
	atf_set require.user root
	atf_set timeout 120
}
explained_body()
{
	own_begin
	mkdir -p "$P/hid/n" "$P/fixed"
	echo SECRET >"$P/hid/n/s"
	echo f >"$P/fixed/f"
	chown -R "$int_own:" "$P"
	# Of others, and what the user has shut for itself.
	mkdir -m 700 "$P/theirs"
	install -m 600 /dev/null "$P/root"
	install -m 640 -g "$int_own" /dev/null "$P/group"
	install -m 000 -o "$int_own" /dev/null "$P/shut"
	install -m 0644 "$SBX_SRC/regress/integration/explain.py" "$tools"
	py="python3 $tools/explain.py"
	printf '%s\n' / /etc /etc/hosts /etc/shadow /usr/bin/env /root /root/x \
	    /home /nothing /var /var/tmp /var/lib/no /tmp /run /dev /dev/null \
	    /proc/1 /sys /sys/kernel /sys/kernel/debug /sys/firmware \
	    /sys/fs/cgroup /sys/fs/cgroup/cgroup.procs "$who_home" "$P" \
	    "$P/a.txt" "$P/src/main.c" "$P/link" "$P/hid" "$P/hid/n/s" \
	    "$P/fixed" "$P/fixed/f" "$P/fixed/no" "$P/root" "$P/group" \
	    "$P/shut" "$P/theirs" "$P/theirs/x" "$P/../nothing" "$SBX_STATE" \
	    "$SBX_STATE/s" "$SBX_SCRATCH" >paths
	$py ask would --repo "$P" --hide "$P/hid" --ro "$P/fixed" '' <paths ||
	    atf_fail "asking"
	run --keep --hide "$P/hid" --ro "$P/fixed" -- $py open /dev/stdout \
	    <paths >seen 2>err || atf_fail "$(cat err)"
	int_kept err
	SBX_FEW=40 $py compare would seen shown read-only hidden own missing \
	    denied covered || atf_fail "one that would be"
	# What it has made, removed, and written over.
	sbxctl resume "$sid" -- sh -ec 'mkdir nd; echo q >nd/q; rm a.txt
	    echo x >>src/main.c; rm -f root' </dev/null >out 2>err ||
	    atf_fail "$(cat err)"
	printf '%s\n' "$P/nd" "$P/nd/q" >>paths
	$py ask was "$sid" <paths || atf_fail "asking of $sid"
	sbxctl resume "$sid" -- $py open /dev/stdout <paths >seen 2>err ||
	    atf_fail "$(cat err)"
	SBX_FEW=40 $py compare was seen shown layer read-only hidden own \
	    missing denied covered || atf_fail "one that was"
	atf_check -o ignore sbxctl rm --discard "$sid"
	own_end
}

atf_test_case later
later_head()
{
	atf_set descr "new, exec, stop, resume, du, gc: as in root's suite"
	atf_set require.user root
	atf_set timeout 120
}
later_body()
{
	own_begin
	sid=$(cd "$P" && sbxctl new -- sh -c 'echo f >f; echo there
	    exec sleep 1000') || atf_fail "new: $?"
	atf_check -o inline:"$(id -u "$int_own")\n" sbxctl exec "$sid" id -u
	int_wait sh -c "sbxctl exec $sid test -f f"
	atf_check sbxctl exec "$sid" sh -c 'echo e >e'
	atf_check -o match:"ended 1(29|43): stopped by (.* \()?uid $who_peer\)?\$" \
	    sbxctl stop "$sid"
	atf_check -o match:'A  e' -o match:'A  f' sbxctl changes "$sid"
	atf_check -o inline:'f\ne\n' -e ignore sbxctl resume "$sid" -- \
	    cat f e </dev/null
	atf_check -o match:'  all$' -o match:"$P\$" sbxctl du "$sid"
	kept=$sid
	int_live deaf sh -c 'trap "" HUP TERM; echo up
	    while :; do sleep 0.1; done'
	int_wait_file deaf.out up
	atf_check -o match:"ended 137: killed by (.* \()?uid $who_peer\)?\$" \
	    sbxctl kill "$sid"
	wait "$live" || :
	exec 9>&-
	# The second has nothing that anybody could want.
	atf_check -o match:'^1 removed' sbxctl gc --older 0s
	atf_check -o match:'2 files landed' sbxctl apply --yes "$kept"
	atf_check -o match:'^1 removed' sbxctl gc --older 0s
	int_state_check
	own_end
}

atf_test_case lost
lost_head()
{
	atf_set descr "kill -9 of any of the suite's programs ends all of it; \
the next one has the sessions"
	atf_set require.user root
	atf_set timeout 180
}
lost_body()
{
	own_user
	for p in sbxd spawn netd mountd landd; do
		int_live "lost-$p" sh -c 'echo x >f; echo there; sleep 1000'
		int_wait_file "lost-$p.out" there
		kill -9 "$(pgrep -ox "$p")"
		wait "$live" || :
		exec 9>&-
		int_wait own_none
		int_clean_check
		atf_check -o match:'A  f' sbxctl changes "$sid"
		atf_check -o ignore sbxctl rm --discard "$sid"
	done
	own_ended
}

atf_init_test_cases()
{
	for c in embedded clients refused places tree bare ssh mounts stopped \
	    stopped_vfork stopped_hidden stopped_ended stopped_exec \
	    stopped_early delegated \
	    explained later lost; do
		atf_add_test_case "$c"
	done
}
