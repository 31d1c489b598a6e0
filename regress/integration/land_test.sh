# changes, diff, patch, apply, discard: of stopped sessions.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# digest: of the session $sid, as changes prints it.
digest() {
	sbxctl changes "$sid" | sed -n 's/^digest *//p'
}

# patched: the patch, applied by git apply inside a copy of the repository and
# in a folder that is none, gives what apply then gives. Session $sid is
# landed. G core.
patched() {
	copy=$SBX_SCRATCH/copy plain=$SBX_SCRATCH/plain
	rm -rf "$copy" "$plain"
	cp -a "$P" "$copy"
	cp -a "$P" "$plain"
	rm -rf "$plain/.git"
	atf_check -o ignore sbxctl patch -o the.patch "$sid"
	size=$(sbxctl changes --json "$sid" |
	    python3 -c 'import json, sys; print(json.load(sys.stdin)["patch_bytes"])')
	atf_check_equal "$size" "$(wc -c <the.patch)"
	atf_check -o save:stdout.patch sbxctl patch -o - "$sid"
	atf_check cmp the.patch stdout.patch
	if [ -s the.patch ]; then
		atf_check -e ignore git -C "$copy" apply \
		    --whitespace=nowarn "$PWD/the.patch"
		(cd "$plain" && GIT_CEILING_DIRECTORIES=$SBX_SCRATCH \
		    git apply --whitespace=nowarn "$OLDPWD/the.patch") ||
		    atf_fail "git apply outside a repository"
	fi
	atf_check -o match:landed sbxctl apply --yes "$sid"
	# Empty folders are not git's, nor ours.
	int_same "$(int_content "$P")" "$(int_content "$copy")" \
	    "git apply in a repository gives another tree"
	int_same "$(int_content "$P")" "$(int_content "$plain")" \
	    "git apply outside a repository gives another tree"
}

atf_test_case round
round_head()
{
	atf_set descr "changes, diff, patch, apply: one tree by all ways"
	atf_set require.user root
	atf_set timeout 120
}
round_one()
{
	printf 'a\nb\nc' >"$P/noeol"
	printf 'x\r\ny\nz\r' >"$P/crlf"
	mkdir -p "$P/gone/deep" "$P/moved"
	echo 1 >"$P/gone/one"
	echo 2 >"$P/gone/deep/two"
	echo m >"$P/moved/m"
	head -c 3000 /dev/urandom >"$P/bin"
	touch "$P/empty"
	printf '#!/bin/sh\necho run\n' >"$P/script"
	chmod 755 "$P/script"
	chown -R --reference="$P" "$P"
	int_as_owner "$P" git -C "$P" add .
	int_as_owner "$P" git -C "$P" commit -qm more
	run --keep -- sh -ec '
		sed -i s/two/2/ a.txt; printf "d\n" >>noeol; printf q >>crlf
		rm -r gone; mv moved moved2; mv script tool; chmod 644 tool
		head -c 4000 /dev/urandom >bin; echo new >new; : >newempty
		rm link; ln -s src link; ln -s /etc/shadow out
		mkdir -p n/e/w; echo deep >n/e/w/f; chmod 755 n/e/w/f
		echo text >empty; ln -s dangling broken
		rm src/main.c; mkdir src/main.c; echo x >src/main.c/x' \
	    >keep.out 2>keep.err || atf_fail "$(cat keep.err)"
	int_kept keep.err
	before=$(sbx_tree "$P")
	atf_check -o save:changes sbxctl changes "$sid"
	for l in 'M  a.txt  +1 -1' 'A  new  +1' 'D  gone/one' \
	    'D  gone/deep/two' 'R  moved2/m' 'M  bin  binary' \
	    'T  link\|M  link' 'A  out' 'A  n/e/w/f' 'M  empty' 'M  noeol' \
	    'D  src/main.c' 'A  src/main.c/x'; do
		atf_check -o ignore grep -e "^  *\(${l%%  *}\)  ${l#*  }" changes
	done
	atf_check -o save:changes.json sbxctl changes --json "$sid"
	int_json changes.json "o['session'] == '$sid'" "o['target'] == '$P'" \
	    'o["skipped"] == []' 'o["ignored"] == []' \
	    '{"path", "kind", "old_mode", "new_mode", "old_size", "new_size",
	    "insertions", "deletions"} <= set(o["files"][0])' \
	    '"100755" in [f["new_mode"] for f in o["files"]
	    if f["path"] == "n/e/w/f"]'
	atf_check -o match:'^-two' -o match:'^\+2$' \
	    -o match:'diff --git a/a.txt b/a.txt' sbxctl diff "$sid"
	# Looking changes nothing, and the second look is the first.
	int_same "$before" "$(sbx_tree "$P")"
	atf_check -o file:changes sbxctl changes "$sid"
	wanted=$(digest)
	patched
	# As the session saw it, with the user's name on it.
	atf_check -o inline:'one\n2\nthree\n' cat "$P/a.txt"
	atf_check test ! -e "$P/gone" -a ! -e "$P/moved" -a -d "$P/src/main.c"
	atf_check -o inline:"$(stat -c %U "$P")\n" stat -c %U "$P/n/e/w/f"
	atf_check -o inline:'/etc/shadow\n' readlink "$P/out"
	# The landing is a line of the audit log, with who and what.
	atf_check -o match:"apply session=$sid peer=$who_peer .*digest=$wanted .*ok" \
	    tail -n 1 "$SBX_STATE/sbxd/audit"
	# Nothing waits any more, and nothing of ours is in the repository.
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	atf_check -o empty find "$P" -name .git -prune -o -name '*sbx*' -print
	int_as_owner "$P" git -C "$P" status -s >status
	atf_check -o match:'D gone/one' -o not-match:sbx cat status
	atf_check -o ignore sbxctl rm "$sid"
}
round_body()
{
	int_begin
	int_each round_one
	int_state_check
	int_end
}

atf_test_case names
names_head()
{
	atf_set descr "G109: every name there is, listed escaped, landed exactly"
	atf_set require.user root
	atf_set timeout 120
}
names_one()
{
	cat >"$SBX_SCRATCH/tools/names" <<-'EOT'
		import os, sys
		names = [b"tab\there", b"new\nline", b'quo"te', b"back\\slash",
		    b" leading", b"trailing ", b"-rf", b"--", b"a b/c",
		    b"x b/x", b"n" * 255, b"\xff\xfe", b"caf\xe9",
		    "\u2603\U0001f600".encode(), b"\x01\x1b[31mred",
		    "\u202etxt.exe".encode(), b"*", b"$(id)", b"a;b", b"'",
		    b"dev,null:x", b"...", b"\x7f", b"CON", b"a/.wh.x",
		    b"%s%n", b"/".join([b"d" * 200] * 15) + b"/deep"]
		old = sys.argv[1] == "old"
		for n in names:
		    if b"/" in n:
		        os.makedirs(os.path.dirname(n), exist_ok=True)
		    with open(n, "ab" if old else "ab") as f:
		        f.write(n + b"\n")
		    if not old:
		        with open(b"new-" + n if len(n) < 250 and b"/" not in n
		            else n + b"2" if len(n) < 250 or b"/" in n
		            else b"m" * 255, "wb") as f:
		            f.write(b"other" + n)
	EOT
	int_as_owner "$P" sh -c "cd $P && python3 $tools/names old && git add . &&
	    git commit -qm names"
	int_keep python3 "$tools/names" new
	atf_check -o save:list sbxctl changes "$sid"
	# Nothing that a terminal obeys, and a line an entry.
	atf_check -s exit:1 -o empty grep -aP '[\x00-\x08\x0b-\x1f\x7f]' list
	atf_check -s exit:1 -o empty grep -a "$(printf '\342\200\256')" list
	atf_check -o save:diff sbxctl diff "$sid"
	atf_check -s exit:1 -o empty grep -aP '[\x00-\x08\x0b-\x1f\x7f]' diff
	atf_check -o save:c.json sbxctl changes --json "$sid"
	int_json c.json 'len(o["files"]) == 54' \
	    'any(f.get("path_b64") == "//4=" for f in o["files"])' \
	    'any(f["path"] == "new\nline" for f in o["files"])'
	patched
	int_as_owner "$P" git -C "$P" status >status || atf_fail status
	atf_check -o ignore sbxctl rm "$sid"
}
names_body()
{
	int_begin
	int_each names_one
	int_end
}

atf_test_case stale
stale_head()
{
	atf_set descr "apply --digest takes what was looked at or nothing"
	atf_set require.user root
}
stale_body()
{
	int_begin
	int_who user
	int_live s sh -c 'echo one >f; read l; echo two >f; read l'
	int_wait_file /dev/null
	int_wait sh -c "sbxctl changes $sid | grep -q 'A  f'"
	d=$(digest)
	echo >&9
	int_wait sh -c "sbxctl diff $sid | grep -q '^+two'"
	before=$(sbx_tree "$P")
	atf_check -s exit:1 -o ignore -e match:'review again' \
	    sbxctl apply --digest "$d" "$sid"
	int_same "$before" "$(sbx_tree "$P")"
	d=$(digest)
	# Another session's, no digest at all, half of one.
	atf_check -s exit:1 -o ignore -e ignore sbxctl apply --digest \
	    "$(printf '%064d' 0)" "$sid"
	int_refused 2 1234 sbxctl apply --digest 1234 "$sid"
	int_refused 2 --yes sbxctl apply --yes --digest "$d" "$sid"
	int_refused 1 --yes sbxctl apply "$sid"
	int_same "$before" "$(sbx_tree "$P")"
	atf_check -o match:'1 file landed' sbxctl apply --digest "$d" "$sid"
	atf_check -o inline:'two\n' cat "$P/f"
	# Once is enough: the same digest is not taken again.
	atf_check -s exit:1 -o ignore -e ignore sbxctl apply --digest "$d" \
	    "$sid"
	exec 9>&-
	wait "$live" || :
	int_end
}

atf_test_case drift
drift_head()
{
	atf_set descr "what the owner changed meanwhile refuses all, with a list"
	atf_set require.user root
	atf_set timeout 120
}
drift_one()
{
	mkdir "$P/dir"
	for f in edited replaced removed same touched quiet dir/inner; do
		echo "$f" >"$P/$f"
	done
	chown -R --reference="$P" "$P"
	int_as_owner "$P" git -C "$P" add .
	int_as_owner "$P" git -C "$P" commit -qm drift
	run --keep -- sh -c 'for f in edited replaced removed same touched quiet
	    do echo in >>$f; done; echo in >created; rm -r dir; rm a.txt' \
	    2>err || atf_fail "$(cat err)"
	int_kept err
	echo out >>"$P/edited"
	echo out >"$P/r" && mv "$P/r" "$P/replaced"
	rm "$P/removed"
	echo in >>"$P/same"
	echo out >"$P/created"
	echo out >"$P/dir/late"
	echo out >"$P/a.txt"
	chown --reference="$P" "$P/replaced" "$P/created" "$P/dir/late"
	before=$(sbx_tree "$P")
	atf_check -s exit:1 -o save:out -e save:err sbxctl apply --yes "$sid"
	for f in edited replaced removed created a.txt; do
		atf_check -o match:"  $f  .*DRIFTED" cat out
	done
	atf_check -o not-match:'  quiet .*DRIFTED' -o not-match:'  same ' \
	    -o not-match:'  touched .*DRIFTED' cat out
	atf_check_equal 1 "$(wc -l <err)"
	int_same "$before" "$(sbx_tree "$P")" "a refused landing wrote"
	atf_check -o match:'drifted' sbxctl changes "$sid"
	atf_check -s exit:1 -o save:r.json -e ignore sbxctl apply --yes \
	    --json "$sid"
	int_json r.json 'o["error"] == "land.drifted"' \
	    '{"edited", "replaced", "removed", "created", "a.txt", "dir/late",
	    "dir/inner"} == {f["path"] for f in o["files"] if "drift" in f}'
	# The owner's folder with something new in it is not deleted, nor what
	# it had: it may be another one of that name.
	atf_check -o inline:'out\n' cat "$P/dir/late"
	# Without those that drifted the rest lands.
	atf_check -o match:discarded sh -c "cd $P && sbxctl discard --yes $sid \
	    edited replaced removed created a.txt dir"
	atf_check -o match:landed sbxctl apply --yes "$sid"
	atf_check -o inline:'quiet\nin\n' cat "$P/quiet"
	atf_check -o inline:'edited\nout\n' cat "$P/edited"
	atf_check -o inline:'out\n' cat "$P/created"
	atf_check test ! -e "$P/removed"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm "$sid"
}
drift_body()
{
	int_begin
	int_each drift_one
	int_end
}

atf_test_case discarded
discarded_head()
{
	atf_set descr "discard, of all and of some, is real in a stopped session"
	atf_set require.user root
}
discarded_one()
{
	before=$(sbx_tree "$P")
	int_keep sh -c 'echo x >>a.txt; rm Makefile; mkdir n; echo 1 >n/1
	    echo 2 >n/2; mv src srcs; ln -sf q link; mkfifo p; echo q >q'
	int_refused 1 --yes sbxctl discard "$sid"
	int_refused 1 "$SBX_SCRATCH" sbxctl discard --yes "$sid" "$SBX_SCRATCH"
	atf_check -o match:'1 change discarded' sh -c \
	    "cd $P && sbxctl discard --yes a.txt"
	atf_check -o not-match:a.txt -o match:'D  Makefile' sbxctl changes "$sid"
	# A folder stands for all below it.
	atf_check -o match:discarded sh -c "cd $P/src && sbxctl discard --yes \
	    $sid -- ../n"
	atf_check -o not-match:' n/' -o match:'A  q' sbxctl changes "$sid"
	# What is not changed cannot be discarded, and says so.
	int_refused 1 .gitignore sh -c \
	    "cd $P && sbxctl discard --yes $sid .gitignore"
	atf_check -o match:'A  q' -o match:'srcs/main.c' sbxctl changes "$sid"
	atf_check -o save:d.json sbxctl discard --yes --json "$sid"
	int_json d.json "o['session'] == '$sid'" 'o["discarded"] > 0'
	atf_check -o match:'^0 files changed' -o not-match:skipped \
	    sbxctl changes "$sid"
	int_same "$before" "$(sbx_tree "$P")" "a discard touched the real files"
	atf_check -o match:removed sbxctl rm "$sid"
}
discarded_body()
{
	int_begin
	int_each discarded_one
	int_end
}

atf_test_case partly
partly_head()
{
	atf_set descr "after a partial discard the owner's later edits are seen"
	atf_set require.user root
}
partly_body()
{
	int_begin
	int_who user
	int_keep sh -c 'echo in >>a.txt; echo in >b.txt'
	atf_check -o ignore sh -c "cd $P && sbxctl discard --yes a.txt"
	echo owner >>"$P/a.txt"
	# The owner's edit is no change of the session's, and no drift.
	atf_check -o not-match:a.txt -o match:'1 file changed' \
	    sbxctl changes "$sid"
	atf_check -o match:'1 file landed' sbxctl apply --yes "$sid"
	atf_check -o match:owner cat "$P/a.txt"
	# After the landing too, also where the landed file is edited.
	echo owner >>"$P/b.txt"
	rm "$P/Makefile"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	atf_check -o match:removed sbxctl rm "$sid"
	atf_check -o inline:'in\nowner\n' cat "$P/b.txt"
	int_end
}

atf_test_case kinds
kinds_head()
{
	atf_set descr "G116, A11, D81: file and folder and link change places; \
what does not land is listed"
	atf_set require.user root
	atf_set timeout 120
}
kinds_one()
{
	mkdir -p "$P/k/dir/sub" "$P/k/dir2" "$P/k/todir"
	for f in file file2 exec lower dir/a dir/sub/b dir2/c suid; do
		echo "$f" >"$P/k/$f"
	done
	chown -R --reference="$P" "$P/k"
	chmod 4755 "$P/k/suid"
	# A name outside of the project, of what changes its mode only.
	echo key >"$P/k/tool"
	chown --reference="$P" "$P/k/tool"
	chmod 0600 "$P/k/tool"
	ln "$P/k/tool" "$P-key"
	int_as_owner "$P" git -C "$P" add .
	int_as_owner "$P" git -C "$P" commit -qm kinds
	run --keep -- sh -ec '
		cd k; rm file; mkdir file; echo x >file/x; rm -r dir
		echo now >dir; rm file2; ln -s exec file2; chmod +x exec
		: >e; rm -r dir2; ln -s .. dir2; mv lower LOWER; rmdir todir
		mkdir empty; echo y >>suid; echo s >s; chmod 6755 s
		mkfifo fifo; "$0" socket sock; echo 1 >z; chmod 2755 .
		chmod 666 tool
		mkdir .git2; mkdir -p sub/.git; echo hook >sub/.git/config
		mkdir ../ign; echo q >main.o; echo r >../ign/x.o' \
	    "$tools/fs" 2>err || atf_fail "$(cat err)"
	int_kept err
	atf_check -o save:list timeout 20 sbxctl changes "$sid"
	for l in 'A  k/file/x' 'D  k/file$\|T  k/file$\|D  k/file ' 'k/dir' \
	    'T  k/file2' 'm  k/exec' 'A  k/e$' 'k/dir2' 'R  k/LOWER' \
	    'A  k/z' 'k/fifo' 'k/sock' 'k/s'; do
		atf_check -o ignore grep -e "$l" list
	done
	atf_check -o save:k.json sbxctl changes --json "$sid"
	int_json k.json '{"k/fifo", "k/sock"} <= {s["path"] for s in o["skipped"]}' \
	    'all(s["reason"] for s in o["skipped"])' \
	    'any(".git" in s["path"] for s in o["skipped"])' \
	    'sum(i["files"] for i in o["ignored"]) == 2' \
	    'not {"k/main.o", "ign/x.o", "k/fifo"} & {f["path"] for f in
	    o["files"]}' \
	    '[(s["path"], s["class"]) for s in o["stripped"]] ==
	    [("k/s", "setuid"), ("k/tool", "links")]' \
	    '"k/s" not in {s["path"] for s in o["skipped"]}'
	atf_check -o match:'A  k/s .*lands without setuid and setgid$' cat list
	atf_check -o match:landed timeout 20 sbxctl apply --yes "$sid"
	atf_check test -d "$P/k/file" -a -f "$P/k/dir" -a -L "$P/k/file2" \
	    -a -x "$P/k/exec" -a -L "$P/k/dir2" -a ! -e "$P/k/lower" \
	    -a -f "$P/k/LOWER" -a -f "$P/k/z"
	atf_check test ! -e "$P/k/fifo" -a ! -e "$P/k/sock" \
	    -a ! -e "$P/k/sub" -a ! -e "$P/k/main.o" -a ! -e "$P/ign"
	atf_check -o inline:'666\n' stat -c %a "$P/k/tool"
	atf_check -o inline:'600\n' stat -c %a "$P-key"
	# D81: no landing carries a set-id bit; the owner's own one is not
	# taken on with bytes that are another's.
	atf_check -o empty find "$P/k" -type f -perm /6000
	atf_check -o inline:'suid\ny\n' cat "$P/k/suid"
	atf_check -o ignore sbxctl rm --discard "$sid"
}
kinds_body()
{
	int_begin
	int_each kinds_one
	int_end
}

atf_test_case through
through_head()
{
	atf_set descr "A13, G106: links planted inside lead a landing nowhere"
	atf_set require.user root
}
through_one()
{
	out=$SBX_SCRATCH/out
	rm -rf "$out"
	mkdir -m 0777 "$out"
	echo owner >"$out/f"
	mkdir "$P/d"
	echo d >"$P/d/f"
	chown -R --reference="$P" "$P/d"
	beyond=$(sbx_tree "$out")
	int_keep sh -c "ln -s /etc/shadow notes.txt; ln -s /root d2
	    rm -r d; ln -s $out d; ln -s $out/new made"
	atf_check -o not-match:'root:[*!$]' -o match:'\+/etc/shadow' \
	    sbxctl diff "$sid"
	atf_check -o ignore sbxctl apply --yes "$sid"
	atf_check -o inline:"$out\n" readlink "$P/d"
	first=$sid
	# The other way round: real is the link, the session wants a folder.
	int_keep sh -c 'rm d; mkdir d; echo inside >d/f; rm made
	    mkdir made; echo inside >made/x'
	# Meanwhile the owner has put a link where a folder is to be.
	atf_check -o match:landed sbxctl apply --yes "$sid"
	atf_check test ! -L "$P/d" -a -f "$P/made/x"
	second=$sid
	int_keep sh -c 'echo more >d/f; echo more >made/x'
	mv "$P/d" "$P/dd"
	ln -s "$out" "$P/d"
	atf_check -s exit:1 -o ignore -e ignore sbxctl apply --yes "$sid"
	int_same "$beyond" "$(sbx_tree "$out")" "written through a link"
	for s in "$first" "$second" "$sid"; do
		atf_check -o ignore sbxctl rm --discard "$s"
	done
}
through_body()
{
	int_begin
	int_each through_one
	int_end
}

atf_test_case whole
whole_head()
{
	atf_set descr "G111: what cannot be written refuses the whole"
	atf_set require.user root
}
whole_body()
{
	int_begin
	int_who user
	mkdir "$P/locked"
	echo l >"$P/locked/l"
	echo m >"$P/middle"
	chown -R --reference="$P" "$P"
	int_keep sh -c 'echo 1 >aa; echo in >>middle; echo 3 >zz'
	chattr +i "$P/middle"
	before=$(int_bytes "$P")
	atf_check -s exit:1 -o ignore -e save:err sbxctl apply --yes "$sid"
	atf_check_equal 1 "$(wc -l <err)"
	atf_check -o match:middle cat err
	chattr -i "$P/middle"
	int_same "$before" "$(int_bytes "$P")" "half a landing"
	# The attribute's change is a change of the owner's.
	atf_check -o match:discarded sh -c "cd $P && sbxctl discard --yes $sid \
	    middle"
	atf_check -o match:'2 files landed' sbxctl apply --yes "$sid"
	# A folder that the user may not write.
	int_keep sh -c 'echo 1 >ab; echo in >>locked/l; echo n >locked/n'
	chmod 555 "$P/locked"
	before=$(int_bytes "$P")
	atf_check -s exit:1 -o ignore -e save:err sbxctl apply --yes "$sid"
	atf_check_equal 1 "$(wc -l <err)"
	atf_check -o match:locked cat err
	int_same "$before" "$(int_bytes "$P")" "half a landing"
	chmod 755 "$P/locked"
	atf_check -o match:'3 files landed' sbxctl apply --yes "$sid"
	# Full: nothing of it.
	sbx_fresh_fs tmpfs "$SBX_SCRATCH/small" 1m
	P=$SBX_SCRATCH/small/p
	sbx_repo "$P" "$int_user"
	int_keep sh -c 'echo 1 >aa; head -c 2000000 /dev/urandom >big
	    echo x >>a.txt'
	before=$(int_bytes "$P")
	atf_check -s exit:1 -o ignore -e save:err sbxctl apply --yes "$sid"
	atf_check_equal 1 "$(wc -l <err)"
	int_same "$before" "$(int_bytes "$P")" "half a landing"
	atf_check -o empty find "$P" -name '*sbx-land*'
	umount "$SBX_SCRATCH/small" || atf_fail "something holds it"
	int_end
}

atf_test_case moved
moved_head()
{
	atf_set descr "the project's folder is another one by then: refused"
	atf_set require.user root
}
moved_one()
{
	int_keep sh -c 'echo in >f; echo in >>a.txt'
	mv "$P" "$P.old"
	int_refused 1 "$P" sbxctl apply --yes "$sid"
	sbx_repo "$P" "$(stat -c %U "$P.old")"
	before=$(sbx_tree "$P")
	int_refused 1 "$P" sbxctl apply --yes "$sid"
	rm -rf "$P"
	ln -s "$P.old" "$P"
	int_refused 1 "$P" sbxctl apply --yes "$sid"
	rm "$P"
	atf_check test ! -e "$P.old/f"
	mv "$P.old" "$P"
	atf_check -o match:'2 files landed' sbxctl apply --yes "$sid"
	atf_check -o ignore sbxctl rm "$sid"
}
moved_body()
{
	int_begin
	int_each moved_one
	int_end
}

atf_test_case ghosts
ghosts_head()
{
	atf_set descr "after a landing nothing shows through what was moved"
	atf_set require.user root
}
ghosts_one()
{
	mkdir -p "$P/x/s" "$P/k"
	echo f >"$P/x/f"
	echo s >"$P/x/s/s"
	echo o >"$P/x/ign.o"
	chown -R --reference="$P" "$P"
	# A folder moves, another one takes its place; the moved one keeps
	# something that does not land (an empty folder, an ignored file).
	int_keep sh -ec 'mv x y; mkdir -p y/t y/s/e x/t x/s; echo n >x/t/n
	    echo g >x/g; echo g >x/s/g; ln -s q x/s/l
	    mv k z; mkdir z/only; mkdir -p k/only; echo i >k/only/i'
	atf_check -o match:'A  x/t/n' -o match:'R  y/f' sbxctl changes "$sid"
	atf_check -o match:landed sbxctl apply --yes "$sid"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	# The owner's later edits at both places are the owner's.
	echo later >>"$P/x/g"
	echo later >>"$P/y/f"
	echo later >"$P/k/only/later"
	chown --reference="$P" "$P/k/only/later"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
}
ghosts_body()
{
	int_begin
	int_each ghosts_one
	int_end
}

atf_test_case config
config_head()
{
	atf_set descr "C62, C58: whatever git is configured to do, it is not done"
	atf_set require.user root
}
config_one()
{
	pwn=$SBX_SCRATCH/pwn
	rm -rf "$pwn"
	mkdir -m 0777 "$pwn"
	for c in "core.fsmonitor=touch $pwn/a;:" "diff.external=touch $pwn/b" \
	    "filter.x.clean=touch $pwn/c; cat" "core.autocrlf=true" \
	    "diff.x.textconv=touch $pwn/d; cat" diff.noprefix=true \
	    color.ui=always core.quotePath=false apply.whitespace=error; do
		int_as_owner "$P" git -C "$P" config "${c%%=*}" "${c#*=}"
	done
	int_keep sh -c 'printf "* filter=x diff=x text\n" >.gitattributes
	    printf "a\r\nb  \n" >crlf; echo "x  " >>a.txt
	    git config core.hooksPath h; mkdir h; echo "touch q" >h/pre-commit
	    echo evil >.git/hooks/pre-commit; git config alias.x "!sh"'
	atf_check -o match:'A  crlf' -o match:'A  h/pre-commit' \
	    -o match:'\.git/' sbxctl changes "$sid"
	atf_check -o match:'b/a.txt' sbxctl diff "$sid"
	atf_check -o match:landed sbxctl apply --yes "$sid"
	atf_check -o inline:'a\r\nb  \n' cat "$P/crlf"
	atf_check_equal "" "$(ls "$pwn")"
	atf_check test ! -e "$P/.git/hooks/pre-commit"
	atf_check -o not-match:hooksPath -o not-match:alias cat "$P/.git/config"
	atf_check -o ignore sbxctl rm --discard "$sid"
}
config_body()
{
	int_begin
	int_each config_one
	int_end
}

atf_test_case nogit
nogit_head()
{
	atf_set descr "G117: no repository, untracked before, a linked worktree"
	atf_set require.user root
}
nogit_one()
{
	# Untracked before the start is real all the same.
	echo u >"$P/untracked"
	chown --reference="$P" "$P/untracked"
	int_keep sh -c 'echo in >>untracked; echo n >new'
	patched
	atf_check -o inline:'u\nin\n' cat "$P/untracked"
	atf_check -o ignore sbxctl rm "$sid"
	# C55: the git folder of a linked worktree lies elsewhere.
	int_as_owner "$P" git -C "$P" worktree add -q "$P.wt"
	git_before=$(sbx_tree "$P/.git")
	main=$P
	P=$P.wt
	int_keep sh -ec 'echo w >w; git add w; git commit -qm w
	    git checkout -q -b other HEAD~1; echo o >o; git add o
	    git commit -qm o; git rebase -q "$0"
	    git log --format=%s -n 2' "${P##*/}"
	atf_check -o inline:'o\nw\n' cat keep.out
	int_same "$git_before" "$(sbx_tree "$main/.git")" ".git was touched"
	atf_check -o match:'A  w' -o match:'A  o' -o match:'2 files changed' \
	    sbxctl changes "$sid"
	atf_check -o match:'2 files landed' sbxctl apply --yes "$sid"
	atf_check -o inline:'w\no\n' cat "$P/w" "$P/o"
	int_as_owner "$P" git -C "$P" fsck --strict ||
	    atf_fail "the owner's repository is broken"
	atf_check -o ignore sbxctl rm --discard "$sid"
	# None at all.
	P=$main.none
	mkdir "$P"
	printf 'one\n' >"$P/a"
	chown -R --reference="$main" "$P"
	int_keep sh -c 'echo in >>a; mkdir b; echo c >b/c; echo x >x.o'
	atf_check -o match:'3 files changed' sbxctl changes "$sid"
	patched
	atf_check -o ignore sbxctl rm "$sid"
}
nogit_body()
{
	int_begin
	int_each nogit_one
	int_end
}

atf_init_test_cases()
{
	for c in round names stale drift discarded partly kinds through \
	    whole moved ghosts config nogit; do
		atf_add_test_case "$c"
	done
}
