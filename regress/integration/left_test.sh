# What a landing leaves behind: in the project until its session is removed,
# in the layer where it could not be cleaned.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# landed: a session that landed twice; $sid, and its folder $land.
landed() {
	int_keep sh -ec 'echo in >>a.txt; rm -f Makefile; mkdir -p n; echo n >n/n
	    ln -sfn src link'
	atf_check -o match:landed sbxctl apply --yes "$sid"
	land=$P/.git/sbx-land-$sid
	[ -d "$P/.git" ] || land=$P/.sbx-land-$sid
	atf_check test -s "$land/1/record"
	atf_check -o ignore grep -rqx one "$land/1"
}

# warned TEXT COMMAND...: succeeds, and one line on stderr has the text.
warned() {
	warn=$1
	shift
	atf_check -o save:warned.out -e save:warned.err "$@"
	atf_check_equal 1 "$(wc -l <warned.err)"
	grep -q -F -e "$warn" warned.err ||
	    atf_fail "not \"$warn\": $(cat warned.err)"
}

atf_test_case removed
removed_head()
{
	atf_set descr "rm takes away what the session's landings displaced, \
and nothing of another's"
	atf_set require.user root
	atf_set timeout 120
}
removed_one()
{
	landed
	first=$sid one=$land
	int_keep sh -c 'echo more >>a.txt; echo m >m'
	atf_check -o match:landed sbxctl apply --yes "$sid"
	two=$P/.git/sbx-land-$sid
	[ -d "$P/.git" ] || two=$P/.sbx-land-$sid
	before=$(int_bytes "$P") theirs=$(sbx_tree "$two")
	atf_check -o match:removed sbxctl rm "$first"
	atf_check test ! -e "$one"
	int_same "$theirs" "$(sbx_tree "$two")" "another session's was touched"
	atf_check -o save:out.json sbxctl rm --json "$sid"
	int_json out.json 'o["removed"] is True' '"warning" not in o'
	atf_check -o empty find "$P" -name '*sbx-land*'
	int_same "$before" "$(int_bytes "$P")" "the project was touched"
	grep -c " forget session=$sid .*result=ok" "$SBX_STATE/sbxd/audit" ||
	    atf_fail "no line in the audit log"
	# Also with the changes that wait; and where it never landed nobody
	# goes there.
	landed
	int_keep sh -c 'echo w >w'
	atf_check -o match:removed sbxctl rm --discard "$sid"
	atf_check -s exit:1 grep "forget session=$sid" "$SBX_STATE/sbxd/audit"
	atf_check test -e "$land"
	sid=${land##*-}
	atf_check -o match:removed sbxctl rm --discard "$sid"
	atf_check test ! -e "$land"
	int_state_check
}
removed_body()
{
	int_begin
	int_each removed_one
	int_who user
	# Without git, and where it is a worktree's.
	git=$P
	P=$git.wt
	sbx-as "$int_user" git -C "$git" worktree add -q "$P"
	removed_one
	P=$git.none
	cp -a "$git" "$P"
	rm -rf "$P/.git"
	removed_one
	int_end
}

atf_test_case foreign
foreign_head()
{
	atf_set descr "what is not the landing's stays, is told and keeps no \
record; nor does a project that is gone"
	atf_set require.user root
	atf_set timeout 120
}
foreign_one()
{
	# A link in its place leads nowhere.
	landed
	mv "$land" "$P.land"
	ln -s "$P.land" "$land"
	theirs=$(sbx_tree "$P.land")
	warned "$land" sbxctl rm "$sid"
	int_same "$theirs" "$(sbx_tree "$P.land")" "it went through the link"
	atf_check test -L "$land"
	atf_check -o match:"$sid is removed, but" grep "$land" \
	    "$SBX_SCRATCH/sbxd.log"
	rm -rf "$land" "$P.land"
	int_state_check
	# Somebody's file in it.
	landed
	echo mine >"$land/1/mine"
	atf_check -e save:err -o save:out.json sbxctl rm --json "$sid"
	atf_check_equal 1 "$(wc -l <err)"
	int_json out.json 'o["removed"]' '"has something in it" in o["warning"]'
	atf_check -o inline:"$land/1/mine\n" find "$land" -type f \
	    ! -name .gitignore
	rm -rf "$land"
	int_state_check
	# A displaced file that was open somewhere, and written to.
	landed
	f=$(grep -rlx three "$land/1" | head -n 1)
	echo later >>"$f"
	warned 'written to since' sbxctl rm "$sid"
	atf_check -o match:later cat "$f"
	rm -rf "$land"
	int_state_check
}
foreign_body()
{
	int_begin
	int_each foreign_one
	int_end
}

atf_test_case moved
moved_head()
{
	atf_set descr "the project is gone or another one: the record goes all \
the same"
	atf_set require.user root
}
moved_body()
{
	int_begin
	int_who user
	landed
	mv "$P" "$P.away"
	int_refused 1 'rm --discard' sbxctl rm "$sid"
	grep -q -F "$P" refused.err || atf_fail "it does not say what is gone"
	warned ".git/sbx-land-$sid" sbxctl rm --discard "$sid"
	grep -q -F "$P" warned.err || atf_fail "it does not say where"
	atf_check -o match:"$sid is removed, but" cat "$SBX_SCRATCH/sbxd.log"
	int_state_check
	atf_check test -s "$P.away/.git/sbx-land-$sid/1/record"
	mv "$P.away" "$P"
	# Another folder in its place, with a landing folder of that name.
	rm -rf "$land"
	landed
	mv "$P" "$P.away"
	cp -a "$P.away" "$P"
	theirs=$(sbx_tree "$P")
	int_refused 1 'another folder' sbxctl rm "$sid"
	grep -q 'rm --discard" removes it unseen$' refused.err ||
	    atf_fail "$(cat refused.err)"
	warned 'another folder' sbxctl rm --discard "$sid"
	int_same "$theirs" "$(sbx_tree "$P")" "another project was touched"
	int_state_check
	int_end
}

atf_test_case stuck
stuck_head()
{
	atf_set descr "what may be put right refuses the removal, until then \
or --discard"
	atf_set require.user root
}
stuck_body()
{
	int_begin
	int_who user
	for how in rm 'rm --discard'; do
		landed
		f=$(grep -rlx three "$land/1" | head -n 1)
		chattr +i "$f"
		int_refused 1 "$land" sbxctl rm "$sid"
		int_state_check "$sid"
		atf_check -o match:"^$sid .*ended" sbxctl ls
		if [ "$how" = rm ]; then
			chattr -i "$f"
			atf_check -o match:removed sbxctl rm "$sid"
			atf_check test ! -e "$land"
		else
			warned "$land" sbxctl rm --discard "$sid"
			atf_check test -e "$f"
			chattr -i "$f"
		fi
		int_state_check
	done
	int_end
}

atf_test_case live
live_head()
{
	atf_set descr "landed while it ran, a session that goes with its end \
takes that away too, and says what stays"
	atf_set require.user root
}
live_body()
{
	int_begin
	int_who user
	mkfifo in
	for mine in no yes; do
		run --name live -- sh -c "echo $mine >>a.txt; read l; true" \
		    <in >out 2>err &
		live=$!
		exec 9>in
		int_wait sh -c 'sbxctl ls 9>&- | grep -q " live .*running"'
		sid=$(sbxctl ls 9>&- | awk '$2 == "live" { print $1 }')
		int_wait sh -c "sbxctl changes $sid 9>&- | grep -q a.txt"
		atf_check -o match:landed sbxctl apply --yes "$sid"
		land=$P/.git/sbx-land-$sid
		atf_check test -s "$land/1/record"
		[ "$mine" = no ] || echo mine >"$land/1/mine"
		exec 9>&-
		wait "$live" || atf_fail "status $? of the session"
		if [ "$mine" = no ]; then
			atf_check -o empty cat err
			atf_check test ! -e "$land"
		else
			atf_check_equal 1 "$(wc -l <err)"
			atf_check -o match:"$land" cat err
			atf_check -o inline:'mine\n' cat "$land/1/mine"
		fi
		int_state_check
	done
	int_end
}

atf_test_case killed
killed_head()
{
	atf_set descr "a removal that was cut off is done by the next"
	atf_set require.user root
}
killed_body()
{
	int_begin
	int_who user
	# The child, while it removes: all stays that is not gone yet.
	landed
	names=$(find "$land" | wc -l)
	rm -f stall.out
	# The first child looks whether changes wait.
	stall "$(pgrep -x spawn)" unlinkat 3 1 >stall.out &
	stall=$!
	int_wait_file stall.out ready
	sbxctl rm "$sid" >out 2>err &
	ctl=$!
	int_wait_file stall.out stalled
	kill -9 "$(sed -n 's/^stalled //p' stall.out)" "$stall"
	status=0
	wait "$ctl" || status=$?
	atf_check_equal 1 "$status"
	atf_check -o match:"$sid: .*signal 9" cat err
	atf_check test -s "$land/1/record"
	[ "$(find "$land" | wc -l)" -lt "$names" ] || atf_fail "nothing is gone"
	int_state_check "$sid"
	atf_check -o match:removed sbxctl rm "$sid"
	atf_check test ! -e "$land"
	int_state_check
	# The suite, when the folder is gone and the layer is not.
	landed
	kill -STOP "$(pgrep -x mountd | head -n 1)"
	# Asked for with --discard: nobody looks at the layer before.
	sbxctl rm --discard "$sid" >out 2>err &
	ctl=$!
	int_wait test ! -e "$land"
	# shellcheck disable=SC2046 # pids
	kill -9 "$sbx_suite" $(pgrep -x mountd)
	wait "$ctl" || :
	wait "$sbx_suite" || :
	for role in spawn landd netd; do
		int_wait sh -c "! pgrep -x $role >/dev/null"
	done
	# What was begun by then is ended by the next one.
	int_suite
	atf_check -o empty -e ignore sbxctl ls
	int_state_check
	int_end
}

atf_test_case unclean
unclean_head()
{
	atf_set descr "landed, but the layer could not be cleaned: said with \
the landing, which it is"
	atf_set require.user root
}
unclean_body()
{
	int_begin
	int_who user
	for form in '' --json; do
		int_keep sh -c "echo in$form >>a.txt; echo n >new$form"
		u=$(find "$SBX_STATE/s/$sid" -name a.txt -path '*/u/*')
		chattr +i "$u" || atf_fail "no copy of a.txt in the layer"
		# shellcheck disable=SC2086 # an option or none
		warned "s/$sid" sbxctl apply --yes $form "$sid"
		atf_check -o ignore grep -F "sbxctl discard --yes $sid" \
		    warned.err
		if [ -n "$form" ]; then
			int_json warned.out 'o["landed"] == 2' \
			    '"could not be cleaned" in o["warning"]'
		else
			atf_check -o match:'2 files landed' cat warned.out
		fi
		atf_check -o match:"in$form" cat "$P/a.txt"
		atf_check -o match:'landed, but its layer' \
		    cat "$SBX_SCRATCH/sbxd.log"
		atf_check -o match:"apply session=$sid .*result=ok unclean=yes" \
		    tail -n 1 "$SBX_STATE/sbxd/audit"
		# It is no change, and what was advised helps.
		atf_check -o match:'^0 files changed' sbxctl changes "$sid"
		chattr -i "$u"
		atf_check -o ignore sbxctl discard --yes "$sid"
		atf_check test ! -e "$u"
		atf_check -o match:removed sbxctl rm "$sid"
	done
	int_end
}

atf_test_case aside
aside_head()
{
	atf_set descr "what a discard that failed could not put back is said \
by all that would go over it, and keeps the session"
	atf_set require.user root
}
aside_body()
{
	int_begin
	int_who user
	int_keep sh -c 'echo in >new'
	# As where its place was not written down any more.
	dir=$SBX_STATE/s/$sid/aside
	mkdir "$dir"
	: >"$dir/steps"
	echo mine >"$dir/0"
	for c in changes 'apply --yes' 'discard --yes' resume; do
		# shellcheck disable=SC2086 # words
		atf_check -s not-exit:0 -o ignore \
		    -e match:"\"aside\" in the session's folder" sbxctl $c "$sid"
	done
	atf_check -o match:"discard session=$sid .*result=mount.aside" \
	    cat "$SBX_STATE/sbxd/audit"
	atf_check -s exit:1 -e match:'sbxctl rm --discard' sbxctl rm "$sid"
	atf_check -o match:"$sid.*aside" sbxctl gc --older 0s
	atf_check -o inline:'mine\n' cat "$dir/0"
	atf_check -o match:removed sbxctl rm --discard "$sid"
	int_state_check
	int_end
}

atf_test_case undiscarded
undiscarded_head()
{
	atf_set descr "a discard that fails takes nothing for its base: what \
the owner has changed meanwhile is drift as it was"
	atf_set require.user root
}
undiscarded_body()
{
	int_begin
	int_who user
	int_keep sh -c 'echo in >>a.txt'
	echo owner >>"$P/a.txt"
	atf_check -s exit:1 -o ignore -e match:'1 real file has changed' \
	    sbxctl apply --yes "$sid"
	u=$(find "$SBX_STATE/s/$sid" -name a.txt -path '*/u/*')
	chattr +i "$u" || atf_fail "no copy of a.txt in the layer"
	atf_check -s exit:1 -e match:'not permitted' \
	    sbxctl discard --yes "$sid" "$P/a.txt"
	chattr -i "$u"
	cp "$P/a.txt" real
	atf_check -s exit:1 -o ignore -e match:'1 real file has changed' \
	    sbxctl apply --yes "$sid"
	atf_check cmp real "$P/a.txt"
	atf_check -o ignore sbxctl discard --yes "$sid" "$P/a.txt"
	atf_check test ! -e "$u"
	atf_check -o match:removed sbxctl rm "$sid"
	int_end
}

atf_test_case unended
unended_head()
{
	atf_set descr "the suite dies between a landing and the cleaning of \
its layer: the next one cleans it, and the owner's later edits show"
	atf_set require.user root
}
unended_body()
{
	int_plain || atf_skip "sanitized programs cannot be traced"
	int_begin
	int_who user
	int_keep sh -c "echo in >>a.txt; echo n >new; mv Makefile 'm  2'"
	rm -f stall.out
	stall "$(pgrep -ox mountd)" unlinkat 1 1 >stall.out 2>stall.err &
	stall=$!
	int_wait_file stall.out ready
	sbxctl apply --yes "$sid" >out 2>err &
	ctl=$!
	int_wait_file stall.out stalled
	atf_check test -s "$SBX_STATE/sbxd/$sid/unclean"
	atf_check test ! -e "$SBX_STATE/sbxd/$sid/journal"
	atf_check -o match:in cat "$P/a.txt"
	# shellcheck disable=SC2046 # pids
	kill -9 "$sbx_suite" $(pgrep -x mountd)
	kill "$stall"
	wait "$ctl" || :
	wait "$sbx_suite" || :
	for role in spawn landd netd; do
		int_wait sh -c "! pgrep -x $role >/dev/null"
	done
	u=$(find "$SBX_STATE/s/$sid" -name a.txt -path '*/u/*')
	atf_check test -n "$u"
	int_suite
	int_wait test ! -e "$SBX_STATE/sbxd/$sid/unclean"
	atf_check test ! -e "$u"
	echo owner >>"$P/a.txt"
	cp "$P/a.txt" real
	atf_check -o file:real -e match:'is kept' sbxctl resume "$sid" -- \
	    cat a.txt
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	atf_check -o match:removed sbxctl rm "$sid"
	int_state_check
	int_end
}

atf_test_case back
back_head()
{
	atf_set descr "a landing that was taken back leaves what others' edits \
replaced and no more, and the session's end names it"
	atf_set require.user root
}
# back_one: two files are landed when the owner writes to the first and to one
# that is to come.
back_one()
{
	for f in f1 f2 f3 f4; do
		echo "$f before" >"$P/$f"
		# Its own folder is who lands.
		chown --reference="$P" "$P/$f"
	done
	int_keep sh -ec 'for f in f1 f2 f3 f4; do echo in >$f; done
	    for i in 1 2 3 4 5; do echo n >n$i; done; rm Makefile'
	rm -f stall.out
	stall "$(pgrep -x spawn)" renameat2 4 >stall.out 2>stall.err &
	stall=$!
	int_wait_file stall.out ready
	sbxctl apply --yes "$sid" >out 2>err &
	ctl=$!
	int_wait_file stall.out stalled
	# patch is put in its place by a rename, then two steps are done.
	atf_check -o inline:'in\n' cat "$P/f2"
	atf_check -o inline:'f4 before\n' cat "$P/f4"
	echo OWNER >"$P/f1"
	echo OWNER >"$P/f4"
	kill "$stall"
	status=0
	wait "$ctl" || status=$?
	cat out err
	atf_check_equal 1 "$status"
	land=$P/.git/sbx-land-$sid
	atf_check -o match:"changed while it was being landed.* 1 that were \
changed by others .* in .git/sbx-land-$sid/1" cat err
	atf_check -o inline:'OWNER\nf2 before\nf3 before\nOWNER\n' \
	    cat "$P/f1" "$P/f2" "$P/f3" "$P/f4"
	atf_check test -e "$P/Makefile" -a ! -e "$P/n1"
	# Nothing of what was refused.
	find "$land" -type f
	atf_check_equal 2 "$(find "$land" -type f | wc -l)"
	atf_check test -s "$land/1/record"
	atf_check -o inline:'f1 before\n' cat "$land/1/"[0-9]*
	# Nor is anything to be recovered.
	atf_check test ! -e "$SBX_STATE/sbxd/$sid/journal"
}
back_body()
{
	int_plain || atf_skip "sanitized programs cannot be traced"
	int_begin
	int_who user
	back_one
	# Another suite knows of it too.
	int_stop
	int_suite
	warned 'is f1 as it was before a landing that was taken back' \
	    sbxctl rm --discard "$sid"
	grep -q -F "$land" warned.err || atf_fail "it does not say where"
	atf_check -o inline:'f1 before\n' cat "$land/1/"[0-9]*
	int_state_check
	rm -rf "$land"
	# Where the owner has put it back it is needed no more.
	back_one
	echo 'f1 before' >"$P/f1"
	atf_check -o match:removed sbxctl rm --discard "$sid"
	atf_check test ! -e "$land"
	int_state_check
	int_end
}

atf_init_test_cases()
{
	for c in removed foreign moved stuck live killed unclean aside undiscarded \
	    unended back; do
		atf_add_test_case "$c"
	done
}
