# A bare Debian with git, make and gcc: what the tests of README's first commands
# have in common.
# shellcheck shell=sh

# bare_tar FILE: made from the package sources that this machine has, read now.
bare_tar()
{
	# shellcheck disable=SC1091 # the machine's
	. /etc/os-release
	set -- "$1"
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
	    /etc/apt/sources.list.d/*.sources; do
		[ ! -s "$f" ] || set -- "$@" "$f"
	done
	tar=$1
	shift
	atf_check -o ignore -e save:mmdebstrap.err mmdebstrap \
	    --variant=minbase --include=git,make,gcc "$VERSION_CODENAME" \
	    "$tar.new.tar" "$@"
	mv "$tar.new.tar" "$tar"
}

# bare_root DIR: with a clone of this repository that belongs to another uid.
# The cases of one run share what was fetched.
bare_root()
{
	root=$1
	run=${SBX_TEST_RUN:-$SBX_SCRATCH}
	mkdir -p "$root"
	(
		flock 9
		[ -e "$run/bare.tar" ] || bare_tar "$run/bare.tar"
		tar xf "$run/bare.tar" --numeric-owner --xattrs \
		    --xattrs-include='*' -C "$root" || exit 1
	) 9>"$run/bare.lock" || atf_fail "no bare root"
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

