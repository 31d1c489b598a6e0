# A bare Debian with git, make and gcc: README's first commands work there.
# needs: network

# bare_root DIR: made from the package sources that this machine has, read
# now; with a clone of this repository that belongs to another uid.
bare_root()
{
	# shellcheck disable=SC1091 # the machine's
	. /etc/os-release
	set -- "$1"
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
	    /etc/apt/sources.list.d/*.sources; do
		[ ! -s "$f" ] || set -- "$@" "$f"
	done
	root=$1
	shift
	atf_check -o ignore -e save:mmdebstrap.err mmdebstrap \
	    --variant=minbase --include=git,make,gcc "$VERSION_CODENAME" \
	    "$root" "$@"
	cp -L /etc/resolv.conf "$root/etc/resolv.conf"
	git config --global --add safe.directory "$SBX_SRC"
	git config --global --add safe.directory "$SBX_SRC/.git"
	atf_check git clone -q "$SBX_SRC" "$root/src"
	chown -R 12345:12345 "$root/src"
}

# in_root DIR COMMAND: sh runs it as a new machine would: its own root, /proc,
# /run, nothing of this environment.
in_root()
{
	# shellcheck disable=SC2016 # expanded by that sh
	atf_check -o save:out -e save:err unshare --mount sh -ec '
		mount --bind "$1" "$1"
		mount -t proc proc "$1/proc"
		mount --rbind /sys "$1/sys"
		mount --rbind /dev "$1/dev"
		mount -t tmpfs run "$1/run"
		cd "$1"
		pivot_root . .
		umount -l .
		cd /src
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		    LANG=C.UTF-8 ${3:+http_proxy="$3"} \
		    ${4:+SBX_SECOND_TRY="$4"} sh -c "$2" </dev/null
	' sh "$1" "$2" "${http_proxy-}" "${SBX_SECOND_TRY-}"
}

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
	in_root "$root" "make clean && make WERROR=1 CFLAGS= && \
	    make install DESTDIR=/dest PREFIX=/usr && \
	    cd /var && SBX_STATE=/var/tmp/state \
	    /dest/usr/bin/sbxctl run -- sh -c 'echo inside; exit 7' || \
	    test \$? -eq 7"
	atf_check -o match:'^inside' cat out
	atf_check -o match:libexec/sbx/land find "$root/dest" -type f
	in_root "$root" "make uninstall DESTDIR=/dest PREFIX=/usr"
	atf_check -o empty find "$root/dest" -type f
}

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
	atf_add_test_case demo
	atf_add_test_case check
}
