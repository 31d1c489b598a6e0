# changes --outside: what a session changed where nothing lands, listed.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# listed: the letters and paths, sorted, into the file "listed".
listed() {
	sbxctl changes --outside "$sid" >out || atf_fail "status $?"
	sed -n 's/^  \([A-Zm]\)  \([^ ]*\).*/\1 \2/p' out | sort >listed
}

# is LINE...: what was listed, and nothing else.
is() {
	printf '%s\n' "$@" | sort >want
	diff want listed >&2 || {
		cat out >&2
		atf_fail "another list"
	}
}

json() {
	sbxctl changes --outside --json "$sid" >out.json ||
	    atf_fail "status $?"
	python3 -c '
import json, sys
o = json.load(open("out.json"))
for w in sys.argv[1:]:
    assert eval(" ".join(w.split()), {"o": o}), (w, o)
' "$@" || atf_fail "the JSON is not as it should be"
}

atf_test_case kinds
kinds_head()
{
	atf_set descr "each kind of change in home and elsewhere, live and after"
	atf_set require.user root
	atf_set timeout 120
}
kinds_one()
{
	H=$who_home
	mkdir -p "$H/old$int_n/sub" "$H/empty$int_n" "$H/keys$int_n"
	for f in mod gone mode same "old$int_n/a" "old$int_n/sub/b" type \
	    "keys$int_n/k"; do
		echo "$f" >"$H/$f"
	done
	ln -s mod "$H/link"
	chown -R -h --reference="$P" "$H"
	before=$(sbx_tree "$H")
	int_live out --hide "$H/keys$int_n" -- sh -c '
		cd; echo x >>mod; rm gone; chmod 600 mode; cat same >/dev/null
		mkdir -p cache/a/b; echo 1 >cache/1; echo 22 >cache/a/2
		mv old$0 moved; rmdir empty$0; rm type; mkdir type
		echo n >new; ln -sf nowhere link; touch same
		touch -r "$1/a.txt" -d "2000-01-01" same
		cd "$1"; echo p >>a.txt; echo ready; cat' "$int_n" "$P"
	int_wait grep -q ready out.out
	set -- "M $H/mod" "D $H/gone" "m $H/mode" "A $H/cache/" "A $H/moved/" \
	    "D $H/old$int_n/" "D $H/empty$int_n/" "T $H/type/" "A $H/new" \
	    "M $H/link" "M $H/same"
	listed
	is "$@"
	cp listed live
	atf_check -o match:"A  $H/cache/  2 files, 5 B" \
	    -o match:"A  $H/moved/  2 files, " \
	    -o match:"D  $H/old$int_n/  2 files, " \
	    -o match:"m  $H/mode .* mode 100644 to 100600" \
	    -o match:"M  $H/mod  4 to 6 bytes" \
	    -o match:'^11 changes outside .*none of it lands$' \
	    -o not-match:keys -o not-match:a.txt cat out
	json "len(o['outside']) == 11" "all(l['cut'] is False and
	    l['missing'] is False for l in o['layers'])" \
	    "[(f['files'], f['bytes'], f['new_mode'][:2])
	    for f in o['outside'] if f['path'] == '$H/cache'] ==
	    [(2, 5, '04')]" \
	    "sum(l['changes'] for l in o['layers']) == 11"
	# What the project has is the review's, as before.
	atf_check -o match:'^1 file changed' sbxctl changes "$sid"
	exec 9>&-
	wait "$live" || atf_fail "status $? of it"
	listed
	diff live listed >&2 || atf_fail "stopped, it is another list"
	# Looked at, it is not in the way of who comes back to it.
	atf_check -o inline:'n\n' -e ignore \
	    sbxctl resume --keep "$sid" -- cat "$H/new"
	listed
	diff live listed >&2 || atf_fail "resumed, it is another list"
	# It never lands, and keeps no session.
	atf_check -o ignore sbxctl apply --yes "$sid"
	(cd "$P" && as=$(stat -c %U a.txt) && [ "$as" = "$who_user" ]) ||
	    atf_fail "whose is a.txt?"
	listed
	diff live listed >&2 || atf_fail "landing changed the list"
	int_same "$(echo "$before" | grep -v "/p${int_n}[ /]")" \
	    "$(sbx_tree "$H" | grep -v "/p${int_n}[ /]")" "home is not as it was"
	atf_check -o match:removed sbxctl rm "$sid"
	rm -rf "$H/old$int_n" "$H/type" "$H/link"
}
kinds_body()
{
	int_begin
	int_each kinds_one
	int_end
}

# told PATTERN COMMAND...: at a terminal, once; elsewhere never.
told() {
	told_want=$1
	shift
	echo end >steps
	TERM=xterm pty steps "$@" >shown 2>err </dev/null || atf_fail \
	    "status $?: $(cat shown err)"
	[ "$(tr -d '\r' <shown | grep -c 'outside its project')" -eq 1 ] ||
	    atf_fail "not told once: $(cat shown)"
	grep -q "$told_want" shown || atf_fail "$(cat shown)"
}

atf_test_case told
told_head()
{
	atf_set descr "what never lands and goes with a session is said at a \
terminal"
	atf_set require.user root
}
told_one() {
	gone='went with it: --keep keeps a session for "changes --outside"'
	told "$gone" run -- sh -c 'echo x >>~/told'
	told 'sbxctl changes --outside [a-z2-7]*" lists it' \
	    run --keep -- sh -c 'echo x >>~/told; echo x >>f'
	sid=$(sbxctl ls | awk 'END { print $1 }')
	atf_check -o match:'^outside  *it wrote there, too' sbxctl show "$sid"
	atf_check -o match:'"outside": true' sbxctl show --json "$sid"
	atf_check -o match:'"outside": true' sbxctl ls --json
	# Where nobody reads it, and where nothing was written there.
	atf_check run -- sh -c 'echo x >>~/told'
	atf_check -o match:removed sbxctl rm --discard "$sid"
	echo end >steps
	TERM=xterm pty steps run --keep -- true >shown 2>err </dev/null ||
	    atf_fail "status $?: $(cat shown err)"
	atf_check -o not-match:'outside' -o match:'is kept' cat shown
	sid=$(sbxctl ls | awk 'END { print $1 }')
	atf_check -o match:'"outside": false' sbxctl show --json "$sid"
	# Known as it was when it ended last.
	atf_check -e ignore sbxctl resume "$sid" -- sh -c 'echo x >>~/told'
	told "$gone" sbxctl rm "$sid"
}
told_body()
{
	int_begin
	int_users told_one
	int_end
}

atf_test_case own
own_head()
{
	atf_set descr "in a user's own suite, and with several roots"
	atf_set require.user root
}
own_body()
{
	int_begin
	int_who own
	Q=$who_home/q
	sbx_repo "$Q" "$int_own"
	echo old >"$who_home/f"
	chown "$int_own:" "$who_home/f"
	run --repo "$Q" --keep -- sh -c 'cd; echo x >>f; mkdir d; echo y >d/y
	    echo q >>q/a.txt' >keep.out 2>keep.err ||
	    atf_fail "$(cat keep.err)"
	int_kept keep.err
	listed
	is "M $who_home/f" "A $who_home/d/"
	run --keep true >keep.out 2>keep.err
	sid=$(sbxctl ls | awk 'END { print $1 }')
	atf_check -o match:'^0 changes outside' \
	    sbxctl changes --outside "$sid"
	int_live own -- sh -c 'cd; echo x >>f; echo ready; cat'
	int_wait grep -q ready own.out
	listed
	is "M $who_home/f"
	exec 9>&-
	wait "$live" || atf_fail "status $? of it"
	listed
	is "M $who_home/f"
	int_stop
}

atf_test_case far
far_head()
{
	atf_set descr "other filesystems, one that is gone, a root below home"
	atf_set require.user root
}
far_body()
{
	int_begin
	int_who root
	mkdir -p "$HOME/mnt" "$SBX_SCRATCH/mnt2"
	mount -t tmpfs -o mode=777 sbx-test "$HOME/mnt"
	mount -t tmpfs -o mode=777 sbx-test "$SBX_SCRATCH/mnt2"
	echo t >"$HOME/mnt/t"
	int_keep sh -c 'echo x >>"$0/t"; echo n >"$1/n"; echo r >/root.file
	    mkdir -p /opt/made && echo o >/opt/made/o; echo a >>a.txt' \
	    "$HOME/mnt" "$SBX_SCRATCH/mnt2"
	listed
	is "M $HOME/mnt/t" "A $SBX_SCRATCH/mnt2/n" "A /root.file" \
	    "A /opt/made/"
	umount "$SBX_SCRATCH/mnt2"
	rmdir "$SBX_SCRATCH/mnt2"
	listed
	is "M $HOME/mnt/t" "A /root.file" "A /opt/made/"
	atf_check -o match:"^$SBX_SCRATCH/mnt2: not there now" cat out
	json "[l['path'] for l in o['layers'] if l['missing']] ==
	    ['$SBX_SCRATCH/mnt2']"
	int_refused 2 'give one of them' \
	    sbxctl changes --outside --repo "$P" "$sid"
	int_refused 1 'none has that name' sbxctl changes --outside nosuch
	atf_check -o ignore sbxctl rm --discard "$sid"
	umount "$HOME/mnt"
	int_end
}

atf_test_case many
many_head()
{
	atf_set descr "of very many the first are listed and all counted"
	atf_set require.user root
	atf_set timeout 120
}
many_body()
{
	int_begin
	int_who user
	mkdir "$who_home/full"
	chown "$int_user:" "$who_home/full"
	int_keep sh -c 'cd ~/full; seq 10100 | xargs touch; mkdir deep
	    cd deep; seq 3000 | xargs touch; cd; d=.; for i in $(seq 900); do
	    d=$d/dddd; done; mkdir -p $d'
	atf_check -o save:out sbxctl changes --outside "$sid"
	atf_check -o inline:'10000\n' grep -c '^  A  ' out
	atf_check -o match:"^$who_home: [0-9]* more, which are only counted" \
	    -o match:'^10102 changes outside .*, 13100 files' cat out
	json "len(o['outside']) == 10000" "sum(l['listed']
	    for l in o['layers']) == 10000"
	# Names that are no text are shown escaped.
	atf_check -o match:removed sbxctl rm "$sid"
	int_keep sh -c 'cd; printf x >"$(printf "a\033[31m\nb")"'
	atf_check -o match:'a<U\+001B>\[31m<U\+000A>b  1 bytes' \
	    sbxctl changes --outside "$sid"
	atf_check -o ignore sbxctl rm "$sid"
	int_end
}

atf_init_test_cases()
{
	for c in kinds told own far many; do
		atf_add_test_case "$c"
	done
}
