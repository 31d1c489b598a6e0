# Several roots of one session: each has its layer, its seal, its baselines, its
# review and its landings.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# second: another repository of the same user, $Q, and $Q2, a folder that is
# none.
second() {
	Q=$who_home/q$int_n Q2=$who_home/r$int_n
	case $who_user in
	root) sbx_repo "$Q" ;;
	*) sbx_repo "$Q" "$who_user" ;;
	esac
	mkdir "$Q2"
	echo plain >"$Q2/plain"
	chown -R --reference="$P" "$Q2"
}

# more COMMAND...: on all three, kept; its id is $sid.
more() {
	run --repo "$Q" --repo "$Q2" --keep -- "$@" >more.out 2>more.err || {
		cat more.out more.err >&2
		atf_fail "status $? of: $*"
	}
	int_kept more.err
}

json() {
	sbxctl "$@" >out.json || atf_fail "status $? of $*"
	python3 -c '
import json, sys
o = json.load(open("out.json"))
for w in sys.argv[1:]:
    assert eval(" ".join(w.split()), {"o": o}), (w, o)
' "$expr" || atf_fail "$* is not as it should be"
}

atf_test_case round
round_head()
{
	atf_set descr "changes of each root; what lands in one leaves the others"
	atf_set require.user root
	atf_set timeout 120
}
round_one()
{
	second
	more sh -ec 'pwd; echo p >>a.txt; echo q >>"$0/a.txt"; echo n >"$0/new"
	    rm "$1/plain"; echo m >"$1/made"' "$Q" "$Q2"
	atf_check -o inline:"$P\n" cat more.out
	before=$(int_bytes "$P")
	before2=$(int_bytes "$Q2")
	# A list a root, and nothing of one in another's.
	atf_check -o save:changes sbxctl changes "$sid"
	atf_check -o inline:"$P\n$Q\n$Q2\n" sed -n 's/^target *//p' changes
	atf_check -o inline:'5\n' grep -c '^  [AMD]  ' changes
	atf_check -o inline:'3\n' grep -c '^digest ' changes
	expr='[(r["target"], sorted(f["path"] for f in r["files"]))
	    for r in o["roots"]] == '
	expr="$expr [('$P', ['a.txt']), ('$Q', ['a.txt', 'new']),
	    ('$Q2', ['made', 'plain'])] and len(set(r['digest']
	    for r in o['roots'])) == 3"
	json changes --json "$sid"
	expr="o['target'] == '$Q' and len(o['files']) == 2 and not 'roots' in o"
	json changes --json --repo "$Q/src" "$sid"
	atf_check -o match:'^\+p' -o match:'^\+q' -o match:'^-plain' \
	    sbxctl diff "$sid"
	atf_check -o match:'^\+q' -o not-match:'^\+p' \
	    sbxctl diff --repo "$Q" "$sid"
	# What writes is told which is meant.
	for c in 'patch -o -' 'apply --yes' 'discard --yes'; do
		# shellcheck disable=SC2086 # words
		int_refused 1 "give --repo $P, $Q or $Q2" sbxctl $c "$sid"
	done
	int_refused 1 'no root of session' \
	    sbxctl apply --yes --repo "$who_home" "$sid"
	int_refused 1 'one root after the other' \
	    sbxctl discard --yes "$sid" "$P/a.txt" "$Q/a.txt"
	# A patch is of one root.
	atf_check -o save:q.patch sbxctl patch --repo "$Q" -o - "$sid"
	cp -a "$Q" "$SBX_SCRATCH/copy"
	atf_check git -C "$SBX_SCRATCH/copy" apply "$PWD/q.patch"
	# The second lands: the others, and what waits of them, are as before.
	wanted=$(sbxctl changes --repo "$Q" "$sid" | sed -n 's/^digest *//p')
	int_refused 1 'what was approved' \
	    sbxctl apply --repo "$P" --digest "$wanted" "$sid"
	atf_check -o match:"2 files landed in $Q\$" \
	    sbxctl apply --repo "$Q" --digest "$wanted" "$sid"
	atf_check -o match:"apply session=$sid root=$Q peer=$who_peer .*ok" \
	    tail -n 1 "$SBX_STATE/sbxd/audit"
	int_same "$(int_content "$SBX_SCRATCH/copy")" "$(int_content "$Q")"
	rm -rf "$SBX_SCRATCH/copy"
	int_same "$before" "$(int_bytes "$P")" "landing $Q changed $P"
	int_same "$before2" "$(int_bytes "$Q2")" "landing $Q changed $Q2"
	atf_check -o match:'^0 files' sbxctl changes --repo "$Q" "$sid"
	atf_check -o match:'^1 file' sbxctl changes --repo "$P" "$sid"
	# Of the third a path, which says the root, then the rest.
	atf_check -o match:"1 change discarded in $Q2" \
	    sbxctl discard --yes "$sid" "$Q2/plain"
	atf_check -o match:'A  made' -o not-match:plain \
	    sbxctl changes --repo "$Q2" "$sid"
	atf_check -o match:"1 file landed in $Q2" \
	    sbxctl apply --yes --repo "$Q2" "$sid"
	atf_check -o inline:'made\nplain\n' ls "$Q2"
	int_refused 1 'changes of it wait' sbxctl rm "$sid"
	atf_check -o match:"1 file landed in $P" \
	    sbxctl apply --yes --repo "$P" "$sid"
	atf_check -o match:removed sbxctl rm "$sid"
	# Nothing of the landings is left in any of them.
	atf_check -o empty find "$P" "$Q" "$Q2" -name '*sbx-land*'
}
round_body()
{
	int_begin
	int_each round_one
	int_end
}

atf_test_case named
named_head()
{
	atf_set descr "ls, show, explain, du name all roots; where one is"
	atf_set require.user root
}
named_one()
{
	second
	more sh -c 'echo x >"$0/x"' "$Q"
	atf_check -o match:"^$sid .* $P,$Q,$Q2  " sbxctl ls
	atf_check -o match:"^project   $P\$" -o match:"^          $Q\$" \
	    -o match:"^          $Q2\$" sbxctl show "$sid"
	expr="o['project'] == '$P' and o['roots'] == ['$P', '$Q', '$Q2']"
	json show --json "$sid"
	atf_check -o match:"^of *$Q\$" -o match:'^rule *project' \
	    -o match:'^is .*from its layer' sbxctl explain "$Q/x" "$sid"
	atf_check -o match:"^of *$Q2\$" -o match:'^rule *project' \
	    sbxctl explain "$Q2/plain" "$sid"
	# shellcheck disable=SC2086 # $AS
	atf_check -o match:"^of *$Q\$" \
	    sbxctl explain $AS --repo "$P" --repo "$Q" "$Q/a.txt"
	atf_check -o match:" $P\$" -o match:" $Q\$" -o match:" $Q2\$" \
	    sbxctl du "$sid"
	# Each of them is where the session is found, and where it starts.
	(cd "$Q/src" && atf_check -o match:"^session   $sid" sbxctl show)
	(cd "$Q2" && atf_check -o inline:"$Q2\n" -e ignore \
	    sbxctl run $AS --repo "$P" --repo "$Q2" pwd)
	atf_check -o ignore sbxctl rm --discard "$sid"
}
named_body()
{
	int_begin
	int_each named_one
	int_end
}

atf_test_case left
left_head()
{
	atf_set descr "something changed counts in any root: end, rm, gc"
	atf_set require.user root
}
left_one()
{
	second
	run --repo "$Q" --repo "$Q2" true >out 2>err
	cat -v out err
	atf_check -o empty cat out err
	int_state_check
	run --repo "$Q" --repo "$Q2" -- sh -c 'echo x >"$0/x"' "$Q2" \
	    >out 2>err
	int_kept err
	atf_check -o match:'is kept: 1 file changed' cat err
	int_refused 1 'changes of it wait' sbxctl rm "$sid"
	atf_check -o match:"$sid: kept: changes of it wait" \
	    sbxctl gc --older 0s
	atf_check -o ignore sbxctl discard --yes --repo "$Q2" "$sid"
	atf_check -o match:"session $sid: removed" sbxctl gc --older 0s
	int_state_check
}
left_body()
{
	int_begin
	int_each left_one
	int_end
}

atf_test_case drift
drift_head()
{
	atf_set descr "drift a root: the one that moved is refused, others land"
	atf_set require.user root
}
drift_one()
{
	second
	more sh -c 'for r in "$PWD" "$@"; do echo s >>"$r/a.txt"; done' - "$Q"
	echo owner >>"$Q/a.txt"
	int_same "$(tail -n 1 "$Q/a.txt")" owner
	expr='[r["drifted"] for r in o["roots"]] == [0, 1, 0]'
	json changes --json "$sid"
	atf_check -s exit:1 -o match:DRIFTED -e match:'changed since' \
	    sbxctl apply --yes --repo "$Q" "$sid"
	atf_check -o ignore sbxctl apply --yes --repo "$P" "$sid"
	atf_check -o inline:'s\n' tail -n 1 "$P/a.txt"
	# The same name in another root: baselines are a root's.
	echo later >>"$P/a.txt"
	atf_check -o match:'^0 files' sbxctl changes --repo "$P" "$sid"
	atf_check -o inline:'owner\n' tail -n 1 "$Q/a.txt"
	atf_check -o match:discarded sbxctl discard --yes --repo "$Q" "$sid"
	atf_check -o ignore sbxctl rm "$sid"
}
drift_body()
{
	int_begin
	int_each drift_one
	int_end
}

atf_test_case owner
owner_head()
{
	atf_set descr "each root has to be the user's; what lands in one, too"
	atf_set require.user root
}
owner_body()
{
	int_begin
	int_who user
	second
	mkdir "$SBX_SCRATCH/roots"
	int_refused 125 "$SBX_SCRATCH/roots: owned by root" \
	    run --repo "$SBX_SCRATCH/roots" true
	# Its own, and yet closed to it.
	mkdir "$who_home/closed"
	chown "$int_user:" "$who_home/closed"
	chmod 0 "$who_home/closed"
	int_refused 125 "$who_home/closed" run --repo "$who_home/closed" true
	# A file of another uid in the second is no concern of the first.
	echo root >"$Q/theirs"
	chmod 666 "$Q/theirs"
	more sh -c 'echo s >>a.txt; echo s >>"$0/theirs"' "$Q"
	int_refused 1 'theirs' sbxctl apply --yes --repo "$Q" "$sid"
	atf_check -o inline:'root\n' cat "$Q/theirs"
	atf_check -o match:landed sbxctl apply --yes --repo "$P" "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
}

atf_test_case live
live_head()
{
	atf_set descr "a root of a session that runs lands and is given up"
	atf_set require.user root
}
live_one()
{
	second
	int_live several --repo "$Q" --repo "$Q2" -- sh -c '
		echo s >>"$0/a.txt"; echo t >>"$1/plain"; exec 8<"$1/plain"
		echo ready; while read l; do eval "$l"; echo "done $l"; done' \
	    "$Q" "$Q2"
	int_wait grep -q ready several.out
	atf_check -o match:"1 file landed in $Q" \
	    sbxctl apply --yes --repo "$Q" "$sid"
	# What the owner does there now shows, as nothing is in the way.
	echo owner >>"$Q/a.txt"
	atf_check -o ignore sbxctl changes "$sid"
	echo "tail -n 1 $Q/a.txt" >&9
	int_wait grep -q owner several.out
	# Of the third, which it holds open: the rest at its end.
	atf_check -o match:discarded sbxctl discard --yes --repo "$Q2" "$sid"
	echo "cat $Q2/plain" >&9
	int_wait grep -q '^plain$' several.out
	exec 9>&-
	wait "$live" || atf_fail "status $? of it"
	atf_check -o match:'^0 files' -o not-match:'^[1-9] file' \
	    sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm "$sid"
	atf_check -o inline:'plain\n' cat "$Q2/plain"
}
live_body()
{
	int_begin
	int_both live_one
	int_end
}

atf_test_case again
again_head()
{
	atf_set descr "a resume has all roots; another folder in one's place"
	atf_set require.user root
}
again_one()
{
	second
	more sh -c 'echo one >>"$0/a.txt"; cat "$1/plain"' "$Q" "$Q2"
	# An empty layer takes no later T0 along while another is not empty.
	atf_check -o match:one -e ignore sbxctl resume --keep "$sid" -- sh -c \
	    "tail -n 1 $Q/a.txt; echo two >>$Q2/plain"
	expr='[len(r["files"]) for r in o["roots"]] == [0, 1, 1]'
	json changes --json "$sid"
	mv "$Q2" "$Q2.old"
	mkdir "$Q2"
	chown --reference="$P" "$Q2"
	int_refused 125 'another folder' sbxctl resume "$sid" -- true
	int_refused 1 'another folder' sbxctl apply --yes --repo "$Q2" "$sid"
	atf_check -o match:landed sbxctl apply --yes --repo "$Q" "$sid"
	rmdir "$Q2"
	mv "$Q2.old" "$Q2"
	atf_check -o match:landed sbxctl apply --yes --repo "$Q2" "$sid"
	atf_check -o ignore sbxctl rm "$sid"
}
again_body()
{
	int_begin
	int_each again_one
	int_end
}

atf_test_case choice
choice_head()
{
	atf_set descr "at a terminal all roots are shown, and land by one word"
	atf_set require.user root
}
choice_one()
{
	second
	cat >steps <<-EOT
		expect target    $P
		expect M  a.txt
		expect target    $Q
		expect A  new
		expect apply, discard, keep, or view
		send v\\n
		expect +in p
		expect +in q
		expect apply, discard, keep, or view
		send a\\n
		expect 1 file landed in $P
		expect 2 files landed in $Q
		end
	EOT
	(cd "$P" && TERM=xterm pty -r 40 -c 200 "$OLDPWD/steps" \
	    sbxctl run $AS --repo "$P" --repo "$Q" --repo "$Q2" -- sh -c \
	    'echo in p >>a.txt; cd "$0"; echo in q >>a.txt; echo n >new' \
	    "$Q") >shown || {
		cat shown >&2
		atf_fail "the terminal did not go that way"
	}
	atf_check -o inline:'in p\n' tail -n 1 "$P/a.txt"
	atf_check -o inline:'in q\n' tail -n 1 "$Q/a.txt"
	# Nothing of it is left: the session went with the choice.
	int_state_check
}
choice_body()
{
	int_begin
	int_both choice_one
	int_end
}

atf_test_case hidden
hidden_head()
{
	atf_set descr "what is hidden in a further root stays so, and unlanded"
	atf_set require.user root
}
hidden_one()
{
	second
	mkdir "$Q/conf"
	echo secret >"$Q/conf/key"
	chown -R --reference="$P" "$Q/conf"
	run --repo "$Q" --hide "$Q/conf/key" --keep -- sh -c 'cd "$0"
	    cat conf/key; mv conf conf2; cat conf2/key; echo x >conf2/x' "$Q" \
	    >more.out 2>more.err || atf_fail "$(cat more.err)"
	sid=$(sbxctl ls | awk 'END { print $1 }')
	atf_check -o empty cat more.out
	atf_check -o empty -e ignore sbxctl resume --keep "$sid" -- \
	    cat "$Q/conf2/key"
	atf_check -o not-match:secret -o match:'^\+x' \
	    sbxctl diff --repo "$Q" "$sid"
	atf_check -o ignore sbxctl apply --yes --repo "$Q" "$sid"
	atf_check -o inline:'secret\n' cat "$Q/conf/key"
	atf_check -o inline:'x\n' cat "$Q/conf2/x"
	# mv may have copied the stand-in.
	atf_check test ! -s "$Q/conf2/key"
	atf_check -o ignore sbxctl rm --discard "$sid"
}
hidden_body()
{
	int_begin
	int_each hidden_one
	int_end
}

atf_test_case copied
copied_head()
{
	atf_set descr "roots that stand on copies, in a user's own suite: each \
is reviewed, landed, given up and made anew by itself"
	atf_set require.user root
	atf_set timeout 120
}
# copies N: the session has so many.
copies()
{
	atf_check_equal "$1" "$(find "$SBX_STATE/s/$sid" -maxdepth 1 \
	    -name 'copy*' | wc -l)"
}
copied_ended()
{
	run --repo "$Q" --repo "$Q2" --keep -- sh -ec 'echo p >>a.txt
	    mv src s2; echo q >>"$0/a.txt"; rm "$0/Makefile"
	    echo n >"$0/new"; echo m >"$1/made"' "$Q" "$Q2" \
	    >more.out 2>more.err || atf_fail "$(cat more.out more.err)"
	sid=$(sbxctl ls | awk 'END { print $1 }')
	int_same "$before" "$(int_bytes "$P")" "$P was written to"
	int_same "$before2" "$(int_bytes "$Q")" "$Q was written to"
	copies 2
	atf_check -o match:"project $P: as .* works on a copy" \
	    -o match:"project $Q: as .* works on a copy" \
	    -o not-match:"project $Q2: as" cat more.err
	atf_check -o match:'overlay on a copy' sbxctl explain "$Q/a.txt" "$sid"
	atf_check -o not-match:'on a copy' sbxctl explain "$Q2/made" "$sid"
	atf_check -o match:'M  a.txt' -o match:'s2/main.c  from src/main.c' \
	    -o match:'^2 files' sbxctl changes --repo "$P" "$sid"
	# One lands, another one waits.
	atf_check -o match:"3 files landed in $Q" \
	    sbxctl apply --yes --repo "$Q" "$sid"
	atf_check -o inline:'one\ntwo\nthree\nq\nn\n' cat "$Q/a.txt" "$Q/new"
	atf_check test ! -e "$Q/Makefile"
	int_same "$before" "$(int_bytes "$P")" "landing $Q changed $P"
	atf_check -o match:'^0 files' sbxctl changes --repo "$Q" "$sid"
	# A resume has what landed, what waits, and what the owner has made.
	echo later >"$Q/later"
	atf_check -o inline:'p\nq\nn\nlater\nm\n' -e ignore \
	    sbxctl resume "$sid" -- sh -ec 'test -f s2/main.c -a ! -e src
	    test ! -e "$0/Makefile"; tail -n 1 a.txt; tail -n 1 "$0/a.txt"
	    cat "$0/new" "$0/later" "$1/made"; echo q2 >>"$0/a.txt"' "$Q" \
	    "$Q2" </dev/null
	atf_check -o match:'^2 files' sbxctl changes --repo "$P" "$sid"
	atf_check -o match:'M  a.txt' -o match:'^1 file' \
	    sbxctl changes --repo "$Q" "$sid"
	# It is given up; what waits of the other is not.
	atf_check -o match:"discarded in $P" \
	    sbxctl discard --yes --repo "$P" "$sid"
	int_same "$before" "$(int_bytes "$P")" "a discard wrote"
	atf_check -o inline:'three\nq2\n' -e ignore sbxctl resume "$sid" -- \
	    sh -ec 'test -f src/main.c -a ! -e s2; tail -n 1 a.txt
	    tail -n 1 "$0/a.txt"' "$Q" </dev/null
	atf_check -o ignore sbxctl rm --discard "$sid"
}
copied_live()
{
	int_live live --repo "$Q" -- sh -ec 'echo p >p; exec 3<>"$0/src/main.c"
	    echo q >&3; echo q >"$0/q"; echo up; while read -r l; do
	    eval "$l"; echo did; done' "$Q"
	int_wait_file live.out up
	atf_check -o match:"1 file landed in $P" -e ignore \
	    sbxctl apply --yes --repo "$P" "$sid"
	# Of one file, which is open, the end is after the session's.
	atf_check -o match:"discarded in $Q" -e ignore \
	    sbxctl discard --yes --repo "$Q" "$sid"
	atf_check test -f "$(find "$SBX_STATE/s/$sid" -name 'pending.*')"
	echo 'cat p; head -n 1 "$0/src/main.c"; ls "$0/q" || :' >&9
	int_wait_file live.out did
	atf_check -o inline:'up\np\nint\ndid\n' cat live.out
	exec 9>&-
	wait "$live" || atf_fail "$(cat live.err)"
	atf_check -o match:'^0 files' sbxctl changes "$sid"
	# Where nothing is mounted in it any more it stands on itself.
	umount "$Q/m" || atf_fail "something holds it"
	int_own_again
	atf_check -o inline:'p\nint\n' -e ignore sbxctl resume "$sid" -- \
	    sh -ec 'cat p; head -n 1 "$0/src/main.c"' "$Q" </dev/null
	copies 1
	atf_check -o ignore sbxctl rm --discard "$sid"
}
copied_body()
{
	int_begin
	int_who own
	second
	for d in "$P" "$Q"; do
		install -d -o "$int_own" "$d/m"
		mount -t tmpfs -o mode=777 t "$d/m"
		fallocate -l 300M "$d/large"
		chown "$int_own:" "$d/large"
	done
	int_own_again
	int_refused 125 'or 512 MiB, with those of the other projects' \
	    run --repo "$Q" -- true
	int_state_check
	rm "$P/large" "$Q/large"
	before=$(int_bytes "$P")
	before2=$(int_bytes "$Q")
	copied_ended
	copied_live
	umount "$P/m" || atf_fail "something holds it"
	int_state_check
	int_stop
}

atf_test_case bad
bad_head()
{
	atf_set descr "twice, one in another, missing, too many: one line"
	atf_set require.user root
}
bad_one()
{
	second
	before=$(sbxctl ls 2>&1)
	int_refused 125 "$P: given twice" run --repo "$P/." true
	ln -s "$Q" "$who_home/l$int_n"
	int_refused 125 "$Q: given twice" \
	    run --repo "$Q" --repo "$who_home/l$int_n" true
	int_refused 125 "$P/src: lies in $P" run --repo "$P/src" true
	int_refused 125 "lies in $who_home" run --repo "$who_home" true
	int_refused 125 "--repo $Q/none: " run --repo "$Q/none" true
	int_refused 125 "not a folder" run --repo "$Q/a.txt" true
	int_refused 125 'the whole machine' run --repo / true
	int_refused 125 "/proc" run --repo /proc/self true
	int_refused 125 'is, or contains' run --repo "$Q" --hide "$Q" true
	set --
	for i in $(seq 16); do
		mkdir "$who_home/many$int_n.$i"
		chown --reference="$P" "$who_home/many$int_n.$i"
		set -- "$@" --repo "$who_home/many$int_n.$i"
	done
	int_refused 125 'at most 16' run "$@" true
	shift 2
	# As many as there can be, all of them with a layer.
	run "$@" -- sh -c 'for d in "$0/many$1".*; do echo x >"$d/x"; done' \
	    "$who_home" "$int_n" >out 2>err
	int_kept err
	atf_check -o match:'15 files changed' cat err
	atf_check -o inline:'16\n' sh -c \
	    "sbxctl changes $sid | grep -c '^target '"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_same "$before" "$(sbxctl ls 2>&1)" "a refused session is left"
}
bad_body()
{
	int_begin
	int_each bad_one
	# The same folder by another mount.
	int_who root
	second
	mkdir "$who_home/mnt"
	mount --bind "$Q" "$who_home/mnt"
	int_refused 125 'are the same folder' \
	    run --repo "$Q" --repo "$who_home/mnt" true
	umount "$who_home/mnt"
	int_state_check
	int_end
}

atf_test_case old
old_head()
{
	atf_set descr "what is kept of one root is what was kept before"
	atf_set require.user root
}
old_body()
{
	int_begin
	int_who root
	second
	int_keep sh -c 'echo x >>a.txt'
	# The record has no word of further roots, and no file has a number.
	atf_check -s exit:1 grep -aq devs "$SBX_STATE/sbxd/$sid/record"
	atf_check -o inline:'record\nseal\n' ls "$SBX_STATE/sbxd/$sid"
	one=$sid
	more sh -c 'echo x >>a.txt; echo x >>"$0/a.txt"' "$Q"
	atf_check -o inline:'record\nseal\nseal.1\nseal.2\n' \
	    ls "$SBX_STATE/sbxd/$sid"
	# One root's seal, or baselines, are not another's.
	atf_check -o ignore sbxctl apply --yes --repo "$P" "$sid"
	d=$SBX_STATE/sbxd/$sid
	cp -p "$d/baseline" "$d/baseline.1"
	int_refused 1 'does not verify' sbxctl apply --yes --repo "$Q" "$sid"
	rm "$d/baseline.1"
	cp "$d/seal.1" kept
	cp "$d/seal" "$d/seal.1"
	int_refused 1 'is not the folder' sbxctl changes --repo "$Q" "$sid"
	cp kept "$d/seal.1"
	atf_check -o match:landed sbxctl apply --yes --repo "$Q" "$sid"
	atf_check -o ignore sbxctl rm "$sid"
	atf_check -o ignore sbxctl rm --discard "$one"
	int_end
}

# killed VICTIM DELAY: so long after the landing of the second was asked for.
killed() {
	rm -rf "$P" "$Q"
	sbx_repo "$P"
	sbx_repo "$Q"
	(cd "$Q" && for i in $(seq 400); do echo "old $i" >"m$i"; done)
	int_keep2 sh -c 'echo s >>a.txt; cd "$0"; for i in $(seq 200); do
	    echo new >m$i; rm m$((200 + i)); done' "$Q"
	first=$(int_bytes "$P") before=$(int_content "$Q")
	sbxctl apply --yes --repo "$Q" "$sid" >out 2>err &
	ctl=$!
	sleep "$2"
	# shellcheck disable=SC2046 # pids
	kill -9 $(pgrep -x "$1" || echo "$sbx_suite")
	wait "$ctl" || :
	case $1 in
	land) ;;
	*)
		wait "$sbx_suite" || :
		int_wait sh -c '! pgrep -x "sbxd|spawn|netd|mountd|landd|land"'
		int_suite
		;;
	esac
	int_wait sh -c "sbxctl changes $sid >/dev/null 2>&1"
	int_same "$first" "$(int_bytes "$P")" "$P changed: $1 after $2"
	now=$(int_content "$Q")
	if [ "$now" = "$before" ]; then
		echo "$1 after $2: rolled back"
		atf_check -o match:'^400 files' \
		    sbxctl changes --repo "$Q" "$sid"
		atf_check -o match:landed sbxctl apply --yes --repo "$Q" "$sid"
	else
		echo "$1 after $2: landed"
	fi
	atf_check -o inline:'200\n' sh -c "ls '$Q' | grep -c ^m"
	atf_check -o inline:'new\n' sort -u "$Q"/m*
	# What waits of the first is there still, and lands.
	atf_check -o match:'^0 files' sbxctl changes --repo "$Q" "$sid"
	atf_check -o match:landed sbxctl apply --yes --repo "$P" "$sid"
	atf_check -o ignore sbxctl rm "$sid"
	atf_check -o empty find "$P" "$Q" -name '*sbx-land*'
}
int_keep2() {
	run --repo "$Q" --keep -- "$@" >keep.out 2>keep.err ||
	    atf_fail "$(cat keep.out keep.err)"
	int_kept keep.err
}

atf_test_case kill
kill_head()
{
	atf_set descr "killed while the second root lands: all or nothing of it"
	atf_set require.user root
	atf_set timeout 300
}
kill_body()
{
	int_begin
	int_who root
	Q=$who_home/second
	for v in land landd sbxd; do
		for d in 0.04 0.06 0.08 0.1 0.15; do
			killed "$v" "$d"
		done
	done
	int_stop
}

atf_init_test_cases()
{
	for c in round named left drift owner live again choice hidden copied \
	    bad old kill; do
		atf_add_test_case "$c"
	done
}
