# What is tried from inside of a session, and what of it comes through.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

atf_test_case calls
calls_head()
{
	atf_set descr "forbidden system calls are EPERM, of sessions with and \
without a network, root's and a user's"
	atf_set require.user root
}
calls_one()
{
	for net in '' --no-network; do
		# shellcheck disable=SC2086 # an option or none
		run $net -- "$tools/inside" forbidden >out 2>err ||
		    atf_fail "$(cat err)"
		atf_check test "$(wc -l <out)" -gt 100
		# clone3 is ENOSYS, so that programs go back to clone.
		atf_check -s exit:1 -o empty grep -vE \
		    ' EPERM$|^clone3 ENOSYS$' out
		for c in unshare setns clone+user clone+mnt mount open_tree \
		    fsopen bpf keyctl add_key io_uring_setup \
		    open_by_handle_at perf_event_open userfaultfd \
		    kexec_load socket-17 ioctl; do
			atf_check -o ignore grep -x "$c EPERM" out
		done
		atf_check -o match:'^x32 EPERM' run $net -- "$tools/inside" x32
		# A foreign architecture's: killed.
		atf_check -s exit:159 run $net -- "$tools/inside" foreign
		atf_check -o not-match:EPERM run $net -- "$tools/inside" \
		    allowed
	done
	atf_check -s not-exit:0 -o ignore -e ignore run -- unshare -r true
	# Nothing is gained by a set-id program.
	atf_check -o inline:'0000000000000000\n' run -- sh -c \
	    'for s in su sudo passwd newgrp; do command -v $s; done >/dev/null
	    sed -n "s/^CapPrm:[[:space:]]*//p" /proc/self/status'
	cp "$(command -v id)" "$P/suid-id"
	chown root: "$P/suid-id"
	chmod 4755 "$P/suid-id"
	atf_check -o inline:"$(stat -c %u "$P")\n" run -- ./suid-id -u
	rm "$P/suid-id"
}
calls_body()
{
	int_begin
	int_each calls_one
	int_end
}

atf_test_case raw
raw_head()
{
	atf_set descr "A12: no raw call reaches the real files"
	atf_set require.user root
}
raw_one()
{
	mkdir "$P/raw"
	for i in $(seq 20); do
		printf 'original %s\n' "$i" >"$P/raw/f$i"
	done
	chown -R --reference="$P" "$P/raw"
	[ -e /tmp/canary ] || : >/tmp/canary
	echo canary >/tmp/canary
	chmod 666 /tmp/canary
	before=$(sbx_tree "$P")
	run --keep -- "$tools/raw" raw >out 2>err || atf_fail "$(cat out err)"
	cat out
	int_kept err
	canary=$(cat /tmp/canary)
	rm /tmp/canary
	atf_check_equal canary "$canary"
	int_same "$before" "$(sbx_tree "$P")" "a real file was written"
	# It did write, in its layer.
	for c in openat2+O_TRUNC pwrite64 copy_file_range mmap renameat2 \
	    exchange linkat unlinkat; do
		atf_check -o ignore grep -x "$c done" out
	done
	for c in open_by_handle_at io_uring_setup chroot mknodat+dev trusted \
	    capability; do
		atf_check -o ignore grep -x "$c EPERM" out
	done
	atf_check -o not-match:'^inherited' cat out
	atf_check -o not-match:'/tmp/canary done' cat out
	atf_check -o match:'M  raw/f1' -o match:'M  raw/f4' \
	    -o match:'D  raw/f12' sbxctl changes "$sid"
	atf_check -o ignore sbxctl apply --yes "$sid"
	# No set-id bit, attribute or device came along.
	atf_check -o empty find "$P/raw" -perm /6000 -o ! -type f ! -type d \
	    ! -type l
	atf_check_equal "" "$(attributes "$P/raw")"
	atf_check -o ignore sbxctl rm --discard "$sid"
}
attributes()
{
	python3 -c '
import os, sys
for d, _, fs in os.walk(sys.argv[1]):
    for f in fs:
        p = os.path.join(d, f)
        for x in os.listxattr(p, follow_symlinks=False):
            print(p, x)' "$1"
}
raw_body()
{
	int_begin
	int_each raw_one
	int_end
}

atf_test_case sockets
sockets_head()
{
	atf_set descr "D64, D65: what listens outside is not reached"
	atf_set require.user root
}
sockets_one()
{
	uid=$(stat -c %u "$P")
	# The current folder is kyua's, below /tmp.
	t=$(mktemp -d /tmp/sbxt.XXXXXX)
	mkdir -p "/run/user/$uid" "$t/tmux-$uid" "$t/.X11-unix" /run/dbus
	chmod 755 "$t"
	set -- /run/x.sock "$t/y.sock" "$P/z.sock" @w d:/run/log.sock \
	    "s:/run/seq.sock" "d:@dgram" "s:@seq" "/run/user/$uid/bus" \
	    "$t/tmux-$uid/default" "$t/.X11-unix/X0" @/tmp/.X11-unix/X0 \
	    "$who_home/agent.sock" /run/dbus/system_bus_socket \
	    "$SBX_SCRATCH/v.sock" "d:$P/dgram.sock"
	mkfifo listen.in
	sock listen "$@" <listen.in >listen.out &
	listener=$!
	exec 8>listen.in
	int_wait_file listen.out listening
	# As a check of the check: from outside all are reached.
	sock reach "$@" >out
	atf_check -s exit:1 -o empty grep -v ' reached$' out
	n=$(wc -l <out)
	int_wait sh -c "test \$(grep -c ^reached listen.out) -eq $n"
	for net in '' --no-network; do
		# shellcheck disable=SC2086 # an option or none
		SSH_AUTH_SOCK=$who_home/agent.sock run $net -- sh -c \
		    '"$0" reach "$@"; cd /run 2>/dev/null
		    "$0" reach ./x.sock; cd "$OLDPWD" && "$0" reach z.sock
		    cp -a z.sock z2 2>/dev/null; mv z.sock z3 2>/dev/null
		    "$0" reach z2 z3; ln z3 z4 2>/dev/null; "$0" reach z4
		    echo ${SSH_AUTH_SOCK-none}' "$tools/sock" "$@" >out 2>err
		cat out
		atf_check -o not-match:' reached' -o match:'^none$' cat out
	done
	atf_check_equal "$n" "$(grep -c ^reached listen.out)"
	# Between processes of one session all of it works.
	run -- sh -c 'mkfifo i; "$0" listen "$@" <i >o & exec 3>i
	    while ! grep -q listening o; do sleep 0.05; done
	    "$0" reach "$@"; exec 3>&-; wait; rm i o s' "$tools/sock" \
	    "$P/s" @in /tmp/t >out 2>err
	atf_check_equal 3 "$(grep -c ' reached$' out)"
	exec 8>&-
	wait "$listener" || :
	rm -f listen.in /run/*.sock "$SBX_SCRATCH/v.sock"
	rm -rf "/run/user" "$t" /run/dbus "$P"/*.sock
	for sid in $(sbxctl ls | awk 'NR > 1 { print $1 }'); do
		atf_check -o ignore sbxctl rm --discard "$sid"
	done
}
sockets_body()
{
	int_begin
	int_each sockets_one
	int_end
}

atf_test_case fifos
fifos_head()
{
	atf_set descr "a FIFO of the host's carries nothing out or in"
	atf_set require.user root
}
fifos_one()
{
	mkfifo "$P/fifo" "$SBX_SCRATCH/fifo"
	chmod 666 "$P/fifo" "$SBX_SCRATCH/fifo"
	chown "$who_user:" "$P/fifo"
	for f in "$P/fifo" "$SBX_SCRATCH/fifo"; do
		timeout 6 cat "$f" >got &
		reader=$!
		run -- sh -c "test -p '$f' && echo there
		    timeout 2 sh -c \"echo evil >'$f'\"" >out 2>err || :
		atf_check -o inline:'there\n' cat out
		run --ro "$f" -- sh -c "test -p '$f' && echo there
		    timeout 1 sh -c \"echo evil >'$f'\"" >out 2>err || :
		atf_check -o inline:'there\n' cat out
		# Let the reader go, who is still waiting.
		echo bye >"$f"
		wait "$reader" || :
		atf_check -o inline:'bye\n' cat got
	done
}
fifos_body()
{
	int_begin
	int_users fifos_one
	int_end
}

atf_test_case kernel
kernel_head()
{
	atf_set descr "D72: of /proc and /sys what tells or changes the \
machine is covered or read-only"
	atf_set require.user root
}
kernel_one()
{
	run -- sh -c '
		for f in sysrq-trigger kcore kallsyms keys key-users timer_list \
		    latency_stats sched_debug slabinfo vmallocinfo kpagecount \
		    kpageflags kpagecgroup pagetypeinfo iomem kmsg; do
			test -e /proc/$f || continue
			n=$(head -c 4096 /proc/$f 2>/dev/null | wc -c)
			echo "read $f $n"
			(echo h >/proc/$f) 2>/dev/null && echo "wrote $f"
		done
		for f in sys/kernel/core_pattern sys/kernel/hostname \
		    sys/vm/drop_caches sys/net/ipv4/ip_forward irq/0 \
		    sys/kernel/modprobe sys/fs/file-max self/oom_score_adj.no \
		    sys/user/max_user_namespaces; do
			test -e /proc/$f || continue
			(echo 1 >/proc/$f) 2>/dev/null && echo "wrote $f"
		done
		for f in firmware kernel/debug kernel/tracing kernel/security \
		    fs/cgroup; do
			test -d /sys/$f || continue
			echo "entries $f $(ls -A /sys/$f 2>/dev/null | wc -l)"
		done
		# Of the machine, and one for all mounts of /proc: its mode.
		for f in /proc/consoles /proc/meminfo /proc/net/dev \
		    /proc/self/net/unix /proc/sysvipc /proc/1/net/dev; do
			chmod "$(stat -c %a $f)" $f 2>/dev/null &&
			    echo "wrote mode of $f"
		done
		find /sys /proc/sys /proc/irq /proc/bus /proc/fs \
		    /proc/self/net/ /proc/sysvipc -maxdepth 4 \
		    -type f -writable -exec sh -c \
		    "(: >>\$0) 2>/dev/null && echo wrote \$0" {} \; 2>/dev/null |
		    head -n 5
		cat /proc/sys/user/max_user_namespaces
		test -w /sys && echo writable; chmod 777 /proc 2>&1
		rm -rf /proc/sys/kernel 2>/dev/null; test -e /proc/sys/kernel &&
		echo there' >out 2>err
	cat out
	atf_check -o not-match:'^wrote' -o not-match:'^writable' \
	    -o match:'^0$' -o match:'^there$' cat out
	atf_check -s exit:1 -o empty grep -E \
	    '^read (sysrq-trigger|kcore|kallsyms|keys|timer_list|latency_stats|sched_debug|slabinfo|vmallocinfo|kpage.*|pagetypeinfo|iomem) [^0]' \
	    out
	atf_check -s exit:1 -o empty grep -E '^entries .* [^0]' out
	# Only its own processes are there.
	atf_check -o not-match:sbxd run -- sh -c 'cat /proc/[0-9]*/comm'
}
kernel_body()
{
	int_begin
	core=$(cat /proc/sys/kernel/core_pattern)
	int_each kernel_one
	atf_check_equal "$core" "$(cat /proc/sys/kernel/core_pattern)"
	int_end
}

atf_test_case devices
devices_head()
{
	atf_set descr "the host's device nodes keep mode, times and \
attributes, also from root who owns them"
	atf_set require.user root
}
devices_body()
{
	int_begin
	int_who root
	stat -c '%n %a %u:%g %Y %Z' /dev/null /dev/zero /dev/full /dev/random \
	    /dev/urandom /dev/tty >before
	run -- sh -c 'for d in null zero full random urandom tty; do
		chmod 667 /dev/$d && echo "chmod $d"
		touch -c -d 2001-01-01 /dev/$d && echo "touch $d"
		python3 -c "import os,sys
os.setxattr(sys.argv[1], \"trusted.sbx\", b\"x\")" /dev/$d &&
		    echo "attribute $d"
	    done
	    # They work as before.
	    echo x >/dev/null && : >>/dev/full && head -c 3 /dev/zero | wc -c
	    head -c 5 /dev/urandom | wc -c' >out 2>err || atf_fail "$(cat err)"
	stat -c '%n %a %u:%g %Y %Z' /dev/null /dev/zero /dev/full /dev/random \
	    /dev/urandom /dev/tty >after
	chmod 666 /dev/null /dev/zero /dev/full /dev/random /dev/urandom \
	    /dev/tty
	atf_check -o file:before cat after
	atf_check -o inline:'3\n5\n' cat out
	int_end
}

atf_test_case state
state_head()
{
	atf_set descr "the suite's state, socket and other sessions are not \
to be found inside"
	atf_set require.user root
}
state_one()
{
	int_keep sh -c 'echo other-session >f'
	run -- sh -c 'ls -A "$0"; cat "$0"/landd/key; ls "$0/s"; ls -A "$1"
	    grep -rl other-session "$1" /run /tmp 2>/dev/null
	    "$2" reach "$0/sbxd.sock"' "$SBX_STATE" "$(dirname "$SBX_STATE")" \
	    "$tools/sock" >out 2>err || :
	atf_check -o not-match:'sbxd$' -o not-match:'^state$' \
	    -o not-match:' reached' -o not-match:landd cat out
	# What a session makes at that name is its own affair.
	run -- sh -c "mkdir -p $SBX_STATE/s 2>/dev/null; echo x \
	    >$SBX_STATE/s/x; mv $SBX_SCRATCH/tools $SBX_SCRATCH/t2; ls -A \
	    $SBX_SCRATCH" >out 2>err || :
	atf_check test ! -e "$SBX_STATE/s/x"
	atf_check -o match:"^$sid " sbxctl ls
	for sid in $(sbxctl ls | awk 'NR > 1 { print $1 }'); do
		atf_check -o ignore sbxctl rm --discard "$sid"
	done
}
state_body()
{
	int_begin
	int_each state_one
	int_end
}

atf_init_test_cases()
{
	for c in calls raw sockets fifos kernel devices state; do
		atf_add_test_case "$c"
	done
}
