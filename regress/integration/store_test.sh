# du and gc: what sessions take on the disk, and what goes of it unasked.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

atf_test_case du
du_head()
{
	atf_set descr "du: bytes and inodes, as du counts them"
	atf_set require.user root
}
du_body()
{
	int_begin
	atf_check -o empty sbxctl du
	atf_check -o save:du.json sbxctl du --json
	int_json du.json 'o == {"sessions": [], "bytes": 0, "inodes": 0}'
	int_who root
	int_keep true
	small=$sid
	# Sparse, linked, deep, odd: and of /home and the project.
	int_keep sh -c 'head -c 3000000 /dev/zero >big; truncate -s 1G sparse
		ln big big2; ln -s big mylink; mkfifo fifo
		i=0; while [ $i -lt 300 ]; do mkdir d; cd d; i=$((i + 1)); done
		echo deep >f; echo home >~/h; rm -f /etc/fstab; exit 0'
	large=$sid
	atf_check -o save:du.json sbxctl du --json
	for s in "$small" "$large"; do
		bytes=$(du -s -B1 "$SBX_STATE/s/$s" | cut -f1)
		inodes=$(du -s --inodes "$SBX_STATE/s/$s" | cut -f1)
		int_json du.json "[x for x in o['sessions'] if x['session'] == \
		    '$s'][0]['bytes'] == $bytes" \
		    "[x for x in o['sessions'] if x['session'] == \
		    '$s'][0]['inodes'] == $inodes" 'len(o["sessions"]) == 2'
	done
	int_json du.json 'o["bytes"] == sum(x["bytes"] for x in o["sessions"])' \
	    'o["inodes"] == sum(p["inodes"] for x in o["sessions"]
		for p in x["parts"])' 'o["bytes"] > 3000000'
	atf_check -o save:one.json sbxctl du --json "$large"
	int_json one.json 'len(o["sessions"]) == 1' \
	    "{p['path'] for p in o['sessions'][0]['parts'] if 'path' in p} >= \
	    {'/', '$P', '$HOME'}" \
	    "3000000 < [p['bytes'] for p in o['sessions'][0]['parts']
		if p.get('path') == '$P'][0] < 5000000" \
	    'all(p["kind"] in ("layer", "stage", "rest") for p in
		o["sessions"][0]["parts"])'
	atf_check -o match:'ON DISK +INODES  SESSION' \
	    -o match:"[0-9.]+ MiB +[0-9]+  $large\$" \
	    -o match:'[0-9.]+ MiB +[0-9]+  all$' sbxctl du
	atf_check -o match:"MiB +[0-9]+  $P\$" -o match:'  /$' \
	    -o match:'(the rest)' -o not-match:"$small" sbxctl du "$large"
	# While it is written to, and moved about under our feet.
	int_live busy sh -c 'mkdir -p a/b/c b; while :; do mv a/b b/x
		mv b/x a/b; mkdir a/b/c/n; rmdir a/b/c/n; done'
	i=0
	while [ $i -lt 20 ]; do
		sbxctl du --json busy >busy.json 2>err 9>&- ||
		    atf_fail "$(cat err)"
		i=$((i + 1))
	done
	int_json busy.json 'o["inodes"] > 3'
	sbxctl kill busy >/dev/null 9>&- || atf_fail kill
	wait "$live" || :
	exec 9>&-
	# A layer that is gone costs nothing, and is no error.
	rm -r "$SBX_STATE/s/$small"
	atf_check -o save:du.json sbxctl du --json "$small"
	int_json du.json 'o["bytes"] == 0' 'o["inodes"] == 0'
	int_refused 1 'no session' sbxctl du nosuch
	int_refused 2 'one word too many' sbxctl du a b
	int_end
}

atf_test_case collected
collected_head()
{
	atf_set descr "gc: what has ended without changes, and nothing else"
	atf_set require.user root
}
collected_body()
{
	int_begin
	int_who root
	int_keep true
	clean=$sid
	int_keep sh -c 'echo x >f'
	changed=$sid
	int_keep sh -c 'echo x >main'
	ignored=$sid
	int_keep sh -c 'git commit -q --allow-empty -m c'
	committed=$sid
	# Written, and as it was before: nothing is in the way.
	int_keep sh -c 'cp -a a.txt t; echo y >>a.txt; mv t a.txt'
	back=$sid
	# Elsewhere only: that never lands.
	int_keep sh -c 'echo h >~/elsewhere'
	home=$sid
	int_live lives sleep 1000
	lives=$sid
	before=$(sbx_tree "$P")
	# Too young, all of them.
	atf_check -o inline:'0 removed, 0 B and 0 inodes on the disk\n' \
	    sbxctl gc 9>&-
	atf_check -o inline:'0 removed, 0 B and 0 inodes on the disk\n' \
	    sbxctl gc --older 1h 9>&-
	# Said, and not done.
	atf_check -o save:dry.json sbxctl gc --dry-run --older 0 --json 9>&-
	bytes=$(du -s -B1 "$SBX_STATE/s/$clean" | cut -f1)
	int_json dry.json "{x['what'] for x in o['removed']} == \
	    {'$clean', '$back', '$home'}" "{x['what'] for x in o['kept']} == \
	    {'$changed', '$ignored', '$committed'}" 'o["dry_run"]' \
	    "[x['bytes'] for x in o['removed'] if x['what'] == '$clean'] == \
	    [$bytes]" 'all(x["why"] for x in o["kept"])' \
	    'o["bytes"] == sum(x["bytes"] for x in o["removed"])'
	int_state_check "$clean" "$changed" "$ignored" "$committed" "$back" \
	    "$home" "$lives"
	sbxctl gc --older 0s >gc.out 2>gc.err 9>&- || atf_fail "$(cat gc.err)"
	for s in "$clean" "$back" "$home"; do
		grep -q "^session $s: removed: .*iB, [0-9]* inodes\$" gc.out ||
		    atf_fail "$s is not removed: $(cat gc.out)"
	done
	grep -q "^session $changed: kept: changes of it wait\$" gc.out ||
	    atf_fail "$(cat gc.out)"
	grep -q "^3 removed, .*iB and [0-9]* inodes on the disk\$" gc.out ||
	    atf_fail "$(cat gc.out)"
	int_state_check "$changed" "$ignored" "$committed" "$lives"
	int_same "$before" "$(sbx_tree "$P")" "gc touched the project"
	atf_check_equal running "$(int_state lives)"
	atf_check -o match:'A  f ' sbxctl changes "$changed" 9>&-
	# The same again: there is nothing more.
	atf_check -o match:'^0 removed' sbxctl gc --older 0 9>&-
	sbxctl kill lives >/dev/null 9>&- || atf_fail kill
	wait "$live" || :
	exec 9>&-
	# What has landed all of it may go, and the folder of its landings.
	atf_check -o ignore sbxctl apply --yes "$changed"
	[ -d "$P/.git/sbx-land-$changed" ] || atf_fail "no landing folder"
	atf_check -o match:"session $changed: removed" sbxctl gc --older 0
	[ ! -e "$P/.git/sbx-land-$changed" ] || atf_fail "a landing folder"
	atf_check -o inline:'x\n' cat "$P/f"
	int_end
}

atf_test_case orphans
orphans_head()
{
	atf_set descr "gc: layers without a record, sockets, control groups"
	atf_set require.user root
}
orphans_body()
{
	int_begin
	int_who root
	int_keep true
	empty=$sid
	int_keep sh -c 'echo mine >f'
	full=$sid
	int_keep sh -c 'echo mine >f'
	broken=$sid
	int_stop
	# Records lost, and one that nobody can read any more.
	rm -r "$SBX_STATE/sbxd/$empty" "$SBX_STATE/sbxd/$full"
	echo garbage >"$SBX_STATE/sbxd/$broken/record"
	mkdir "$SBX_STATE/s/aaaaaaaaaaaa" "$SBX_STATE/s/nolayer"
	int_suite
	# A dead suite's socket; a group that nobody is in.
	uid=$(stat -c %u "$SBX_STATE/sbxd/w")
	python3 -c 'import os, socket, sys
os.chdir(sys.argv[1])
s = socket.socket(socket.AF_UNIX)
s.bind("bbbbbbbbbbbb")
os.chown("bbbbbbbbbbbb", int(sys.argv[2]), -1)
open("cccccccccccc", "w")' "$SBX_STATE/sbxd/w" "$uid"
	group=$(sed -n 's/^0:://p' "/proc/$(pgrep -x spawn -P "$sbx_suite")/cgroup")
	v2=$(awk '$9 == "cgroup2" || $8 == "cgroup2" || $10 == "cgroup2" \
	    { print $5; exit }' /proc/self/mountinfo)
	group=$v2${group%/spawn}
	mkdir "$group/s7777" "$group/other" || atf_fail "group $group"
	atf_check -o save:dry.json sbxctl gc --dry-run --older 0 --json
	int_json dry.json "{(x['kind'], x['what']) for x in o['removed']} == \
	    {('layer', '$empty'), ('layer', 'aaaaaaaaaaaa'), \
	    ('socket', 'bbbbbbbbbbbb'), ('cgroup', 's7777')}" \
	    "{x['what'] for x in o['kept']} == {'$full', '$broken'}"
	[ -e "$SBX_STATE/s/$empty" ] && [ -d "$group/s7777" ] &&
	    [ -e "$SBX_STATE/sbxd/w/bbbbbbbbbbbb" ] ||
	    atf_fail "a dry run removes"
	atf_check -o match:"^layer $empty: removed" \
	    -o match:'^layer aaaaaaaaaaaa: removed' \
	    -o match:"^layer $full: kept: it has no record" \
	    -o match:"^layer $broken: kept: its record cannot be read" \
	    -o match:'^socket bbbbbbbbbbbb: removed' \
	    -o match:'^cgroup s7777: removed' \
	    -o match:'^4 removed' sbxctl gc --older 0
	[ ! -e "$SBX_STATE/s/$empty" ] && [ ! -e "$group/s7777" ] &&
	    [ ! -e "$SBX_STATE/sbxd/w/bbbbbbbbbbbb" ] ||
	    atf_fail "said and not done"
	[ -e "$SBX_STATE/sbxd/w/cccccccccccc" ] && [ -d "$group/other" ] &&
	    [ -d "$SBX_STATE/s/nolayer" ] || atf_fail "not its own"
	grep -q mine "$SBX_STATE/s/$full"/*/u/f || atf_fail "changes are gone"
	grep -q mine "$SBX_STATE/s/$broken"/*/u/f || atf_fail "changes are gone"
	rmdir "$group/other"
	# Told to, but never what a record may still know.
	atf_check -o match:"^layer $full: removed" \
	    -o match:"^layer $broken: kept" -o match:'^1 removed' \
	    sbxctl gc --older 0 --discard
	[ ! -e "$SBX_STATE/s/$full" ] || atf_fail "$full is there"
	# All of a user's own suite is that user's.
	int_who own
	sbx-own mkdir "$SBX_STATE/s/aaaaaaaaaaaa"
	sbx-own python3 -c 'import os, socket, sys
os.chdir(sys.argv[1])
socket.socket(socket.AF_UNIX).bind("bbbbbbbbbbbb")' "$SBX_STATE/sbxd/w"
	atf_check -o match:'^layer aaaaaaaaaaaa: removed' \
	    -o match:'^socket bbbbbbbbbbbb: removed' -o match:'^2 removed' \
	    sbxctl gc --older 0
	[ ! -e "$SBX_STATE/s/aaaaaaaaaaaa" ] || atf_fail "said and not done"
	int_end
}

atf_test_case words
words_head()
{
	atf_set descr "gc: ages, and what is none"
	atf_set require.user root
}
words_body()
{
	for a in '' x 7 -1 7x 1.5h ' 1' 1d2h 99999999999999999999 d 5000000000d
	do
		[ "$a" != 7 ] || continue
		int_refused 2 "not an age" sbxctl gc --older "$a"
		[ ! -e "$SBX_STATE" ] || atf_fail "something was started"
	done
	int_begin
	for a in 0 90s 30m 12h 7d 3650000d; do
		atf_check -o match:'^0 removed' sbxctl gc --older "$a"
	done
	int_refused 2 'one word too many' sbxctl gc x
	int_refused 2 'unknown option' sbxctl gc --force
	int_end
}

atf_test_case busy
busy_head()
{
	atf_set descr "gc: what is used meanwhile stays; several at once"
	atf_set require.user root
}
busy_body()
{
	int_begin
	int_who root
	i=0
	while [ $i -lt 8 ]; do
		int_keep sh -c 'cp -a a.txt t; mv t a.txt'
		[ $i -ne 3 ] || chosen=$sid
		i=$((i + 1))
	done
	# Who comes back to one is not disturbed, whoever wins.
	i=0 pids=''
	while [ $i -lt 4 ]; do
		sbxctl gc --older 0 >"gc.$i" 2>&1 </dev/null &
		pids="$pids $!"
		i=$((i + 1))
	done
	got=0
	sbxctl resume "$chosen" -- sh -c 'echo up; echo x >f' >re.out 2>&1 \
	    </dev/null || got=$?
	for pid in $pids; do
		wait "$pid" || :
	done
	int_suite_lives
	cat gc.* | grep -v 'another collection is at work' >all
	grep -q removed all || atf_fail "none of them did anything"
	if [ "$got" = 0 ]; then
		atf_check -o match:'A  f ' sbxctl changes "$chosen"
	else
		grep -q 'no session\|being reviewed\|is the inside' re.out ||
		    atf_fail "resume: $(cat re.out)"
	fi
	# A client that goes in the middle leaves a suite that goes on.
	i=0
	while [ $i -lt 5 ]; do
		int_keep sh -c 'cp -a a.txt t; mv t a.txt'
		sbxctl gc --older 0 >/dev/null 2>&1 &
		pid=$!
		kill -KILL $pid
		wait $pid 2>/dev/null || :
		i=$((i + 1))
	done
	int_suite_lives
	int_wait sh -c "sbxctl gc --older 0 | grep -q ' removed'"
	int_end
}
int_suite_lives() {
	kill -0 "$sbx_suite" || {
		cat "$SBX_SCRATCH/sbxd.log" >&2
		atf_fail "the suite has ended"
	}
}

# as-one USER COMMAND...: that user, in the socket's group too.
users_as() {
	cat >"$SBX_SCRATCH/bin/as-one" <<-EOT
		#!/bin/sh
		who=\$1
		shift
		HOME=$SBX_SCRATCH/home/\$who exec setpriv --reuid "\$who" \\
		    --regid "\$who" --groups "$1,\$(id -g "\$who")" "\$@"
	EOT
	chmod 0755 "$SBX_SCRATCH/bin/as-one"
}

# One more session that waits for its fifo, then writes; its id is in $lives.
late_live()
{
	lates=$((lates + 1))
	mkfifo "late$lates.in"
	run --name "late$lates" --keep -- sh -c 'echo up; read -r f; echo x >f' \
	    <"late$lates.in" >"late$lates.out" 2>"late$lates.err" &
	late_pids="$late_pids $!"
	: >"late$lates.hold"
	tail -f "late$lates.hold" >"late$lates.in" &
	holds="$holds $!"
	int_wait_file "late$lates.out" up
	lives="$lives $(sbxctl ls | awk -v n="late$lates" '$2 == n { print $1 }')"
}
# late_order: in the list of layers one of them comes after one to be reviewed,
# the first of which is $first.
late_order()
{
	first='' after=''
	# shellcheck disable=SC2045 # names are ids
	for s in $(ls -U "$SBX_STATE/s"); do
		case " $lives " in
		*" $s "*) [ -z "$first" ] || after=$s ;;
		*) [ -n "$first" ] || first=$s ;;
		esac
	done
	[ -n "$after" ]
}
atf_test_case late
late_head()
{
	atf_set descr "gc: what wrote since the layers were listed stays"
	atf_set require.user root
}
late_body()
{
	int_begin
	int_who root
	lates=0 late_pids='' holds='' lives=''
	for i in 1 2 3; do
		int_keep sh -c 'cp -a a.txt t; mv t a.txt'
	done
	until late_order; do
		[ $lates -lt 30 ] || atf_fail "always before the others"
		late_live
	done
	landd=$(pgrep -x landd -P "$sbx_suite") || atf_fail "no landd"
	kill -STOP "$landd"
	sbxctl gc --older 0 >gc.out 2>&1 &
	gc=$!
	# Long after gc has asked landd, which does not answer.
	sleep 1
	int_wait sh -c "client '$SBX_STATE/sbxd.sock' busy $first |
	    grep -q land.busy"
	for pid in $holds; do
		kill "$pid"
	done
	int_wait sh -c '! sbxctl ls | grep -q "late.* \(running\|ending\)"'
	kill -CONT "$landd"
	for pid in $late_pids; do
		wait "$pid" || :
	done
	wait $gc || atf_fail "$(cat gc.out)"
	grep -q "session $after: kept: changes of it wait" gc.out ||
	    atf_fail "$(cat gc.out)"
	grep -q "session $first: removed" gc.out || atf_fail "$(cat gc.out)"
	for s in $lives; do
		atf_check -o match:'A  f ' sbxctl changes "$s"
	done
	int_end
}

# store_copies N: of the session $sid, which has ended, each without the seal
# that a review begins with.
store_copies()
{
	python3 - "$SBX_STATE" "$sid" "$1" <<-'EOT' || atf_fail copies
		import os, subprocess, sys
		state, sid, n = sys.argv[1], sys.argv[2].encode(), int(sys.argv[3])
		for i in range(n):
		    new = "copy%s%s" % ("abcdefghijkl"[i // 26] * 7, chr(97 + i % 26))
		    for d in "sbxd", "s":
		        subprocess.check_call(["cp", "-a", "%s/%s/%s" % (state, d,
		            sys.argv[2]), "%s/%s/%s" % (state, d, new)])
		    record = "%s/sbxd/%s/record" % (state, new)
		    with open(record, "rb") as f:
		        text = f.read()
		    with open(record, "r+b") as f:
		        f.write(text.replace(sid, new.encode()))
		    os.unlink("%s/sbxd/%s/seal" % (state, new))
	EOT
}
atf_test_case broken
broken_head()
{
	atf_set descr "gc: many sessions whose review cannot even be begun"
	atf_set require.user root
}
broken_body()
{
	int_begin
	int_who root
	int_keep sh -c 'echo x >f'
	int_stop
	store_copies 150
	# One after the other: what they take does not add up. (Sanitizers take
	# more of a stack.)
	printf '#!/bin/sh\nulimit -s 512\nexec "$@"\n' >"$SBX_SCRATCH/bin/small"
	chmod 0755 "$SBX_SCRATCH/bin/small"
	! int_plain || sbx_by=small
	int_suite
	atf_check -o save:gc.out sbxctl gc --older 0
	atf_check_equal 150 "$(grep -c '^session copy.*: kept: .* no seal' gc.out)"
	atf_check -o match:'^session .*: kept: changes of it wait$' \
	    -o match:'^0 removed' cat gc.out
	atf_check_equal 152 "$(sbxctl ls | wc -l)"
	int_end
}

atf_test_case users
users_head()
{
	atf_set descr "du, gc, explain: each with its own, root with all"
	atf_set require.user root
}
users_body()
{
	sbx_user alice
	sbx_user bob
	printf '{"socketGroup": "%s"}\n' "$alice" >sbxd.conf
	int_begin -f "$PWD/sbxd.conf"
	users_as "$(id -g "$alice")"
	for u in "$alice" "$bob"; do
		h=$SBX_SCRATCH/home/$u
		sbx_repo "$h/p" "$u"
		echo secret >"$h/secret"
		as-one "$u" sh -c "cd $h/p && exec sbxctl run --keep -- true" \
		    >out 2>err </dev/null || atf_fail "$(cat err)"
		int_kept err
		eval "sid_$([ "$u" = "$alice" ] && echo a || echo b)=\$sid"
	done
	# shellcheck disable=SC2154
	{
		a=$sid_a b=$sid_b
	}
	as-one "$alice" sbxctl du --json >du.json || atf_fail du
	int_json du.json "[x['session'] for x in o['sessions']] == ['$a']"
	sbxctl du --json >du.json || atf_fail du
	int_json du.json "{x['session'] for x in o['sessions']} == {'$a', '$b'}"
	int_refused 1 'no session' as-one "$alice" sbxctl du "$b"
	int_refused 1 'no session' as-one "$alice" sbxctl explain /etc "$b"
	# Nobody learns of a path what the permissions keep from them.
	for p in secret nothing; do
		as-one "$alice" sh -c "cd && exec sbxctl explain --json \
		    $SBX_SCRATCH/home/$bob/$p" >ex.json || atf_fail explain
		int_json ex.json 'o["state"] == "denied"' \
		    "o['of'] == '$SBX_SCRATCH/home/$bob'" \
		    "o['target'] == '$SBX_SCRATCH/home/$bob/$p'"
	done
	int_refused 1 'only root' as-one "$alice" sh -c \
	    "cd && exec sbxctl explain --as $bob /etc"
	atf_check -o ignore as-one "$alice" sh -c \
	    "cd && exec sbxctl explain --as $alice /etc"
	sbxctl explain --json --as "$bob" --repo "$SBX_SCRATCH/home/$bob/p" \
	    "$SBX_SCRATCH/home/$bob/secret" >ex.json || atf_fail explain
	int_json ex.json 'o["state"] == "shown"' 'o["rule"] == "home"'
	# An access list counts, both ways.
	python3 - "$SBX_SCRATCH/home/$bob" "$(id -u "$alice")" <<-'EOT' ||
		import os, struct, sys
		none = 2**32 - 1
		os.setxattr(sys.argv[1], "system.posix_acl_access",
		    struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e)
		    for e in ((1, 7, none), (2, 1, int(sys.argv[2])),
		    (4, 0, none), (16, 1, none), (32, 0, none))))
	EOT
	    atf_fail "no access list"
	as-one "$alice" sh -c "cd && exec sbxctl explain --json \
	    $SBX_SCRATCH/home/$bob/secret" >ex.json || atf_fail explain
	int_json ex.json 'o["state"] == "shown"'
	python3 -c 'import os, sys
os.removexattr(sys.argv[1], "system.posix_acl_access")
os.chmod(sys.argv[1], 0o700)' "$SBX_SCRATCH/home/$bob" ||
	    atf_fail "the access list stays"
	as-one "$alice" sbxctl gc --older 0 >gc.out || atf_fail gc
	grep -q "session $a: removed" gc.out || atf_fail "$(cat gc.out)"
	! grep -q "$b" gc.out || atf_fail "$(cat gc.out)"
	int_state_check "$b"
	# A layer of hers without a record is hers; another's is not.
	as-one "$alice" sh -c "cd ~/p && exec sbxctl run --keep -- true" \
	    >out 2>err </dev/null || atf_fail "$(cat err)"
	int_kept err
	int_stop
	rm -r "$SBX_STATE/sbxd/$sid" "$SBX_STATE/sbxd/$b"
	int_suite -f "$PWD/sbxd.conf"
	as-one "$alice" sbxctl gc --older 0 >gc.out || atf_fail gc
	grep -q "layer $sid: removed" gc.out || atf_fail "$(cat gc.out)"
	! grep -q "$b" gc.out || atf_fail "$(cat gc.out)"
	[ -d "$SBX_STATE/s/$b" ] || atf_fail "bob's layer is gone"
	atf_check -o match:"layer $b: removed" sbxctl gc --older 0
	int_end
}

atf_init_test_cases()
{
	atf_add_test_case du
	atf_add_test_case collected
	atf_add_test_case orphans
	atf_add_test_case words
	atf_add_test_case busy
	atf_add_test_case late
	atf_add_test_case broken
	atf_add_test_case users
}
