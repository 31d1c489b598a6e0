# README's other command on a bare Debian: it runs cases side by side itself.
# needs: network
# needs: the machine
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/build/bare.sh"

# How many cases make check has: all of them run there.
cases_count()
{
	kyua --config=none list --kyuafile="$SBX_BUILDDIR/regress/Kyuafile" |
	    grep -vc '_long_test:'
}

atf_test_case check
check_head()
{
	atf_set descr "make check on a bare Debian: every case, none skipped"
	atf_set require.user root
	atf_set require.progs mmdebstrap
	atf_set timeout 2400
}
check_body()
{
	root=$SBX_SCRATCH/root
	bare_root "$root"
	in_root "$root" "make check"
	atf_check -o match:'^installing: .*kyua.*libevent-dev' cat out
	# Cases that a sanitized build leaves out run in this plain one.
	n='[0-9]*'
	grep -q -e -fsanitize "$SBX_BUILDDIR/.flags" || n=$(cases_count)
	atf_check -o match:"^$n passed, 0 failed, 0 skipped\$" tail -n 1 out
	# Nothing of it is left, neither files nor users.
	atf_check_equal "" "$(ls -A "$root/var/tmp")"
	atf_check -s exit:1 grep sbxt- "$root/etc/passwd"
}

atf_init_test_cases()
{
	atf_add_test_case check
}
