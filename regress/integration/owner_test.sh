# Who lands and discards: the session's owner and root. The user that it runs as
# looks, as admins do; for everybody else it is not there.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# asked FILE USER [WHAT]: that one's connection is answered what the file says.
asked()
{
	setpriv --reuid "$2" --clear-groups \
	    "$tools/client" "$SBX_STATE/sbxd.sock" "${3:-owner}" "$sid" >answers ||
	    atf_fail "status $? of client"
	int_same "$(cat "$1")" "$(cat answers)" "not what $2 may"
}

atf_test_case theirs
theirs_head()
{
	atf_set descr "the session's user and admins look, others see nothing"
	atf_set require.user root
}
theirs_body()
{
	echo '{"roles": {"admin": [23456]}}' >conf
	int_begin -f "$PWD/conf"
	# No group of this machine is the suite's: as if all were in it.
	chmod 0666 "$SBX_STATE/sbxd.sock"
	int_who user
	int_keep sh -c 'echo mine >>a.txt'
	before=$(int_bytes "$P")
	cat >look <<-EOT
		SHOW: SESSION
		WAIT: auth.denied
		REMOVE: auth.denied
		DISCARD: auth.denied
		APPLY: auth.denied
	EOT
	asked look "$int_user"
	sed 's/: .*/: session.unknown/' look >none
	asked look 23456
	asked none 34567
	# Running, its user cannot have it removed at its end either.
	kept=$sid
	int_live live cat
	asked look "$int_user"
	asked look 23456
	asked none 34567
	exec 9>&-
	wait "$live" || atf_fail "status $? of cat"
	atf_check -o match:"^$sid .*ended" -o match:"^$kept .*ended" sbxctl ls
	int_same "$before" "$(int_bytes "$P")" "the project has changed"
	# Not from a pid namespace below the suite's, as sessions of users' own
	# suites have, whoever let the socket be seen in there.
	int_refused 1 'inside of a session, or of a container' setpriv \
	    --reuid "$int_user" --clear-groups unshare -Upf sbxctl ls
	atf_check -o match:"^$sid" setpriv --reuid "$int_user" --clear-groups \
	    unshare -U sbxctl ls
	# The owner, asked the same, does.
	sid=$kept
	atf_check -o match:'REMOVE: OK' "$tools/client" \
	    "$SBX_STATE/sbxd.sock" owner "$sid"
	atf_check -o not-match:"$kept" sbxctl ls
	int_end
}

atf_test_case life
life_head()
{
	atf_set descr "who stops, kills, resumes, explains and measures"
	atf_set require.user root
}
life_body()
{
	echo '{"roles": {"admin": [23456]}}' >conf
	int_begin -f "$PWD/conf"
	chmod 0666 "$SBX_STATE/sbxd.sock"
	int_who user
	int_keep sh -c 'echo mine >>a.txt'
	cat >all <<-EOT
		EXPLAIN: EXPLAINED
		DU: MEASURED
		RESUME: SESSION
		STOP: SESSION
		KILL: SESSION
	EOT
	# Its user looks: another command would get what the owner put into
	# the environment.
	sed '/RESUME\|STOP\|KILL/s/: .*/: auth.denied/' all >look
	asked look "$int_user" life
	# An admin looks and ends, but runs nothing as somebody else.
	sed '/RESUME/s/: .*/: auth.denied/' all >admin
	asked admin 23456 life
	sed 's/: .*/: session.unknown/' all >none
	asked none 34567 life
	# Root resumes everybody's, by its log where it is another's.
	asked all root life
	int_wait sh -c "sbxctl show $sid | grep -q '^state *ended'"
	! grep -q "resume by" "$SBX_SCRATCH/sbxd.log" || atf_fail "its own is logged"
	kept=$sid
	sid=$(sbx-as "$int_user" sh -c 'cd "$0" && exec sbxctl run --keep -- \
	    true' "$P" 2>&1 </dev/null) || atf_fail "run: $sid"
	echo "$sid" >user.err
	int_kept user.err
	asked admin 23456 life
	asked all "$int_user" life
	int_wait sh -c "sbxctl show $sid | grep -q '^state *ended'"
	asked all root life
	int_wait sh -c "sbxctl show $sid | grep -q '^state *ended'"
	atf_check -o match:"session $sid: resume by uid 0, whose owner is" \
	    grep "resume by" "$SBX_SCRATCH/sbxd.log"
	own=$sid
	sid=$kept
	int_live live cat
	sed '/RESUME/s/: .*/: session.running/' all >running
	asked none 34567 life
	asked look "$int_user" life
	asked admin 23456 life
	exec 9>&-
	wait "$live" && atf_fail "it was not ended"
	atf_check -o match:'reason *stopped by uid 23456$' sbxctl show "$sid"
	cat >odd <<-EOT
		RESUME: resume.invalid
		RESUME: resume.invalid
		RESUME: resume.invalid
		RESUME: resume.invalid
		RESUME: resume.invalid
		EXPLAIN: explain.invalid
		EXPLAIN: auth.denied
		EXPLAIN: explain.invalid
		EXPLAIN: repo.invalid
		EXPLAIN: repo.invalid
		EXPLAIN: EXPLAINED
		GC: END
	EOT
	asked odd root odd
	sed '1,5s/: .*/: auth.denied/' odd >denied
	asked denied "$int_user" odd
	sid=$own
	asked odd "$int_user" odd
	int_end
}

atf_test_case share
share_head()
{
	atf_set descr "what a user's sessions cost is bounded, at a resume too"
	atf_set require.user root
}
share_body()
{
	int_begin
	chmod 0666 "$SBX_STATE/sbxd.sock"
	int_who user
	HOME=$int_user_home setpriv --reuid "$int_user" --regid "$int_user" \
	    --clear-groups "$tools/client" "$SBX_STATE/sbxd.sock" full "$P" \
	    >answers || atf_fail "status $? of client"
	atf_check -o match:'^[34][0-9]: limit.sessions$' cat answers
	int_end
}

# many N: as many records as if there were N more like session $sid.
many()
{
	python3 - "$SBX_STATE/sbxd" "$sid" "$1" <<-'EOT'
		import itertools, os, shutil, sys
		top, sid, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
		old = os.path.join(top, sid)
		own = os.stat(old)
		with open(os.path.join(old, "record"), "rb") as f:
		    record = f.read()
		mode = os.stat(os.path.join(old, "record")).st_mode & 0o777
		assert record.count(sid.encode()) == 1
		made = 0
		for t in itertools.product("abcdefghij", repeat=3):
		    new = "".join(t) + sid[3:]
		    if made == n or new == sid:
		        continue
		    d = os.path.join(top, new)
		    os.mkdir(d, own.st_mode & 0o777)
		    r = os.path.join(d, "record")
		    with open(r, "wb") as f:
		        f.write(record.replace(sid.encode(), new.encode()))
		    os.chmod(r, mode)
		    os.chown(r, own.st_uid, own.st_gid)
		    os.chown(d, own.st_uid, own.st_gid)
		    made += 1
		assert made == n
	EOT
}

atf_test_case roots_own
roots_own_head()
{
	atf_set descr "however many sessions users have, root can start one"
	atf_set require.user root
}
roots_own_body()
{
	int_begin
	chmod 0666 "$SBX_STATE/sbxd.sock"
	int_who user
	int_keep true
	int_stop
	many 959
	int_suite
	chmod 0666 "$SBX_STATE/sbxd.sock"
	atf_check -o match:'^960$' sh -c 'sbxctl ls --json | python3 -c "
import json, sys
print(len(json.load(sys.stdin)[\"sessions\"]))"'
	HOME=$int_user_home setpriv --reuid "$int_user" --regid "$int_user" \
	    --clear-groups sh -c 'cd "$0" && sbxctl run --keep -- true' "$P" \
	    </dev/null >mine 2>&1 && atf_fail "$(cat mine)"
	atf_check -o match:'there are too many sessions' cat mine
	int_who root
	atf_check -o ignore -e ignore sbxctl new --repo "$P" -- true
	int_stop
}

atf_init_test_cases()
{
	atf_add_test_case roots_own
	atf_add_test_case theirs
	atf_add_test_case life
	atf_add_test_case share
}
