# The harness itself: what the others' tests rely on.

atf_test_case isolated
isolated_head()
{
	atf_set descr "own namespaces, lo up, fresh /run, state of one's own"
	atf_set require.user root
}
isolated_body()
{
	atf_check_equal yes "$SBX_ISOLATED"
	# pid 1 is isolate, and nothing of the machine's is to be seen.
	atf_check -o match:isolate cat /proc/1/comm
	set -- /proc/[0-9]*
	atf_check test "$#" -lt 10
	atf_check -o match:'LOOPBACK,UP' ip link show lo
	atf_check -o match:'^1$' sh -c 'ip -o link | wc -l'
	atf_check_equal "" "$(ls -A /run)"
	case $SBX_STATE in
	"$SBX_SCRATCH"/*) ;;
	*) atf_fail "SBX_STATE is $SBX_STATE" ;;
	esac
	atf_check test -z "$(ls -A "$SBX_SCRATCH")"
	atf_check -o match:'sbx-test' cat /proc/self/cgroup
}

atf_test_case cleaned cleanup
cleaned_head()
{
	atf_set descr "a mount, a daemon, a cgroup, a user end with their case"
	atf_set require.user root
}
cleaned_body()
{
	# The inner case is killed in the middle, as kyua does on a time-out.
	cat >inner <<'EOF'
#!/bin/sh
. "$SBX_SRC/regress/lib/test.sh"
atf_fail() { echo "$*" >&2; exit 1; }
sbx_user u
mkdir "$SBX_SCRATCH/m"
mount -t tmpfs x "$SBX_SCRATCH/m"
touch "$SBX_SCRATCH/immutable"
chattr +i "$SBX_SCRATCH/immutable" || :
setsid sleep 1000 &
c=$(findmnt -rno TARGET -t cgroup2 | head -n 1)
[ -z "$c" ] || mkdir "$c$(sed -n 's/^0:://p' /proc/self/cgroup)/inner"
echo "$SBX_SCRATCH $u $c$(sed -n 's/^0:://p' /proc/self/cgroup)" >"$1.new"
mv "$1.new" "$1"
exec sleep 1000
EOF
	chmod 755 inner
	env -u SBX_ISOLATED setsid "$SBX_TEST_ISOLATE" ./inner "$PWD/told" &
	n=0
	while [ ! -f told ]; do
		sleep 0.1
		n=$((n + 1))
		[ "$n" -lt 100 ] || atf_fail "the inner case does not run"
	done
	read -r scratch user cgroup <told
	atf_check -o ignore getent passwd "$user"
	kill -9 -- "-$!"
	n=0
	while [ -e "$scratch" ] || [ -e "$cgroup" ] ||
	    getent passwd "$user" >/dev/null; do
		sleep 0.1
		n=$((n + 1))
		[ "$n" -lt 100 ] ||
		    atf_fail "left: $(ls -d "$scratch" "$cgroup") $user?"
	done
	atf_check -s exit:1 -o empty pgrep -x sleep
}
cleaned_cleanup()
{
	:
}

atf_test_case clean_check
clean_check_head()
{
	atf_set descr "the check of leftovers sees a mount and a process"
	atf_set require.user root
}
clean_check_body()
{
	sbx_clean_mark
	sbx_clean_check
	sbx_clean_tenths=2
	sleep 100 &
	(sbx_clean_check) 2>err && atf_fail "a process was not seen"
	atf_check -o match:'sleep' cat err
	kill $!
	wait $! || :
	sbx_clean_tenths=''
	sbx_clean_check
	sbx_clean_tenths=2
	mkdir m && mount -t tmpfs x m
	(sbx_clean_check) 2>err && atf_fail "a mount was not seen"
	atf_check -o match:' /.*/m ' cat err
	umount m
	sbx_clean_tenths=''
	sbx_clean_check
}

atf_test_case users
users_head()
{
	atf_set descr "a user with a home of its own, files of its own"
	atf_set require.user root
}
users_body()
{
	sbx_user a
	sbx_user b
	atf_check -o inline:"$a\n" sbx-as "$a" id -un
	atf_check -o inline:"$b\n" sbx-as "$b" id -gn
	atf_check sbx-as "$a" touch "$a_home/f"
	atf_check -s exit:1 -e match:denied sbx-as "$b" touch "$a_home/g"
}

atf_test_case filesystems
filesystems_head()
{
	atf_set descr "fresh filesystems, with extended attributes and without"
	atf_set require.user root
}
filesystems_body()
{
	set_attr='import os, sys; os.setxattr(sys.argv[1], "trusted.t", b"1")'
	for t in tmpfs ext4 noxattr; do
		d=$SBX_SCRATCH/$t
		sbx_fresh_fs "$t" "$d"
		atf_check -o inline:"$d\n" findmnt -no TARGET -T "$d"
		atf_check touch "$d/file"
		case $t in
		noxattr) atf_check -s exit:1 -e match:'not supported' \
		    python3 -c "$set_attr" "$d/file" ;;
		*) atf_check python3 -c "$set_attr" "$d/file" ;;
		esac
	done
}

atf_init_test_cases()
{
	atf_add_test_case isolated
	atf_add_test_case cleaned
	atf_add_test_case clean_check
	atf_add_test_case users
	atf_add_test_case filesystems
}
