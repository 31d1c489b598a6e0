# 200 sessions of several users at one suite, and clients that hang, flood and
# go away in the middle while others work.
# needs: the machine
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

MANY_USERS=4
MANY_EACH=50		# of each; the first is root

# many_as N COMMAND...: as user N, in that one's project.
many_as()
{
	many_n=$1
	shift
	eval "many_u=\$many_user_$many_n many_p=\$many_project_$many_n"
	if [ "$many_u" = root ]; then
		(cd "$many_p" && exec "$@")
	else
		(cd "$many_p" && exec sbx-as "$many_u" "$@")
	fi
}

# many_users: root and others, with a project each.
many_users()
{
	many_user_1=root
	int_who root
	many_project_1=$P
	many_n=2
	while [ "$many_n" -le "$MANY_USERS" ]; do
		sbx_user u
		eval "many_user_$many_n=\$u many_project_$many_n=\$u_home/p"
		# shellcheck disable=SC2154 # by sbx_user
		sbx_repo "$u_home/p" "$u"
		many_n=$((many_n + 1))
	done
}

# many_each FUNCTION: with each user's number, all at once.
many_each()
{
	many_pids=''
	for many_i in $(seq "$MANY_USERS"); do
		"$1" "$many_i" &
		many_pids="$many_pids $!"
	done
	for many_i in $many_pids; do
		wait "$many_i" || atf_fail "$1: $?"
	done
}

many_start()
{
	i=0
	while [ "$i" -lt "$MANY_EACH" ]; do
		i=$((i + 1))
		many_as "$1" sbxctl new --name "s$1-$i" -- sh -c \
		    'trap "exit 3" HUP TERM; while read -r l; do
		    echo "got $l"; done; sleep 1000' || return 1
	done >"ids.$1"
}

# many_own N: that user sees its own, root all.
many_own()
{
	many_as "$1" sbxctl ls >"ls.$1" || return 1
	awk 'NR > 1 { print $1 }' "ls.$1" | sort >"seen.$1"
	if [ "$1" -eq 1 ]; then
		cat ids.* | sort >"want.$1"
	else
		sort "ids.$1" >"want.$1"
	fi
	cmp "want.$1" "seen.$1" &&
	    [ "$(grep -c ' running ' "ls.$1")" -eq "$(wc -l <"want.$1")" ]
}

many_stop()
{
	many_as "$1" xargs -P 4 -n 1 sbxctl stop <"ids.$1" >"stop.$1" || return 1
	grep -v ': ended 3: stopped by .*uid ' "stop.$1" >&2 && return 1
	[ "$(grep -c . "stop.$1")" -eq "$MANY_EACH" ]
}

many_remove()
{
	many_as "$1" xargs -n 1 sbxctl rm <"ids.$1" >"rm.$1" &&
	    [ "$(grep -c removed "rm.$1")" -eq "$MANY_EACH" ]
}

# many_fds: descriptors of each program of the suite that is one.
many_fds()
{
	for many_p in sbxd spawn netd mountd landd; do
		many_pid=$(pgrep -ox "$many_p")
		echo "$many_p $(ls "/proc/$many_pid/fd" | wc -l)"
	done
}

# many_within NAME SECONDS COMMAND...: it takes at most so long.
many_within()
{
	many_what=$1 many_max=$2 many_t=$(date +%s%N)
	shift 2
	"$@"
	many_t=$((($(date +%s%N) - many_t) / 1000000))
	echo "$many_what: $many_t ms"
	[ "$many_t" -le $((many_max * 1000)) ] ||
	    atf_fail "$many_what takes $many_t ms"
}

# many_bounded BEFORE NOW SESSIONS: what a session costs in descriptors.
many_bounded()
{
	paste -d ' ' "$1" "$2" | while read -r p was _ is; do
		echo "$p: $was, $is descriptors"
		case $p in
		sbxd) each=3 ;;
		mountd) each=24 ;;	# a clone of each filesystem's layer
		*) each=5 ;;
		esac
		[ "$is" -le $((was + each * $3 + 16)) ] || return 1
	done || atf_fail "descriptors: $(cat "$2")"
}

# many_begin: a suite for all of them, and how things are before it works.
many_begin()
{
	int_begin
	chmod 0666 "$SBX_STATE/sbxd.sock"
	many_users
	int_running_mark
	many_fds >fds.before
}

many_end()
{
	many_within "stop" 60 many_each many_stop
	many_within "rm" 60 many_each many_remove
	int_nothing_left
	int_wait many_fds_back
	int_end
}
# Neither of its sessions nor of its clients is anything left in any of them.
many_fds_back()
{
	many_fds >fds.now
	paste -d ' ' fds.before fds.now | while read -r _ was _ is; do
		[ "$is" -le "$was" ] || return 1
	done
}

atf_test_case sessions
sessions_head()
{
	atf_set descr "200 sessions of four users at once: each sees its own; \
all are stopped, and nothing is left"
	atf_set require.user root
	atf_set timeout 240
}
sessions_body()
{
	many_begin
	many_within "new" 100 many_each many_start
	many_within "ls" 10 many_each many_own
	many_fds >fds.all
	many_bounded fds.before fds.all $((MANY_USERS * MANY_EACH))
	# What each has written is its own's.
	s=$(head -n 1 ids.2)
	many_as 2 sbxctl exec "$s" sh -c 'echo mine >f'
	many_as 2 sbxctl changes "$s" >changes
	atf_check -o match:'A  f' cat changes
	atf_check test ! -e "$many_project_2/f"
	int_refused 125 "no session's id" many_as 3 sbxctl exec "$s" true
	many_as 2 sbxctl discard --yes "$s" >discarded
	many_end
}

# trouble NAME COMMAND...: again and again, until calm is there.
trouble()
{
	trouble_name=$1
	shift
	while [ ! -e calm ]; do
		"$@" || :
		echo >>"$trouble_name.times"
	done >"$trouble_name.log" 2>&1 8<&- &
	troubles="${troubles-} $!"
}

# The last user's; what they do is that one's own to bear.
leave_exec()
{
	many_as 4 timeout -s KILL 0.2 sbxctl exec "$victim" yes >/dev/null
}
leave_attach()
{
	many_as 4 pty "$steps/leave" sbxctl attach "$victim" >/dev/null
}
leave_early()
{
	many_as 4 client "$SBX_STATE/sbxd.sock" halfway "$victim"
}
flood_requests()
{
	many_as 4 timeout 3 client "$SBX_STATE/sbxd.sock" mute 50000 <hang.in
}
flood_connections()
{
	many_as 4 client "$SBX_STATE/sbxd.sock" flood 500
}
flood_garbage()
{
	many_as 4 client "$SBX_STATE/sbxd.sock" garbage 20000
}

atf_test_case clients
clients_head()
{
	atf_set descr "clients that hang, flood and go away in the middle of \
attach and exec: others are answered all the time"
	atf_set require.user root
	atf_set timeout 240
}
clients_body()
{
	MANY_EACH=10
	many_begin
	many_each many_start
	victim=$(head -n 1 ids.4) calm=$(head -n 1 ids.2)
	other=$(head -n 1 ids.3)
	# Where each of them can read it.
	steps=$SBX_SCRATCH/steps
	mkdir "$steps"
	printf 'send noise\\n\nsleep 100\nhangup\nend\n' >"$steps/leave"
	printf 'expect got\ntouch seen\nawait calm\nend\n' >"$steps/stopped"
	{
		for i in $(seq 40); do
			printf 'send word%s\\n\nexpect got word%s\n' "$i" "$i"
			echo 'sleep 100'
		done
		printf 'send \\x1c\nexpect runs on\nend\n'
	} >"$steps/typed"
	mkfifo hang.in
	exec 8<>hang.in
	# Those that are there, and do nothing.
	many_as 4 client "$SBX_STATE/sbxd.sock" hold 60 <hang.in >hold.out 8<&- &
	hold=$!
	int_wait_file hold.out held
	# One that was stopped while it is written to.
	many_as 4 pty "$steps/stopped" sh -c 'echo $$ >pid
	    exec sbxctl attach "$0"' "$victim" >stopped.out 2>&1 8<&- &
	stopped=$!
	for w in leave_exec leave_attach leave_early flood_requests \
	    flood_connections flood_garbage; do
		trouble "$w" "$w"
	done
	# shellcheck disable=SC2154 # by many_users
	int_wait_file "$many_project_4/seen"
	kill -STOP "$(cat "$many_project_4/pid")"
	# Who is at a terminal meanwhile, at another user's.
	many_as 1 pty -w 10 "$steps/typed" sbxctl attach "$other" \
	    >typed.out 2>typed.err 8<&- &
	typed=$!
	slowest=0
	for i in $(seq 60); do
		t=$(date +%s%N)
		many_as 2 timeout 20 sbxctl exec "$calm" echo "$i" >said ||
		    atf_fail "exec $i: $?"
		atf_check_equal "$i" "$(cat said)"
		many_as 3 timeout 20 sbxctl ls >listed || atf_fail "ls: $?"
		t=$((($(date +%s%N) - t) / 1000000))
		[ "$t" -le "$slowest" ] || slowest=$t
	done
	echo "slowest exec and ls: $slowest ms"
	[ "$slowest" -lt 5000 ] || atf_fail "others wait $slowest ms"
	wait "$typed" || atf_fail "typed: $(tail -c 300 typed.out typed.err)"
	touch calm
	for p in $troubles; do
		wait "$p" || :
	done
	# All of it was there, more than once.
	for w in ./*.times; do
		atf_check test "$(wc -l <"$w")" -ge 2
	done
	atf_check -o match:'protocol' cat flood_garbage.log
	kill -9 "$(cat "$many_project_4/pid")"
	wait "$stopped" || :
	exec 8>&-
	wait "$hold" || :
	many_own 2 || atf_fail "not all of them run"
	atf_check_equal "$MANY_EACH" "$(grep -c running ls.2)"
	many_end
}

atf_init_test_cases()
{
	atf_add_test_case sessions
	atf_add_test_case clients
}
