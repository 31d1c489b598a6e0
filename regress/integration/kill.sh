# What the tests have in common that kill programs of the suite.
# shellcheck shell=sh disable=SC2154
. "$SBX_SRC/regress/integration/lib.sh"

# The suite ended or was ended; nothing of it is there but its state. Where
# mountd was killed, who removes the suite's control group, the next start
# does: "all_gone but-group" lets it stay.
all_gone()
{
	n=0
	while ps -eo comm= | grep -qxE \
	    'sbxd|spawn|netd|mountd|landd|land|sbx-(worker|init|land)'; do
		n=$((n + 1))
		[ "$n" -lt 50 ] || atf_fail "still there: $(ps -eo pid,args)"
		sleep 0.1
	done
	# The machine may have some of its own.
	grep -vxF -f "$SBX_SCRATCH/.mark" /proc/self/mountinfo >mounts || :
	atf_check -s exit:1 -o empty grep -e ' sbx ' -e ' overlay ' mounts
	if [ "${1-}" = but-group ]; then
		for g in $(int_cleanstate | grep -E '/sbx-[0-9.]+(/.*)?$'); do
			case $g in
			*/sbx-*/spawn | */sbx-*[0-9]) ;;
			*) atf_fail "a session's control group is left: $g" ;;
			esac
		done
		return
	fi
	int_clean_check
}

# The tree is as before the landing, or as after it, never between.
landing_one()
{
	victim=$1 delay=$2
	int_suite
	int_live_done
	before=$(int_content "$P")
	sbxctl apply --yes "$sid" >out 2>err &
	ctl=$!
	sleep "$delay"
	# A child may come later in a slow build; where it has gone already,
	# sbxd falls.
	until [ "$victim" = sbxctl ] || pids=$(pgrep -x "$victim"); do
		if ! kill -0 "$ctl" 2>/dev/null; then
			victim=sbxd pids=$sbx_suite
			break
		fi
	done
	[ "$victim" != sbxctl ] || pids=$ctl
	# shellcheck disable=SC2086
	kill -9 $pids
	status=0
	wait "$ctl" || status=$?
	case $victim in
	sbxctl | land)
		# The suite lives; it ends what it began.
		int_wait sh -c "sbxctl changes $sid >/dev/null 2>&1"
		;;
	*)
		wait "$sbx_suite" || :
		all_gone but-group
		int_suite
		int_wait sh -c "sbxctl changes $sid >/dev/null 2>&1"
		;;
	esac
	now=$(int_content "$P")
	if [ "$now" = "$before" ]; then
		echo "$victim after $delay: rolled back"
		atf_check -o match:"^$changes files" sbxctl changes "$sid"
		atf_check -o match:"$changes files landed" sbxctl apply --yes "$sid"
	else
		echo "$victim after $delay: landed"
	fi
	int_same "$after" "$(int_content "$P")" "half a landing: $victim $delay"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	atf_check -o empty find "$P" -name .git -prune -o -name '*sbx*' -print
	atf_check -o ignore sbxctl rm "$sid"
	int_stop
	all_gone
}
# A project and a session of it that has ended, with that many changes.
int_live_done()
{
	rm -rf "$P"
	sbx_repo "$P" "$int_user"
	(cd "$P" && for i in $(seq $((2 * files))); do
		echo "old $i" >"m$i"; done && chown "$int_user:" m*)
	int_keep sh -c 'for i in $(seq $0); do echo new >m$i; rm m$(($0 + i))
	    mkdir -p d; echo n >d/$i; done; echo x >>a.txt; rm Makefile' \
	    "$files"
	[ -n "${after-}" ] || {
		atf_check -o ignore sbxctl apply --yes "$sid"
		after=$(int_content "$P")
		atf_check -o ignore sbxctl rm "$sid"
		int_live_done
	}
}


# landing_rounds FILES VICTIM...: each killed at another moment.
landing_rounds()
{
	files=$1 changes=$((3 * $1 + 2))
	shift
	d=0
	for victim in "$@"; do
		d=$((d + 1))
		landing_one "$victim" "0.$(printf %03d $((d * 37 % 230 + 5)))"
	done
}
