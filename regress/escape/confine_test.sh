# Every process of a live session and its suite, against the architecture's
# table: uids, groups, the five capability sets, no_new_privs, seccomp,
# namespaces, descriptors.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# field PID NAME: of /proc/PID/status, blanks made single.
field()
{
	sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status" | tr -s '\t ' '  '
}

# check PID ROLE UID GROUPS CAPS [BOUNDING]: all that the table says of it.
check()
{
	bounding=${6-0000000000000000}
	set -- "$1" "$2" "$3" "$4" "$(printf %016x "$5")"
	atf_check_equal "$2 Uid: $3 $3 $3 $3" "$2 Uid: $(field "$1" Uid)"
	g=$(echo "$4" | cut -d, -f1)
	atf_check_equal "$2 Gid: $g $g $g $g" \
	    "$2 Gid: $(field "$1" Gid)"
	atf_check_equal "$2 Groups: $(echo "$4" | cut -d, -f2 -s)" \
	    "$2 Groups: $(field "$1" Groups | sed 's/ $//')"
	atf_check_equal "$2 CapBnd: $bounding" "$2 CapBnd: $(field "$1" CapBnd)"
	for c in CapInh CapAmb; do
		atf_check_equal "$2 $c: 0000000000000000" \
		    "$2 $c: $(field "$1" $c)"
	done
	for c in CapPrm CapEff; do
		atf_check_equal "$2 $c: $5" "$2 $c: $(field "$1" $c)"
	done
	atf_check_equal "$2 NoNewPrivs: 1" \
	    "$2 NoNewPrivs: $(field "$1" NoNewPrivs)"
	atf_check_equal "$2 Seccomp: 2" "$2 Seccomp: $(field "$1" Seccomp)"
}

# ns PID ROLE NAME...: it is in the host's of these and in others of the rest.
ns()
{
	pid=$1 role=$2
	shift 2
	for n in cgroup ipc mnt net pid user uts; do
		own=differs
		[ "$(readlink "/proc/$pid/ns/$n")" != \
		    "$(readlink "/proc/self/ns/$n")" ] || own=host
		case " $* " in
		*" $n "*) want=host ;;
		*) want=differs ;;
		esac
		atf_check_equal "$role $n $want" "$role $n $own"
	done
}

# fds PID ROLE ERE: what its descriptors may be; stderr is the suite's log.
fds()
{
	for f in "/proc/$1/fd"/*; do
		to=$(readlink "$f") || continue
		case ${f##*/} in
		0 | 1) want=/dev/null ;;
		2) want=".*" ;;
		*) want=$3 ;;
		esac
		echo "$to" | grep -qxE "$want" ||
		    atf_fail "$2 holds ${f##*/} -> $to"
	done
}

suite_uids()
{
	# Eight in a row from the state's slot, in the order of the roles.
	uid0=$(stat -c %u "$SBX_STATE/sbxd")
	[ "$uid0" -ge 61184 ] && [ "$uid0" -lt 65520 ] &&
	    [ $(((uid0 - 61184) % 8)) -eq 0 ] || atf_fail "slot at $uid0"
}

# The only process of that name, but for its own children.
one()
{
	pgrep -x "$1" | while read -r p; do
		p2=$(field "$p" PPid)
		[ "$p2" -gt 0 ] && [ "$(cat "/proc/$p2/comm")" = "$1" ] ||
		    echo "$p"
	done >pids
	atf_check_equal "1 $1" "$(wc -l <pids) $1"
	cat pids
}

for int_case in \
    'own:in a user'\''s own suite: one uid, power in the outer namespace only' \
    'table:each role has its uid, its capabilities, its filter' \
    'root_session:a session of root'\''s is uid 0 and nothing more' \
    'child:a landing'\''s child: the user, no capability, filter' \
    'descriptors:what init, the command and the workers hold' \
    'folders:modes and owners of the state' \
    'landlocked:who has a Landlock domain by the table has entered one' \
    'signals:nobody can signal, trace or read another role'; do
	eval "${int_case%%:*}_head() {
		atf_set descr '$(printf %s "${int_case#*:}" |
		    sed "s/'/'\\\\''/g")'
		atf_set require.user root
	}"
done

table_body()
{
	int_begin
	suite_uids
	int_who user
	uid=$(id -u "$int_user") gid=$(id -g "$int_user")
	int_live table --no-network sleep 1234
	check "$(one sbxd)" sbxd "$uid0" "$uid0" 0
	# SETUID SETGID SETFCAP; NET_ADMIN; and all that a copy-up takes.
	check "$(one spawn)" spawn $((uid0 + 1)) $((uid0 + 1)) \
	    $((1 << 7 | 1 << 6 | 1 << 31))
	check "$(one netd)" netd $((uid0 + 2)) $((uid0 + 2)) $((1 << 12))
	# With the child that waits for the next session.
	int_wait sh -c '[ "$(pgrep -cx mountd)" -eq 2 ]'
	for p in $(pgrep -x mountd); do
		check "$p" mountd $((uid0 + 3)) $((uid0 + 3)) \
		    $((1 << 21 | 31 | 1 << 27 | 1 << 31))
	done
	check "$(one landd)" landd $((uid0 + 4)) $((uid0 + 4)) 0
	check "$(one sbx-worker)" worker $((uid0 + 5)) $((uid0 + 5)) 0
	init=$(one sbx-init)
	check "$init" init "$uid" "$gid,$gid" 0
	command=$(pgrep -f '^sleep 1234')
	check "$command" command "$uid" "$gid,$gid" 0
	# One uid a role, and none of them a user's.
	atf_check -o empty sh -c 'for p in sbxd spawn netd mountd landd \
	    sbx-worker sbx-init; do ps -o uid= -C $p | sort -u; done | sort | uniq -d'
	for i in 0 1 2 3 4 5 6 7; do
		atf_check -s exit:2 -o empty getent passwd $((uid0 + i))
	done
	for p in sbxd spawn netd landd sbx-worker; do
		ns "$(one $p)" $p cgroup ipc mnt net pid user uts
	done
	ns "$(one mountd)" mountd cgroup ipc net pid user uts
	ns "$init" init
	ns "$command" command
	for n in cgroup ipc mnt net pid user uts; do
		atf_check_equal "$(readlink "/proc/$init/ns/$n")" \
		    "$(readlink "/proc/$command/ns/$n")"
	done
	# The namespace is spawn's, not the user's, and no further ones.
	atf_check -o match:' 0 *0 *4294967295' cat "/proc/$init/uid_map"
	atf_check -o match:' 0 *0 *4294967295' cat "/proc/$init/gid_map"
	# Only the session's own filters: init has more than one.
	atf_check test "$(field "$command" Seccomp_filters)" -ge 2
	kill "$live"
	wait "$live" || :
	exec 9>&-
	int_end
}

own_body()
{
	int_begin
	sbx_suite_stop
	int_who own
	uid=$(id -u "$int_own") gid=$(id -g "$int_own")
	int_live own --no-network sleep 1234
	# Outside of S no bounding set can be emptied, and nothing is in the
	# others; inside there is what is root's there, of no use outside.
	full=$(sbx-own sed -n 's/^CapBnd:[[:space:]]*//p' /proc/self/status)
	for p in sbxd spawn landd sbx-worker; do
		check "$(one $p)" $p "$uid" "$gid,$gid" 0 "$full"
		ns "$(one $p)" $p cgroup ipc mnt net pid user uts
	done
	check "$(one netd)" netd "$uid" "$gid,$gid" $((1 << 12))
	ns "$(one netd)" netd cgroup ipc mnt net pid uts
	int_wait sh -c '[ "$(pgrep -cx mountd)" -eq 2 ]'
	for p in $(pgrep -x mountd); do
		check "$p" mountd "$uid" "$gid,$gid" \
		    $((1 << 21 | 31 | 1 << 27 | 1 << 31))
		ns "$p" mountd cgroup ipc net pid uts
	done
	atf_check_equal "$(readlink "/proc/$(one netd)/ns/user")" \
	    "$(readlink "/proc/$(one mountd)/ns/user")"
	atf_check_equal "0 $uid 1" "$(xargs <"/proc/$(one netd)/uid_map")"
	atf_check_equal "0 $gid 1" "$(xargs <"/proc/$(one netd)/gid_map")"
	atf_check_equal deny "$(cat "/proc/$(one netd)/setgroups")"
	init=$(one sbx-init)
	command=$(pgrep -f '^sleep 1234')
	for p in "$init" "$command"; do
		check "$p" inside "$uid" "$gid,$gid" 0
		ns "$p" inside
		atf_check_equal "$uid $uid 1" "$(xargs <"/proc/$p/uid_map")"
		atf_check_equal "$gid $gid 1" "$(xargs <"/proc/$p/gid_map")"
		atf_check_equal deny "$(cat "/proc/$p/setgroups")"
	done
	# The one namespace lies in the other.
	atf_check -o inline:"$(readlink "/proc/$(one netd)/ns/user")\n" \
	    python3 -c '
import fcntl, os, sys
fd = fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0xb702)
print(os.readlink("/proc/self/fd/%d" % fd))' "/proc/$init/ns/user"
	kill "$live"
	wait "$live" || :
	exec 9>&-
	# Everything of the state is the user's, and nobody else's to see.
	for f in "" /sbxd /s /landd; do
		atf_check_equal "700 $uid" "$(stat -c '%a %u' "$SBX_STATE$f")"
	done
	for f in sbxd.sock landd/key; do
		atf_check_equal "600 $uid" "$(stat -c '%a %u' "$SBX_STATE/$f")"
	done
	# Inside nobody of the suite is there to be signalled.
	atf_check -o inline:'no\n' run -- sh -c "kill -0 $int_own_suite \
	    2>/dev/null || echo no"
	int_own_stop
	int_clean_check
}

root_session_body()
{
	int_begin
	int_who root
	int_live asroot sleep 1234
	# Root's own groups, whatever they are.
	groups=$(field self Groups | sed 's/ $//')
	check "$(one sbx-init)" init 0 "0,$groups" 0
	check "$(pgrep -f '^sleep 1234')" command 0 "0,$groups" 0
	ns "$(one sbx-init)" init net
	kill "$live"
	wait "$live" || :
	exec 9>&-
	# It does not pass over permissions, and owns nothing of others'.
	sbx_user other
	echo theirs >"$other_home/f"
	chown "$other:" "$other_home/f"
	chmod 600 "$other_home/f"
	chmod 711 "$other_home"
	atf_check -s exit:1 -o empty -e match:denied run -- cat "$other_home/f"
	atf_check -s exit:1 -e match:permitted run -- chown "$other" a.txt
	int_end
}

child_body()
{
	int_begin
	suite_uids
	int_who user
	uid=$(id -u "$int_user") gid=$(id -g "$int_user")
	int_keep sh -c 'for i in $(seq 6000); do echo $i >f$i; done
	    head -c 60000000 /dev/urandom | base64 >big'
	sbxctl changes "$sid" >/dev/null &
	ctl=$!
	n=0
	while :; do
		land=$(pgrep -x land || :)
		# From the time when it has confined itself; stopped before
		# it is looked at, or it may end meanwhile. One that ends
		# takes the signal, and does not stop.
		if [ -n "$land" ] && kill -STOP "$land" 2>/dev/null; then
			case $(field "$land" State)$(field "$land" Seccomp) in
			T*2) break ;;
			esac
			kill -CONT "$land" 2>/dev/null || :
		elif ! kill -0 "$ctl" 2>/dev/null; then
			sbxctl changes "$sid" >/dev/null &
			ctl=$!
		fi
		n=$((n + 1))
		[ "$n" -lt 3000 ] || atf_fail "the child was not seen"
	done
	check "$land" land "$uid" "$gid,$gid" 0
	ns "$land" land cgroup ipc mnt net pid user uts
	# The user cannot reach into it.
	if int_plain; then
		atf_check -s not-exit:0 -o ignore -e ignore sbx-as "$int_user" \
		    cat "/proc/$land/environ"
		atf_check -s not-exit:0 -o ignore -e ignore sbx-as "$int_user" \
		    ls "/proc/$land/fd"
	fi
	kill -CONT "$land"
	wait "$ctl" || atf_fail "changes: $?"
	int_wait sh -c '! pgrep -x land >/dev/null'
	int_end
}

descriptors_body()
{
	int_begin
	int_who user
	int_live fds sh -c 'exec sleep 1234'
	fds "$(one sbx-init)" init 'socket:\[[0-9]*\]|anon_inode:.*|/dev/null'
	fds "$(one sbx-worker)" worker \
	    'socket:\[[0-9]*\]|anon_inode:.*|/dev/null|pipe:.*|.*ns?:\[[0-9]*\]|(pid|user|mnt|net|cgroup):\[[0-9]*\]|/dev/ptmx|/'
	command=$(pgrep -f '^sleep 1234')
	atf_check_equal "0 1 2" "$(ls "/proc/$command/fd" | tr '\n' ' ' |
	    sed 's/ $//')"
	for p in sbx-worker sbx-init; do
		atf_check_equal 0 "$(wc -c <"/proc/$(one $p)/environ")"
		for f in 0 1; do
			atf_check_equal "$p /dev/null" \
			    "$p $(readlink "/proc/$(one $p)/fd/$f")"
		done
	done
	# Nothing of init's is to be had from inside.
	exec 9>&-
	kill "$live"
	wait "$live" || :
	atf_check -s not-exit:0 -o empty -e ignore run -- sh -c \
	    'cat /proc/1/environ /proc/1/maps; ls /proc/1/fd /proc/1/cwd/'
	# Not dumpable: none of the suite's programs can be read or traced.
	if int_plain; then
		for p in spawn netd mountd landd; do
			atf_check_equal "$p 711" "$p $(stat -Lc %a \
			    "/proc/$(one $p)/exe")"
			atf_check_equal "$p 0" "$p $(stat -c %u \
			    "/proc/$(one $p)/maps")"
		done
	fi
	int_end
}

folders_body()
{
	int_begin
	suite_uids
	int_who user
	int_keep sh -c 'echo x >f; mkdir -m 777 w; : >w/all; chmod 4777 w/all'
	for l in "$SBX_STATE 711 0" "$SBX_STATE/sbxd 700 $uid0" \
	    "$SBX_STATE/s 700 $((uid0 + 3))" \
	    "$SBX_STATE/landd 700 $((uid0 + 4))" \
	    "$SBX_STATE/landd/key 600 $((uid0 + 4))" \
	    "$SBX_STATE/sbxd/audit 600 $uid0" \
	    "$SBX_STATE/sbxd/$sid 700 $uid0" \
	    "$SBX_STATE/sbxd/$sid/record 600 $uid0"; do
		f=${l%% *}
		atf_check_equal "$l" "$f $(stat -c '%a %u' "$f")"
	done
	atf_check_equal 32 "$(stat -c %s "$SBX_STATE/landd/key")"
	# D81: what the session made is out of every user's reach.
	for d in s sbxd landd "s/$sid" "s/$sid/stage"; do
		atf_check -s exit:2 -o empty -e match:denied \
		    sbx-as "$int_user" ls "$SBX_STATE/$d"
	done
	atf_check -s exit:1 -o empty -e ignore sbx-as "$int_user" \
	    find "$SBX_STATE" -mindepth 2
	# The socket is root's where no group is named.
	atf_check_equal '600 0' "$(stat -c '%a %u' "$SBX_STATE/sbxd.sock")"
	int_end
}

landlocked_body()
{
	int_plain || atf_skip "sanitized programs cannot be traced"
	sbx_by="strace -D -f -qq --decode-pids=comm -o $PWD/trace \
	    -e trace=landlock_restrict_self"
	int_begin
	int_who user
	int_keep sh -c 'echo x >f'
	atf_check -o match:'A  f' sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
	sed -n 's/^[0-9]*<\(.*\)> landlock_restrict_self(.*= 0$/\1/p' trace |
	    sort -u >entered
	# A worker is a spare one then.
	printf '%s\n' land landd netd sbx-init sbx-spare sbxd >due
	diff due entered || atf_fail "not those: $(cat trace)"
}

signals_body()
{
	int_begin
	suite_uids
	int_who user
	int_live sig sleep 1234
	for p in sbxd spawn netd mountd landd sbx-worker; do
		pid=$(one $p)
		# The session's user outside, and another role's uid.
		for u in "$(id -u "$int_user")" $((uid0 + 6)); do
			atf_check -s exit:1 -e match:permitted setpriv \
			    --reuid "$u" --regid "$u" --clear-groups \
			    sh -c "kill -0 $pid"
			atf_check -s not-exit:0 -o empty -e ignore setpriv \
			    --reuid "$u" --regid "$u" --clear-groups \
			    cat "/proc/$pid/environ"
		done
	done
	# D78: the session's user outside cannot enter its namespaces.
	init=$(one sbx-init)
	for n in user mnt pid net; do
		atf_check -s not-exit:0 -o ignore -e ignore sbx-as \
		    "$int_user" nsenter "--$([ $n = mnt ] && echo mount ||
		    echo "$n")=/proc/$init/ns/$n" true
	done
	exec 9>&-
	kill "$live"
	wait "$live" || :
	# From inside nobody outside exists to be signalled.
	atf_check -o inline:'no\n' run -- sh -c "kill -0 $sbx_suite \
	    2>/dev/null || echo no"
	int_end
}

atf_init_test_cases()
{
	for c in own table root_session child descriptors folders signals \
	    landlocked; do
		atf_add_test_case "$c"
	done
}
