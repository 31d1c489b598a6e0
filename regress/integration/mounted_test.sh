# Cases B, where other filesystems are mounted: hidden paths in them.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

atf_test_case mounted
mounted_head()
{
	atf_set descr "hidden in filesystems that are mounted below home and \
project, and as such: also by another mount, moved, and resumed"
	atf_set require.user root
	atf_set timeout 120
}
# mounted_fill DIR: what is hidden there, and what is not.
mounted_fill()
{
	mkdir "$1/h" "$1/sub"
	echo secret- | tee "$1/h/s" "$1/sub/k" >"$1/k"
	echo plain >"$1/f"
	chown -R --reference="$P" "$1"
}
# Below $1, in $kinds.
mounted_make()
{
	kinds='tmpfs ext4 deep/in'
	mkdir -p "$1/m/tmpfs" "$1/m/ext4" "$1/m/deep"
	chown -R --reference="$P" "$1/m"
	sbx_fresh_fs tmpfs "$1/m/tmpfs"
	sbx_fresh_fs ext4 "$1/m/ext4" 16M
	sbx_fresh_fs tmpfs "$1/m/deep"
	mkdir "$1/m/deep/in"
	mount -t tmpfs -o mode=755 t "$1/m/deep/in"
	for m in $kinds; do
		mounted_fill "$1/m/$m"
	done
	# There what lies in a folder with a mount in it cannot be hidden.
	[ "$who_user" != "${int_own-}" ] || return 0
	from=$SBX_SCRATCH/from$int_n
	kinds="$kinds bind"
	mkdir "$from" "$1/m/bind" "$1/m/robind"
	: >"$1/m/file"
	mounted_fill "$from"
	mount --bind "$from" "$1/m/bind"
	mount --bind "$from" "$1/m/robind"
	mount -o remount,bind,ro "$1/m/robind"
	mount --bind "$from/k" "$1/m/file"
}
mounted_unmake()
{
	for m in file robind bind deep/in deep ext4 tmpfs; do
		! mountpoint -q "$1/m/$m" || umount "$1/m/$m" ||
		    atf_fail "something holds $1/m/$m"
	done
	rm -r "$1/m"
}
# mounted_in DIR
mounted_in()
{
	mounted_make "$1"
	[ "$who_user" != "${int_own-}" ] || int_own_again
	look='cd "$0/m" && cat */f; grep -rs secret- . "$0/../from"*'
	set -- "$1"
	for m in $kinds; do
		for f in h k sub/k none; do
			set -- "$@" --hide "$1/m/$m/$f"
		done
	done
	dir=$1
	shift
	run --keep "$@" -- sh -c "$look"'; for d in */sub */*/sub; do
	    [ ! -d $d ] || mv $d ${d}2 || :; done; cat */sub2/k */k */h/s
	    ls -A */h; true' "$dir" >out 2>err || atf_fail "$(cat err)"
	atf_check -o match:plain -o not-match:secret- cat out err
	sid=$(sbxctl ls | awk 'END { print $1 }')
	for m in $kinds; do
		echo late-secret- >"$dir/m/$m/none"
	done
	sbxctl resume --keep "$sid" -- sh -c "$look"'; cat */sub2/k */none
	    true' "$dir" >out 2>err </dev/null || atf_fail "$(cat err)"
	atf_check -o match:plain -o not-match:secret- cat out err
	atf_check -o match:hidden sbxctl explain "$dir/m/ext4/none" "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	# The mount points themselves.
	run --hide "$dir/m/tmpfs" --hide "$dir/m/deep" --ro "$dir/m/ext4" -- \
	    sh -c 'cd "$0/m"; ls -A tmpfs deep; (echo x >ext4/f) 2>&1' \
	    "$dir" >out 2>err || :
	atf_check -o match:'^deep:$' -o match:'f: Read-only file system' \
	    -o not-match:'^(f|in|k)$' cat out
	atf_check grep -q secret- "$dir/m/tmpfs/k" "$dir/m/deep/in/sub/k"
	mounted_unmake "$dir"
}
mounted_one()
{
	[ "$who_user" = root ] || mounted_in "$P"
	mounted_in "$who_home"
}
mounted_body()
{
	int_begin
	int_each mounted_one
	int_stop
}

atf_init_test_cases()
{
	atf_add_test_case mounted
}
