# kill -9 of every program at every time: no process, mount, control group or
# half a landing is left, and what a session did is kept.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/kill.sh"

# One suite, one live session that changed something; $1 is killed.
broker_one()
{
	victim=$1
	int_who user
	int_suite
	int_live kill sh -c 'echo in >f; echo in >>a.txt; setsid sleep 777 &
	    exec sleep 778'
	int_wait sh -c "sbxctl changes $sid 9>&- | grep -q 'A  f'"
	# The oldest: mountd has a child that waits.
	pid=$(pgrep -ox "$victim") || atf_fail "no $victim"
	kill -9 "$pid"
	status=0
	wait "$live" || status=$?
	exec 9>&-
	# One line, and not the command's status, which it has none of.
	[ "$status" -ne 0 ] || atf_fail "$victim: sbxctl ended with 0"
	atf_check_equal 1 "$(grep -c . kill.err)"
	wait "$sbx_suite" || :
	case $victim in
	mountd) all_gone but-group ;;
	*) all_gone ;;
	esac
	atf_check -s exit:1 -o empty pgrep -f 'sleep 77[78]'
	# The layer is kept, and lands.
	int_suite
	atf_check -o match:"^$sid .*ended" sbxctl ls
	atf_check -o match:'A  f' -o match:'M  a.txt' sbxctl changes "$sid"
	atf_check -o match:'2 files landed' sbxctl apply --yes "$sid"
	atf_check -o ignore sbxctl rm "$sid"
	int_state_check
	int_stop
	all_gone
}

for int_case in sbxd spawn netd mountd landd; do
	eval "${int_case}_head() {
		atf_set descr 'kill -9 of $int_case: the suite ends, layers stay'
		atf_set require.user root
		atf_set timeout 60
	}
	${int_case}_body() {
		int_tools
		int_clean_mark
		broker_one $int_case
	}"
done

atf_test_case session
session_head()
{
	atf_set descr "kill -9 of sbxctl, worker, init, the command: the \
session ends, the suite goes on"
	atf_set require.user root
	atf_set timeout 120
}
session_body()
{
	int_begin
	int_who user
	for victim in sbxctl sbx-worker sbx-init command; do
		int_live "v$victim" sh -c 'echo in >f; setsid sleep 777 &
		    exec sleep 778'
		int_wait sh -c "sbxctl changes $sid 9>&- | grep -q 'A  f'"
		case $victim in
		sbxctl) pid=$live ;;
		command) pid=$(pgrep -f '^sleep 778') ;;
		*) pid=$(pgrep -ox "$victim") ;;
		esac
		kill -9 "$pid" || atf_fail "no $victim"
		status=0
		wait "$live" || status=$?
		exec 9>&-
		case $victim in
		command | sbxctl) atf_check_equal 137 "$status" ;;
		*) atf_check_equal 125 "$status" ;;
		esac
		int_wait sh -c "sbxctl ls | grep -q '^$sid .*ended'"
		int_wait sh -c '! pgrep -f "sleep 77[78]" >/dev/null'
		int_wait sh -c '! ps -eo comm= | grep -qxE "sbx-(worker|init)"'
		atf_check -o match:'A  f' sbxctl changes "$sid"
		atf_check -o ignore sbxctl rm --discard "$sid"
		atf_check -o inline:'on\n' run -- echo on
	done
	int_end
}

atf_test_case starting
starting_head()
{
	atf_set descr "D74: killed 0 to 30 ms after the start of a session"
	atf_set require.user root
	atf_set timeout 120
}
starting_body()
{
	int_tools
	int_who user
	int_clean_mark
	i=0
	for victim in sbxd sbxctl spawn mountd sbx-worker sbx-init sbxd sbxctl landd \
	    netd sbxd spawn; do
		i=$((i + 1))
		int_suite
		(cd "$P" && exec sbxctl run --as "$int_user" -- sh -c \
		    "echo $i >f$i; exec sleep 779") >out 2>err &
		ctl=$!
		sleep "0.0$((i * 7 % 30 + 10))"
		if [ "$victim" = sbxctl ]; then
			kill -9 "$ctl"
		else
			# A session's may not be there yet; then it is sbxd.
			# shellcheck disable=SC2046 # pids
			kill -9 $(pgrep -x "$victim" || echo "$sbx_suite")
		fi
		# One that came too late for it starts a suite of its own.
		while kill -0 "$ctl" 2>/dev/null; do
			pkill -9 -f '^sbxd -e' || sleep 0.1
		done
		case $victim in
		sbx-worker | sbx-init | sbxctl)
			wait "$ctl" || :
			int_wait sh -c '! pgrep -f "sleep 77[9]" >/dev/null'
			kill "$sbx_suite" 2>/dev/null || :
			;;
		*) wait "$ctl" || : ;;
		esac
		wait "$sbx_suite" || :
		all_gone but-group
	done
	# What is in the state can be looked at and removed, each of them.
	int_suite
	for sid in $(sbxctl ls | awk 'NR > 1 { print $1 }'); do
		# One that never ran has nothing to land, and says so.
		sbxctl changes "$sid" >out 2>err ||
		    atf_check -o match:'never came to run' cat err
		atf_check -o ignore sbxctl rm --discard "$sid"
	done
	int_state_check
	int_stop
	all_gone
	# At a killed start the layer may be there without a record: swept.
	atf_check_equal "" "$(ls "$SBX_STATE/s")"
}

# The child that mountd has made for the next session: $spare. Others come and
# go; this one's number is in the name of the layer that it has made.
spare()
{
	int_wait sh -c 'd=$(ls -dA "$SBX_STATE"/s/.[0-9]*) &&
	    kill -0 "${d##*/.}" && [ -d "$d/w/work" ]' 2>/dev/null
	spare=$(ls -dA "$SBX_STATE"/s/.[0-9]*)
	spare=${spare##*/.}
}

atf_test_case spareless
spareless_head()
{
	atf_set descr "a suite that was started for one command prepares for \
no other"
	atf_set require.user root
	atf_set timeout 60
}
spareless_body()
{
	int_tools
	int_who root
	int_live live sleep 1000
	# Long after a spare would have been made.
	sleep 0.3
	atf_check -o inline:'1\n' pgrep -cx mountd
	atf_check -o inline:'1\n' pgrep -cx sbx-init
	kill "$live"
	exec 9>&-
	wait "$live"
	int_wait sh -c '! pgrep -x sbxd'
}

atf_test_case spare
spare_head()
{
	atf_set descr "mountd's waiting child killed, stopped, taken already"
	atf_set require.user root
	atf_set timeout 60
}
spare_body()
{
	int_begin
	int_who user
	spare
	kill -9 "$spare"
	int_wait test ! -e "$SBX_STATE/s/.$spare"
	atf_check -o inline:'one\n' run -- echo one
	# At once after the last: of four at a time one at most has it.
	spare
	pids=
	for i in 1 2 3 4; do
		run -- echo "$i" >"out.$i" 2>&1 &
		pids="$pids $!"
	done
	for i in $pids; do
		wait "$i" || atf_fail "$(cat out.*)"
	done
	atf_check -o inline:'1\n2\n3\n4\n' cat out.1 out.2 out.3 out.4
	# Made while an older session ends: that one's lock is not kept by it.
	cd "$P" || atf_fail "$P"
	for i in 1 2 3 4 5 6 7 8 9 10; do
		for j in 00 01 02 03 04 015 025 035; do
			sbxctl run $AS -- true || atf_fail "status $?"
			sleep "0.$j"
		done
	done
	cd "$SBX_SCRATCH" || atf_fail "$SBX_SCRATCH"
	int_state_check
	# What was in its way is no matter to a session that comes later.
	spare
	mount --bind "$P/a.txt" /dev/full
	atf_check run -- true
	int_wait grep -q 'no mounts beforehand' "$SBX_SCRATCH/sbxd.log"
	umount /dev/full
	atf_check -o inline:'three\n' run -- echo three
	spare
	kill -STOP "$spare"
	int_refused 125 'nothing in ten seconds' run -- true
	atf_check -o inline:'two\n' run -- echo two
	int_state_check
	int_end
}

atf_test_case procfs
procfs_head()
{
	atf_set descr "/proc made beforehand, of the pid namespace of the pair \
that waits: taken, or made anew where that pair has died"
	atf_set require.user root
	atf_set timeout 60
}
# proc_made: of a session's /proc, before or after the session was asked for.
proc_made() {
	now=$(date +%s.%N)
	made=$(run -- sh -c 'test "$(cat /proc/1/comm)" = sbx-init &&
	    test "$(ls -d /proc/[0-9]* | wc -l)" -lt 6 &&
	    test -d /proc/$$ && ! test -s /proc/kallsyms &&
	    ! sh -c "echo 1 >/proc/sys/kernel/printk" 2>/dev/null &&
	    stat -c %.9Z /proc')
	[ -n "$made" ] || atf_fail "no /proc as it should be"
	awk -v m="$made" -v n="$now" 'BEGIN { print m < n ? "early" : "late" }'
}
# proc_early TIME: the pair being there does not say that mountd's child has
# made its /proc, which may take its time: one of some sessions has it.
proc_early() {
	for i in $(seq 20); do
		spare
		int_wait int_spares
		proc_is=$(proc_made)
		[ "$proc_is" != early ] || return 0
	done
	atf_fail "time $1: no /proc made beforehand in $i sessions"
}
procfs_body()
{
	int_begin
	int_who user
	int_suites=1
	proc_early 1
	proc_early 2
	spare
	int_wait int_spares
	kill -9 $(pgrep -x sbx-spare)
	atf_check_equal late "$(proc_made)"
	int_state_check
	int_end
}

# early CHANGE [OPTION...] COMMAND...: a kept session that a spare child gets
# after CHANGE; early_is: the overlay of "/" that it had made was taken, or
# made anew.
early() {
	spare
	before=$(stat -c %w "$SBX_STATE/s/.$spare")
	eval "$1"
	shift
	run --keep "$@" >keep.out 2>keep.err || atf_fail "$(cat keep.err)"
	int_kept keep.err
}
early_is() {
	is=anew
	# By its birth: a number may come again.
	[ "$(stat -c %w "$SBX_STATE/s/$sid/0")" != "$before" ] || is=taken
	atf_check_equal "$1" "$is"
	atf_check -o ignore sbxctl rm --discard "$sid"
}

atf_test_case early
early_head()
{
	atf_set descr "the overlay of / made beforehand: taken where nothing \
has changed since, else made anew; nothing of it is left"
	atf_set require.user root
	atf_set timeout 120
}
early_body()
{
	int_begin
	int_who user
	early : -- true
	early_is taken
	# Whom the folders above the state let in: as it is now.
	early 'chmod 0711 "$SBX_SCRATCH"' -- stat -c %a "$SBX_SCRATCH"
	early_is anew
	atf_check -o inline:'711\n' cat keep.out
	chmod 0755 "$SBX_SCRATCH"
	# A mount that has come meanwhile is there.
	early 'mkdir "$SBX_SCRATCH/m"; mount -t tmpfs m "$SBX_SCRATCH/m"
	    echo mounted >"$SBX_SCRATCH/m/f"' -- cat "$SBX_SCRATCH/m/f"
	early_is anew
	atf_check -o inline:'mounted\n' cat keep.out
	umount "$SBX_SCRATCH/m"
	rmdir "$SBX_SCRATCH/m"
	# What is to be hidden is.
	echo secret >"$SBX_SCRATCH/hidden"
	early : --hide "$SBX_SCRATCH/hidden" -- cat "$SBX_SCRATCH/hidden"
	early_is anew
	atf_check -o empty cat keep.out
	rm "$SBX_SCRATCH/hidden"
	# A suite that is killed leaves it to the next one; one that ends, none.
	spare
	kill -9 $(pgrep -x mountd)
	wait "$sbx_suite" || :
	mkdir "$SBX_STATE/s/.1"
	int_suite
	[ ! -e "$SBX_STATE/s/.1" ] || atf_fail "an old suite's is left"
	atf_check -o inline:'one\n' run -- echo one
	int_stop
	# It has waited for them.
	atf_check -s exit:1 pgrep -x 'spawn|mountd'
	int_clean_check
	atf_check_equal "" "$(ls -A "$SBX_STATE/s")"
}

atf_test_case landing
landing_head()
{
	atf_set descr "killed while it lands: all or nothing, after the next \
start"
	atf_set require.user root
	atf_set timeout 240
}
landing_body()
{
	int_tools
	int_who user
	int_clean_mark
	landing_rounds 60 land sbxd landd mountd sbxctl spawn
}

# killed_at N COMMAND...: sbxd and the child are killed when the child that the
# command needs is at its Nth rename.
killed_at()
{
	rm -f stall.out
	stall "$(pgrep -x spawn)" renameat2 "$1" >stall.out 2>stall.err &
	stall=$!
	shift
	int_wait_file stall.out ready
	"$@" >out 2>err &
	ctl=$!
	int_wait_file stall.out stalled
	kill -9 "$sbx_suite"
	kill -9 "$(sed -n 's/^stalled //p' stall.out)"
	kill -9 "$stall"
	wait "$ctl" "$stall" || :
	wait "$sbx_suite" || :
	all_gone but-group
}
# How many of the twenty hold what the session wrote.
new_ones()
{
	grep -lx new "$P"/m?? | wc -l
}

atf_test_case rollback
rollback_head()
{
	atf_set descr "killed while a recovery goes back: the next one ends it"
	atf_set require.user root
	atf_set timeout 120
}
rollback_body()
{
	int_tools
	int_who user
	int_clean_mark
	int_suite
	for i in $(seq 11 30); do echo "old $i" >"$P/m$i"; done
	echo z >"$P/z"
	chown "$int_user:" "$P"/*
	int_keep sh -c 'for i in $(seq 11 30); do echo new >m$i; done
	    echo new >z; rm Makefile; mkdir d; echo d >d/d'
	# The landing itself, after some of its steps.
	killed_at 6 sbxctl apply --yes "$sid"
	done=$(new_ones)
	[ "$done" -gt 0 ] && [ "$done" -lt 6 ] || atf_fail "$done are new"
	# It cannot go forward any more: the owner has the last file.
	echo owner >>"$P/z"
	# Not at the start already, but when we look.
	mv "$P" "$P.away"
	int_suite
	int_wait_file "$SBX_SCRATCH/sbxd.log" 'recovering its landing'
	mv "$P.away" "$P"
	# The other steps forward, the last one's exchange and its undoing, and
	# then some back again: forward there are no more than 21.
	killed_at $((21 - done + 10)) sbxctl changes "$sid"
	n=$(new_ones)
	[ "$n" -gt 0 ] && [ "$n" -lt 20 ] ||
	    atf_fail "not half way back: $n are new"
	atf_check test -e "$SBX_STATE/sbxd/$sid/journal"
	int_suite
	int_wait test ! -e "$SBX_STATE/sbxd/$sid/journal"
	atf_check_equal 0 "$(new_ones)"
	for i in $(seq 11 30); do echo "old $i" | cmp - "$P/m$i"; done ||
	    atf_fail "not as it was"
	atf_check -o inline:'z\nowner\n' cat "$P/z"
	atf_check test -e "$P/Makefile" -a ! -e "$P/d"
	atf_check -o empty find "$P" -name '*sbx-land*'
	# The session has its changes still; what the owner changed is told.
	atf_check -o match:'^23 files' -o match:'M  z .*DRIFTED' \
	    sbxctl changes "$sid"
	atf_check -s exit:1 -o ignore -e match:'changed since' \
	    sbxctl apply --yes "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_state_check
	int_stop
	all_gone
}

atf_test_case ended
ended_head()
{
	atf_set descr "the journal of a landing that has ended comes back: \
what the owner and the session did since stays"
	atf_set require.user root
	atf_set timeout 120
}
# The kept journal is back in its place.
ended_back()
{
	ln "$SBX_STATE/sbxd/$sid/kept" "$SBX_STATE/sbxd/$sid/journal"
	before=$(sbx_tree "$P")
}
ended_body()
{
	int_tools
	int_who user
	int_clean_mark
	int_suite
	int_live ended sh
	echo 'echo in >>a.txt; echo in >made; rm Makefile; echo done' >&9
	int_wait_file ended.out 'done'
	# sbxd opens one that is there; a second name of it outlives it.
	install -m 0600 /dev/null "$SBX_STATE/sbxd/$sid/kept"
	chown --reference="$SBX_STATE/sbxd/$sid/seal" \
	    "$SBX_STATE/sbxd/$sid/kept"
	ln "$SBX_STATE/sbxd/$sid/kept" "$SBX_STATE/sbxd/$sid/journal"
	atf_check -o match:'3 files landed' sbxctl apply --yes "$sid"
	atf_check test ! -e "$SBX_STATE/sbxd/$sid/journal" -a \
	    -s "$SBX_STATE/sbxd/$sid/kept"
	# Both go on. Of an unfinished landing this would be taken back now.
	echo owner >"$P/t" && chown "$int_user:" "$P/t" && mv "$P/t" "$P/made"
	echo 'echo more >>a.txt; echo again' >&9
	int_wait_file ended.out again
	ended_back
	int_refused 1 'is now finished' sbxctl changes "$sid"
	atf_check test ! -e "$SBX_STATE/sbxd/$sid/journal"
	int_same "$before" "$(sbx_tree "$P")" "a landing came back"
	atf_check -o match:'M  a.txt' -o match:'^1 file' sbxctl changes "$sid"
	exec 9>&-
	wait "$live" || atf_fail "$(cat ended.err)"
	# And at the suite's start.
	int_stop
	ended_back
	int_suite
	int_wait test ! -e "$SBX_STATE/sbxd/$sid/journal"
	int_same "$before" "$(sbx_tree "$P")" "a landing came back"
	atf_check -o match:'1 file landed' sbxctl apply --yes "$sid"
	atf_check -o match:'^in$' -o match:'^more$' cat "$P/a.txt"
	atf_check -o inline:'owner\n' cat "$P/made"
	rm "$SBX_STATE/sbxd/$sid/kept"
	atf_check -o ignore sbxctl rm "$sid"
	int_state_check
	int_stop
	all_gone
}

# unsealed: a suite killed when a session's record is there and no seal; its
# id is $sid.
unsealed()
{
	int_suite
	kill -STOP "$(pgrep -x landd)"
	run --keep -- sh -c 'echo in >f' >out 2>err &
	ctl=$!
	int_wait sh -c "ls $SBX_STATE/sbxd/*/record >/dev/null 2>&1"
	sid=$(basename "$(dirname "$SBX_STATE"/sbxd/*/record)")
	# Its layer is made meanwhile.
	int_wait test -d "$SBX_STATE/s/$sid"
	kill -9 "$sbx_suite"
	kill -CONT "$(pgrep -x landd)"
	wait "$ctl" || :
	wait "$sbx_suite" || :
	all_gone but-group
	atf_check test ! -e "$SBX_STATE/sbxd/$sid/seal"
}

atf_test_case unsealed
unsealed_head()
{
	atf_set descr "killed before a session had its seal: it has failed, \
and goes without --discard; not so after a power cut"
	atf_set require.user root
	atf_set timeout 60
}
unsealed_body()
{
	int_tools
	int_who user
	int_clean_mark
	unsealed
	# Twice: it stays so.
	for i in 1 2; do
		int_suite
		atf_check -o match:"^$sid .*failed" sbxctl ls
		atf_check -o match:'ended before its command ran' \
		    sbxctl show "$sid"
		int_refused 1 'never came to run' sbxctl changes "$sid"
		int_stop
	done
	int_suite
	atf_check -o match:removed sbxctl rm "$sid"
	int_state_check
	int_stop
	# Of another boot: then the seal may be what was lost.
	unsealed
	r=$SBX_STATE/sbxd/$sid/record
	LC_ALL=C sed "s/$(cat /proc/sys/kernel/random/boot_id)/$(
	    cat /proc/sys/kernel/random/uuid)/" "$r" >other
	atf_check -s exit:1 -o ignore cmp other "$r"
	cat other >"$r"
	int_suite
	atf_check -o match:"^$sid .*ended" sbxctl ls
	atf_check -o match:'machine went down' sbxctl show "$sid"
	int_refused 1 'no seal' sbxctl rm "$sid"
	int_state_check "$sid"
	atf_check -o match:removed sbxctl rm --discard "$sid"
	int_state_check
	int_stop
	all_gone
}

atf_test_case removed
removed_head()
{
	atf_set descr "what was removed stays so, though the suite is killed \
in the middle of it"
	atf_set require.user root
	atf_set timeout 60
}
removed_body()
{
	int_tools
	int_who user
	int_clean_mark
	for i in 1 2 3 4 5; do
		int_suite
		for j in 1 2 3; do
			atf_check run -- true
		done
		kill -9 "$sbx_suite"
		wait "$sbx_suite" || :
		all_gone but-group
		int_suite
		atf_check -o empty -e ignore sbxctl ls
		int_state_check
		int_stop
	done
	# Nor where it was cut off between any two of its files.
	for left in 'seal removed' removed 'record.new removed'; do
		mkdir "$SBX_STATE/sbxd/aaaaaaaaaaaa"
		for f in $left; do
			: >"$SBX_STATE/sbxd/aaaaaaaaaaaa/$f"
		done
		chown -R --reference="$SBX_STATE/sbxd" \
		    "$SBX_STATE/sbxd/aaaaaaaaaaaa"
		int_suite
		atf_check -o empty -e ignore sbxctl ls
		int_stop
		int_state_check
	done
	all_gone
}

atf_init_test_cases()
{
	for c in sbxd spawn netd mountd landd session starting spare \
	    spareless procfs early landing rollback ended unsealed removed; do
		atf_add_test_case "$c"
	done
}
