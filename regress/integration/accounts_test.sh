# The suite as the installed accounts, whose groups have numbers of their own.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

roles='sbxd spawn net mount land work fwd'

# accounts: an /etc for this case, with an account a role: its uid 61100 and
# up, its gid 61230 and down. Of the whole folder: a passwd alone that is
# mounted over is gone as soon as a useradd outside renames a new one over it,
# and who then writes to /etc/passwd writes to the machine's. So nothing here
# does: $etc is where it lies.
accounts()
{
	etc=$SBX_SCRATCH/etc
	cp -a /etc "$etc"
	n=0
	for r in $roles; do
		n=$((n + 1))
		printf '_sbx%s:x:%d:%d::/nonexistent:/usr/sbin/nologin\n' \
		    "${r#sbx}" $((61100 + n)) $((61230 - n)) >>"$etc/passwd"
		printf '_grp%s:x:%d:\n' "$r" $((61230 - n)) >>"$etc/group"
	done
	mount --bind "$etc" /etc
}

# account ROLE: uid and gid of it, "1 2".
account()
{
	awk -F : -v n="_sbx${1#sbx}" '$1 == n { print $3, $4 }' "$etc/passwd"
}

# runs_as PROGRAM ROLE: all four of both are the account's, and no group.
runs_as()
{
	pid=$(pgrep -o -x "$1") || atf_fail "$1 does not run"
	# shellcheck disable=SC2046 # two words
	set -- "$1" $(account "$2")
	t=$(printf '\t')
	atf_check -o match:"^Uid:$t$2$t$2$t$2$t$2\$" \
	    -o match:"^Gid:$t$3$t$3$t$3$t$3\$" \
	    -o match:"^Groups:$t *\$" cat "/proc/$pid/status"
}

# owned PATH ROLE
owned()
{
	# shellcheck disable=SC2046 # two words
	set -- "$1" $(account "$2")
	atf_check -o inline:"$2 $3\n" stat -c '%u %g' "$1"
}

atf_test_case groups
groups_head()
{
	atf_set descr "each role runs with its account's uid and gid, and a \
session of theirs is started, reviewed and landed"
	atf_set require.user root
}
groups_body()
{
	int_tools
	int_who user
	accounts
	int_suite
	runs_as sbxd sbxd
	runs_as spawn spawn
	runs_as netd net
	runs_as mountd mount
	runs_as landd land
	int_live live sleep 1000
	runs_as sbx-worker work
	owned "$SBX_STATE/sbxd" sbxd
	owned "$SBX_STATE/sbxd/audit" sbxd
	owned "$SBX_STATE/sbxd/$sid" sbxd
	owned "$SBX_STATE/sbxd/w" sbxd
	owned "$SBX_STATE/s" mount
	owned "$SBX_STATE/landd" land
	owned "$SBX_STATE/landd/key" land
	kill "$live"
	exec 9>&-
	wait "$live"
	int_wait sbxctl rm --discard live
	int_keep sh -c 'echo x >f'
	int_stop
	int_suite
	atf_check -o match:'1 file' sbxctl apply --yes "$sid"
	atf_check -o inline:'x\n' cat "$P/f"
	atf_check -o inline:"$int_user\n" stat -c %U "$P/f"
	int_stop
}

atf_test_case refused
refused_head()
{
	atf_set descr "an account that is root, or root's group, or another's, \
or missing is no role's: sbxd does not start, and says which"
	atf_set require.user root
}
refused_body()
{
	accounts
	good=$(cat "$etc/passwd")
	for bad in '_sbxnet:x:61103:0' '_sbxland:x:0:61225' '_sbxd:x:0:0'; do
		printf '%s\n' "$good" |
		    sed "s/^${bad%%:*}:.*/$bad::\/:\/bin\/false/" \
		    >"$etc/passwd"
		atf_check -s exit:1 -e match:"fatal: the account ${bad%%:*} has uid" \
		    timeout 20 sbxd -d
	done
	uid=$(printf '%s\n' "$good" | sed -n 's/^_sbxspawn:[^:]*:\([0-9]*\):.*/\1/p')
	for same in _sbxd _sbxfwd; do
		printf '%s\n' "$good" |
		    sed "s/^\($same:[^:]*\):[0-9]*:/\1:$uid:/" >"$etc/passwd"
		atf_check -s exit:1 -e match:"fatal: the accounts .*_sbxspawn.* have the one uid $uid" \
		    -e match:"$same" timeout 20 sbxd -d
	done
	printf '%s\n' "$good" | grep -v '^_sbxwork:' >"$etc/passwd"
	atf_check -s exit:1 -e match:'fatal: the account _sbxwork is missing' \
	    timeout 20 sbxd -d
}

atf_test_case numbers
numbers_head()
{
	atf_set descr "a state without accounts has numbers of its own, which \
are its folder's owner: at the next start too, and whatever lies in it"
	atf_set require.user root
}
numbers_body()
{
	int_begin
	first=$(stat -c %u:%g "$SBX_STATE/sbxd")
	uid=${first%:*}
	atf_check_equal "$uid:$uid" "$first"
	[ "$uid" -ge 61184 ] && [ "$uid" -lt 65520 ] || atf_fail "uid $uid"
	int_stop
	# What the broker could have written is not believed.
	echo 7 >"$SBX_STATE/sbxd/uids"
	chown "$uid:$uid" "$SBX_STATE/sbxd/uids"
	int_suite
	atf_check_equal "$first" "$(stat -c %u:%g "$SBX_STATE/sbxd")"
	t=$(printf '\t')
	atf_check -o match:"^Uid:$t$uid$t" \
	    cat "/proc/$(pgrep -o -x sbxd)/status"
	int_stop
	# A copy at the same time: two suites never share one.
	cp -a "$SBX_STATE" "$SBX_SCRATCH/copy"
	int_suite
	atf_check -s exit:1 -e match:'in use by another suite' \
	    env SBX_STATE="$SBX_SCRATCH/copy" timeout 20 sbxd -d
	# One that is root's again is given away anew.
	chown -R 0:0 "$SBX_SCRATCH/copy"
	int_stop
	SBX_STATE=$SBX_SCRATCH/copy
	export SBX_STATE
	int_suite
	other=$(stat -c %u "$SBX_STATE/sbxd")
	[ "$other" -ge 61184 ] && [ "$other" -lt 65520 ] ||
	    atf_fail "uid $other"
	int_end
}

atf_test_case apart
apart_head()
{
	atf_set descr "states on new filesystems, whose folders have the same \
inode, have different numbers: one starts while the other's suite runs"
	atf_set require.user root
}
apart_body()
{
	for s in one two; do
		mkdir "$SBX_SCRATCH/$s"
		sbx_fresh_fs tmpfs "$SBX_SCRATCH/$s"
		SBX_STATE=$SBX_SCRATCH/$s/state
		sbx_suite_start
		sbx_suite_stop || atf_fail "sbxd does not end with 0"
	done
	atf_check_equal "$(stat -c %i "$SBX_SCRATCH/one/state/sbxd")" \
	    "$(stat -c %i "$SBX_STATE/sbxd")"
	sbx_suite_start
	atf_check -e inline:'sbxctl: no sessions\n' \
	    env SBX_STATE="$SBX_SCRATCH/one/state" sbxctl ls
	sbx_suite_stop || atf_fail "sbxd does not end with 0"
}

# Whoever has spawn's uid enters every session's user namespace, and is root.
atf_test_case owned
owned_head()
{
	atf_set descr "a number of the suite's that has become somebody's is \
refused, and none is what a service manager gives away"
	atf_set require.user root
}
owned_body()
{
	mkdir -p /run/systemd/system
	int_begin
	first=$(stat -c %u "$SBX_STATE/sbxd")
	for n in 0 1 2 3 4 5 6; do
		atf_check -s exit:1 \
		    flock -n "/run/systemd/dynamic-uid/$((first + n))" true
	done
	int_stop
	exec 8>"/run/systemd/dynamic-uid/$((first + 1))"
	flock -n 8 || atf_fail "its lock is kept"
	atf_check -s exit:1 -e match:"gid $((first + 1)), one of those" \
	    timeout 20 sbxd -d
	exec 8>&-
	int_suite
	int_stop
	etc=$SBX_SCRATCH/etc
	cp -a /etc "$etc"
	printf 'd:x:%d:%d::/:/bin/sh\n' $((first + 1)) $((first + 1)) \
	    >>"$etc/passwd"
	mount --bind "$etc" /etc
	atf_check -s exit:1 -e match:"uid or gid $((first + 1)), one of those" \
	    timeout 20 sbxd -d
	umount /etc
	int_clean_check
}

atf_init_test_cases()
{
	atf_add_test_case owned
	atf_add_test_case groups
	atf_add_test_case refused
	atf_add_test_case numbers
	atf_add_test_case apart
}
