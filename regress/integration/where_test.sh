# A suite whose configuration puts state or socket elsewhere: sbxctl, which
# does not read that, finds it all the same.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# where_begin: /etc and /var/lib are the case's own.
where_begin()
{
	int_tools
	mkdir "$SBX_SCRATCH/lib"
	cp -a /etc "$SBX_SCRATCH/etc"
	mkdir -p "$SBX_SCRATCH/etc/sbx"
	mount --bind "$SBX_SCRATCH/etc" /etc
	mount --bind "$SBX_SCRATCH/lib" /var/lib
	int_clean_mark
	unset SBX_STATE
}

# soon COMMAND...: within less than the time that a wait for another takes.
soon()
{
	atf_check -o save:soon.out -e save:soon.err timeout 8 "$@"
}

where_ended()
{
	int_wait sh -c "! pgrep -x sbxd >/dev/null"
}

# where_embedded FOLDER: started twice, the second time found, in that state.
where_embedded()
{
	soon run --keep -- sh -c 'echo x >f'
	int_kept soon.err
	atf_check test -d "$1/s/$sid"
	soon sbxctl rm --discard "$sid"
	where_ended
	where_none
}

# where_limited SHELL-WORDS: with a limit that a suite would have, too, none is
# started, and one that has ended is none.
where_limited()
{
	atf_check -s exit:1 -o empty \
	    -e match:'^sbxctl: no suite is running, and one started here had your limit of ' \
	    timeout 8 sh -c "$1; exec sbxctl ls"
}

# where_none: what an ended one has left is none, and nothing is started.
where_none()
{
	where_limited 'ulimit -f 1000'
	where_limited 'ulimit -t 1000'
	soon sbxctl version
	atf_check -o match:'^sbxctl ' -o not-match:'^sbxd ' cat soon.out
	! pgrep -x sbxd >/dev/null || atf_fail "version has started one"
}

# where_told SOCKET: by those, too, that start none.
where_told()
{
	soon sbxctl version
	atf_check -o match:"^sbxd .* at $1\$" cat soon.out
	sbxctl doctor >doctor.out 2>&1 || :
	atf_check -o match:"^ok *suite *runs: $1\$" cat doctor.out
}

# where_daemon SOCKET OPTION...: sbxd -d listens there and is found there.
where_daemon()
{
	where_socket=$1
	shift
	"$@" </dev/null >log 2>&1 &
	suite=$!
	int_wait grep -q "ready on $where_socket" log
	where_told "$where_socket"
	soon sbxctl ls
	atf_check -o inline:'sbxctl: no sessions\n' cat soon.err
	soon run --keep -- sh -c 'echo x >f'
	int_kept soon.err
	soon sbxctl rm --discard "$sid"
	# A second one says where the first one is.
	"$@" </dev/null >second 2>&1 && atf_fail "a second one runs"
	atf_check -o match:"another sbxd runs on .*, its socket is $where_socket: stop it" \
	    cat second
	kill "$suite"
	wait "$suite" || atf_fail "$(cat log)"
	where_none
}

atf_test_case root
root_head()
{
	atf_set descr "root's, by /etc/sbx/sbxd.conf"
	atf_set require.user root
	atf_set timeout 120
}
root_body()
{
	where_begin
	int_who root
	mkdir "$SBX_SCRATCH/sock"
	unset SBX_STATE
	# An embedded one has no use for a group, and says nothing of it.
	echo '{ "state": "'"$SBX_SCRATCH/moved"'", "socketGroup": "daemon" }' \
	    >/etc/sbx/sbxd.conf
	where_embedded "$SBX_SCRATCH/moved"
	where_daemon /run/sbx/sbxd.sock "$SBX_BUILDDIR/sbin/sbxd" -d
	echo '{ "socket": "'"$SBX_SCRATCH/sock/s"'" }' >/etc/sbx/sbxd.conf
	where_daemon "$SBX_SCRATCH/sock/s" "$SBX_BUILDDIR/sbin/sbxd" -d
	where_embedded /var/lib/sbx
	echo '{ "state": "'"$SBX_SCRATCH/moved"'", "socket": "'"$SBX_SCRATCH/sock/s"'" }' \
	    >/etc/sbx/sbxd.conf
	where_daemon "$SBX_SCRATCH/sock/s" "$SBX_BUILDDIR/sbin/sbxd" -d
	int_clean_check
}

# where_lost PATTERN: it runs, and is not to be found: one sbxd is started, which
# says so, and soon.
where_lost()
{
	rm -f "$SBX_STATE/sbxd.log"
	atf_check -s exit:1 -o empty \
	    -e match:"^sbxctl: sbxd: another sbxd runs on $SBX_STATE, and $1: stop it" \
	    timeout 8 sbxctl ls
	atf_check -o inline:'1\n' grep -c '' "$SBX_STATE/sbxd.log"
}

atf_test_case named
named_head()
{
	atf_set descr "SBX_STATE, where the configuration puts the socket elsewhere"
	atf_set require.user root
	atf_set timeout 120
}
named_body()
{
	where_begin
	int_who root
	mkdir "$SBX_SCRATCH/sock"
	cat >conf <<-EOT
		{ "state": "$SBX_SCRATCH/moved", "socket": "$SBX_SCRATCH/sock/s" }
	EOT
	export SBX_STATE="$SBX_SCRATCH/moved"
	where_daemon "$SBX_SCRATCH/sock/s" env -u SBX_STATE \
	    "$SBX_BUILDDIR/sbin/sbxd" -d -f "$PWD/conf"
	[ ! -e "$SBX_STATE/sbxd.log" ] || atf_fail "sbxctl has started one"
	env -u SBX_STATE "$SBX_BUILDDIR/sbin/sbxd" -d -f "$PWD/conf" \
	    </dev/null >log 2>&1 &
	suite=$!
	int_wait grep -q "ready on" log
	# So do its users, who may not see who holds the lock.
	sbx_user user
	chmod 0666 "$SBX_SCRATCH/sock/s"
	# shellcheck disable=SC2154
	atf_check -o match:"^sbxd .* at $SBX_SCRATCH/sock/s\$" \
	    sbx-as "$user" env SBX_STATE="$SBX_STATE" sbxctl version
	# Anybody may have written what is not root's.
	chown 34567 "$SBX_STATE/sbxd.where"
	where_lost 'where it listens is not there'
	chown 0 "$SBX_STATE/sbxd.where"
	soon sbxctl ls
	rm "$SBX_SCRATCH/sock/s"
	where_lost "its socket $SBX_SCRATCH/sock/s is not there"
	kill "$suite"
	wait "$suite" || atf_fail "$(cat log)"
	# The next one is an embedded one, where SBX_STATE says.
	soon run -- true
	where_ended
	int_clean_check
}

# where_other NAME [TEXT]: suites are on the state of that name from now on;
# what else their configuration says.
where_other()
{
	echo "{ \"state\": \"$SBX_SCRATCH/$1\"${2-} }" >/etc/sbx/sbxd.conf
}

atf_test_case apart
apart_head()
{
	atf_set descr "suites of two states beside each other"
	atf_set require.user root
	atf_set timeout 120
}
apart_body()
{
	where_begin
	int_who root
	where_other one
	"$SBX_BUILDDIR/sbin/sbxd" -d </dev/null >one.log 2>&1 &
	one=$!
	int_wait grep -q 'ready on /run/sbx/sbxd.sock' one.log
	where_other two
	atf_check -s exit:1 -e match:'another suite listens on /run/sbx/sbxd.sock: stop it, or name' \
	    timeout 8 "$SBX_BUILDDIR/sbin/sbxd" -d </dev/null
	mkdir "$SBX_SCRATCH/sock"
	where_other two ", \"socket\": \"$SBX_SCRATCH/sock/s\""
	"$SBX_BUILDDIR/sbin/sbxd" -d </dev/null >two.log 2>&1 &
	two=$!
	int_wait grep -q "ready on $SBX_SCRATCH/sock/s" two.log
	# Each makes its sessions' sockets where no other does.
	atf_check -o inline:'one\n' run -- echo one
	client "$SBX_SCRATCH/sock/s" plain "$P" >sid || atf_fail "$(cat two.log)"
	atf_check test -d "$SBX_SCRATCH/two/s/$(cat sid)"
	[ "$(stat -c %u "$SBX_SCRATCH/one/sbxd/w")" != \
	    "$(stat -c %u "$SBX_SCRATCH/two/sbxd/w")" ] ||
	    atf_fail "both have the same uids"
	kill "$one" "$two"
	wait "$one" || atf_fail "$(cat one.log)"
	wait "$two" || atf_fail "$(cat two.log)"
	int_clean_check
}

atf_test_case user
user_head()
{
	atf_set descr "a user's own, by ~/.config/sbx/sbxd.conf"
	atf_set require.user root
	atf_set timeout 120
}
user_body()
{
	where_begin
	sbx_user int_own
	export int_own int_own_home
	PATH=$SBX_SCRATCH/ownbin:$PATH
	P=$int_own_home/p AS=''
	sbx_repo "$P" "$int_own"
	chmod 0777 .
	conf=$int_own_home/.config/sbx
	mkdir -p "$conf"
	chown -R "$int_own:" "$int_own_home/.config"
	echo '{ "state": "'"$int_own_home/moved"'" }' >"$conf/sbxd.conf"
	chown "$int_own:" "$conf/sbxd.conf"
	where_embedded "$int_own_home/moved"
	where_daemon "$int_own_home/moved/sbxd.sock" sbx-own \
	    "$SBX_BUILDDIR/sbin/sbxd" --user -d
	echo '{ "socket": "'"$int_own_home/s"'" }' >"$conf/sbxd.conf"
	where_daemon "$int_own_home/s" sbx-own \
	    "$SBX_BUILDDIR/sbin/sbxd" --user -d
	where_embedded "$int_own_home/.local/state/sbx"
	# Of root's, which was killed, there is a socket: it is in nobody's way.
	"$SBX_BUILDDIR/sbin/sbxd" -d </dev/null >root.log 2>&1 &
	suite=$!
	int_wait grep -q 'ready on /run/sbx/sbxd.sock' root.log
	kill -KILL "$suite"
	wait "$suite" || :
	where_ended
	atf_check test -S /run/sbx/sbxd.sock
	chmod 666 /run/sbx/sbxd.sock
	where_none
	chmod 600 /run/sbx/sbxd.sock
	where_embedded "$int_own_home/.local/state/sbx"
	SBX_STATE=/var/lib/sbx atf_check -s exit:1 -e match:"^sbxctl: \
SBX_STATE=/var/lib/sbx: no suite listens there, .*, or unset SBX_STATE" \
	    sbxctl ls
	int_clean_check
}

atf_init_test_cases()
{
	atf_add_test_case root
	atf_add_test_case named
	atf_add_test_case apart
	atf_add_test_case user
}
