# README's first command on a bare Debian with git, make and gcc.
# needs: network
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/build/bare.sh"

atf_test_case demo
demo_head()
{
	atf_set descr "make demo on a bare Debian, the checkout another uid's"
	atf_set require.user root
	atf_set require.progs mmdebstrap
	atf_set timeout 1200
}
demo_body()
{
	root=$SBX_SCRATCH/root
	bare_root "$root"
	in_root "$root" "make demo"
	cat out
	atf_check -o match:'^installing: .*libevent-dev' cat out
	atf_check -o match:'^== cleaned up' cat out
	# Nothing of it is left, and what was built builds without a warning.
	atf_check_equal "" "$(ls -A "$root/var/tmp")"
	in_root "$root" "make clean && make -j\$(nproc) WERROR=1 CFLAGS= && \
	    make install DESTDIR=/dest PREFIX=/usr && \
	    cd /var && SBX_STATE=/var/tmp/state \
	    /dest/usr/bin/sbxctl run -- sh -c 'echo inside; exit 7' || \
	    test \$? -eq 7"
	atf_check -o match:'^inside' cat out
	atf_check -o match:libexec/sbx/land find "$root/dest" -type f
	in_root "$root" "make uninstall DESTDIR=/dest PREFIX=/usr"
	atf_check -o empty find "$root/dest" -type f
}

atf_init_test_cases()
{
	atf_add_test_case demo
}
