# The main job on a clone of this repository: git and a build inside.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# clone_here root|user|own: $P is a clone of this repository, that one's. Its
# branch is main, whichever is checked out here, or none.
clone_here()
{
	int_who "$1"
	rm -rf "$P"
	git clone -q --no-hardlinks "$SBX_SRC" "$P" &&
	    git -C "$P" checkout -q -B main || atf_fail "no clone"
	chown -Rh --reference="$who_home" "$P"
}

atf_test_case inside
inside_head()
{
	atf_set descr "add, commit, stash, rebase, worktree inside; the host's \
.git is the same, byte for byte"
	atf_set require.user root
	atf_set timeout 180
}
inside_one()
{
	clone_here "$int_one"
	before=$(sbx_tree "$P/.git")
	all=$(sbx_tree "$P")
	run --keep -- sh -exc '
		git status --porcelain
		echo new >new.txt; echo edit >>README.md; git add -A
		git commit -qm one; git log --oneline | head -n 1
		echo stashed >>README.md; git stash -q; git stash list
		git checkout -qb side HEAD~1; echo side >side.txt; git add .
		git commit -qm side; git rebase -q main
		git stash pop -q; grep -q stashed README.md; git checkout -q .
		git worktree add -q ../wt main~1; (cd ../wt; echo w >w
		git add w; git commit -qm w; git branch -f fromwt)
		git merge -q -m m fromwt; git tag t; git gc -q; git fsck
		git reset -q --hard t; git clean -qfdx; git config x.y z
		test "$(git rev-list --count main..side)" -ge 3' \
	    >out 2>err || atf_fail "$(tail -n 5 err)"
	sid=$(sed -n 's/.*session \([a-z2-7]*\) is kept.*/\1/p' err)
	int_same "$before" "$(sbx_tree "$P/.git")" "the host's .git was touched"
	int_same "$all" "$(sbx_tree "$P")" "the host's files were touched"
	atf_check test ! -e "$P/../wt"
	atf_check -o ignore git -C "$P" fsck
	atf_check -o save:list sbxctl changes "$sid"
	atf_check -o match:'M  README.md' -o match:'A  new.txt' \
	    -o match:'A  side.txt' -o match:'A  w' -o match:'^4 files' cat list
	# .git never lands, and is said.
	atf_check -o match:'\.git' cat list
	before=$(int_bytes "$P/.git")
	atf_check -o match:'4 files landed' sbxctl apply --yes "$sid"
	int_same "$before" "$(int_bytes "$P/.git")" "the landing touched .git"
	atf_check -o match:'^ M README.md' -o match:'^[?][?] new.txt' \
	    git -C "$P" status --porcelain
	atf_check_equal main "$(git -C "$P" symbolic-ref --short HEAD)"
	atf_check -o empty git -C "$P" tag -l t
	atf_check -s exit:1 git -C "$P" config x.y
	atf_check -o ignore sbxctl rm --discard "$sid"
}
inside_body()
{
	int_begin
	int_each inside_one
	int_end
}

atf_test_case builds
builds_head()
{
	atf_set descr "a build of this project inside; what is ignored is \
counted, not landed"
	atf_set require.user root
	atf_set timeout 240
}
builds_body()
{
	int_begin
	clone_here user
	before=$(sbx_tree "$P")
	run --keep -- sh -c 'make -s V=1 BUILD=out build_of=test \
	    out/obj/common/escape.o out/lib/libcommon.a >/dev/null &&
	    ls -l out/lib/libcommon.a && echo "/* edited */" >>common/escape.c &&
	    make BUILD=out out/lib/libcommon.a && git add -A . &&
	    git commit -qm built' >out 2>err || atf_fail "$(tail -n 5 err out)"
	sid=$(sed -n 's/.*session \([a-z2-7]*\) is kept.*/\1/p' err)
	# Only what the edit concerns was compiled again.
	atf_check -o match:'cc .*common/escape.c' -o not-match:'cc .*digest.c' \
	    cat out
	int_same "$before" "$(sbx_tree "$P")" "the real files were touched"
	atf_check -o match:'M  common/escape.c' sbxctl changes "$sid"
	atf_check -o match:landed sbxctl apply --yes "$sid"
	atf_check -o match:edited tail -n 1 "$P/common/escape.c"
	int_end
}

atf_test_case remotes
remotes_head()
{
	atf_set descr "B51: git config, remote add, push -u inside; none of it \
is outside; a .git/config that is read-only or hidden"
	atf_set require.user root
	atf_set timeout 120
}
remotes_one()
{
	up=$who_home/up.git
	int_as_owner "$P" git init -q --bare "$up"
	before=$(sbx_tree "$P/.git" && sbx_tree "$up")
	run --keep -- sh -exc '
		git config some.key value
		test "$(git config some.key)" = value
		git remote add up "$0"
		echo c >c; git add c; git commit -qm in-here
		git push -q -u up main
		test "$(git config branch.main.remote)" = up
		git fetch -q up; git branch -vv; git status -sb
		git remote rename up there; git branch -m main trunk
		git config --unset some.key; git config --list >/dev/null
		git -C "$0" log --format=%s main' "$up" >out 2>err ||
	    atf_fail "$(cat out err)"
	sid=$(sbxctl ls | awk 'END { print $1 }')
	atf_check -o match:'^in-here$' -o match:'^## main...up/main$' cat out
	int_same "$before" "$(sbx_tree "$P/.git" && sbx_tree "$up")" \
	    "a real repository was touched"
	before=$(int_bytes "$P/.git" && int_bytes "$up")
	atf_check -o match:'A  c' -o match:'^1 file' -o match:'\.git/' \
	    sbxctl changes "$sid"
	atf_check -o match:'1 file landed' sbxctl apply --yes "$sid"
	int_same "$before" "$(int_bytes "$P/.git" && int_bytes "$up")" \
	    "the landing touched a repository"
	atf_check -o ignore sbxctl rm --discard "$sid"
	# Asked to be so, it is: git says that, and the rest of it works.
	for option in --ro --hide; do
		run --keep $option .git/config -- sh -ec '
			echo d >>c; git add c; git commit -qm d; git log -1
			! git config some.key value; ! git remote add up x
			git config some.key || ls -A .git' >out 2>err ||
		    atf_fail "$(cat out err)"
		sid=$(sbxctl ls | awk 'END { print $1 }')
		# Nor is a half of it left.
		atf_check -o not-match:'value|lock|:secret' cat out
		atf_check -o match:'M  c|A  c' sbxctl changes "$sid"
		atf_check -o ignore sbxctl rm --discard "$sid"
		int_same "$before" "$(int_bytes "$P/.git" && int_bytes "$up")"
	done
	rm -r "$up"
}
remotes_body()
{
	int_begin
	int_each remotes_one
	int_end
}

atf_test_case worktree
worktree_head()
{
	atf_set descr "in a linked worktree what git keeps elsewhere keeps the \
session too"
	atf_set require.user root
}
worktree_one()
{
	main=$P
	int_as_owner "$P" git -C "$P" worktree add -q "$P-wt"
	P=$P-wt
	before=$(int_bytes "$main/.git")
	atf_check run -- sh -c 'git status --short; git log >/dev/null
	    echo x >~/elsewhere'
	for c in 'echo x >>a.txt; git stash -q' \
	    'git commit -q --allow-empty -m x' \
	    'cd "$(git rev-parse --git-common-dir)"; rm -r refs; mkdir refs' \
	    'g=$(git rev-parse --git-common-dir); rm -r "$g"; mkdir "$g"'; do
		run -- sh -ec "$c" >out 2>err </dev/null ||
		    atf_fail "$c: $(cat out err)"
		atf_check -o match:'is kept, with what does not land' \
		    cat out err
		sid=$(sbxctl ls | awk 'END { print $1 }')
		atf_check -o match:"^ *[.]git .*commits" \
		    sbxctl changes "$sid"
		# Neither it nor gc lets go of that unasked.
		atf_check -o ignore sbxctl gc
		atf_check -s exit:1 -e match:'does not land' sbxctl rm "$sid"
		atf_check -o ignore sbxctl rm --discard "$sid"
	done
	# Nor does a link in its place keep anybody from looking.
	run --keep -- sh -ec "mv '$main/.git' '$main/other'
	    ln -s other '$main/.git'; echo x >>a.txt" >out 2>err </dev/null ||
	    atf_fail "$(cat out err)"
	sid=$(sbxctl ls | awk 'END { print $1 }')
	atf_check -o match:'M  a.txt' -o match:"^ *[.]git .*commits" \
	    sbxctl changes "$sid"
	atf_check -o ignore sbxctl discard --yes "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_same "$before" "$(int_bytes "$main/.git")"
}
worktree_body()
{
	int_begin
	int_users worktree_one
	int_end
}

atf_test_case planted
planted_head()
{
	atf_set descr "C58: what a session configures git to run is run by no \
review, no landing, and no git of the owner's afterwards"
	atf_set require.user root
	atf_set timeout 120
}
planted_one()
{
	pwn=$who_home/pwn
	mkdir "$pwn" "$P/made"
	echo x >"$P/made/x"
	chown -R --reference="$P" "$pwn" "$P/made"
	int_live planted --env "PWN=$pwn" -- sh -c '
		git config core.fsmonitor "touch $PWN/fsmonitor; false"
		git config core.hooksPath hooks
		git config diff.external "touch $PWN/external;:"
		git config filter.x.clean "touch $PWN/clean; cat"
		git config filter.x.smudge "touch $PWN/smudge; cat"
		git config diff.x.textconv "touch $PWN/textconv; cat"
		git config diff.x.command "touch $PWN/command;:"
		git config merge.x.driver "touch $PWN/driver;:"
		git config core.pager "touch $PWN/pager; cat"
		git config core.sshCommand "touch $PWN/ssh;:"
		git config alias.status "!touch $PWN/alias"
		printf "* filter=x diff=x merge=x\n" >.gitattributes
		printf "* filter=x diff=x\n" >.git/info/attributes
		mkdir hooks; for h in post-checkout pre-commit post-index-change
		do printf "#!/bin/sh\ntouch %s/$h\n" "$PWN" >hooks/$h
		    cp hooks/$h .git/hooks/$h; chmod 755 hooks/$h .git/hooks/$h
		done
		printf "[core]\nfsmonitor = touch %s/more\n" "$PWN" >more
		mkdir sub; git init -q sub; git -C sub config core.fsmonitor \
		    "touch $PWN/sub; false"
		echo x >sub/x; echo more >>a.txt
		for d in bare made; do
			mkdir -p $d/objects/a $d/refs/heads
			echo x | tee $d/objects/a/R >$d/refs/heads/R
			echo "ref: refs/heads/main" >$d/HEAD
			printf "[core]\n\trepositoryformatversion = 0\n\tbare = %s
			worktree = .\n\tfsmonitor = \"touch %s/bare; false\"\n" \
			    false "$PWN" >$d/config
		done; (cd bare; git status)
		git status; git diff; git add a.txt
		git commit -qm x; ls "$PWN"; rm "$PWN"/*
		git config filter.x.process "touch $PWN/process"
		git config include.path ../more
		git config core.worktree "$PWN"; echo all planted
		read -r l'
	int_wait_file planted.out 'all planted'
	# It is a trap: inside it goes off.
	for f in fsmonitor command clean smudge pre-commit bare; do
		grep -qx "$f" planted.out || atf_fail "$(cat planted.out)"
	done
	# Polled while it runs, then looked at, then landed.
	for i in 1 2 3; do
		atf_check -o match:'M  a.txt' sbxctl changes "$sid"
	done
	exec 9>&-
	wait "$live" || :
	atf_check -o match:'^\+more' sbxctl diff "$sid"
	atf_check -o match:'A  hooks/pre-commit' -o match:'A  .gitattributes' \
	    -o match:'bare.*repository' -o match:'made/HEAD.*repository' \
	    sbxctl changes "$sid"
	atf_check -o ignore sbxctl patch -o - "$sid"
	atf_check -o match:landed sbxctl apply --yes "$sid"
	for c in "status --short" "diff" "diff HEAD" "add -A" "stash" \
	    "stash pop" "commit -qam landed" "checkout -q -B other"; do
		# shellcheck disable=SC2086 # words
		int_as_owner "$P" git -C "$P" $c >git.out 2>&1 ||
		    atf_fail "git $c: $(cat git.out)"
	done
	# Where all else of it landed: git looks in the folders above.
	(cd "$P/made" && int_as_owner "$P" git status) >git.out 2>&1 ||
	    atf_fail "$(cat git.out)"
	atf_check_equal "" "$(ls -A "$pwn")"
	rmdir "$pwn"
	atf_check -o ignore sbxctl rm --discard "$sid"
}
planted_body()
{
	int_begin
	int_each planted_one
	int_end
}

atf_init_test_cases()
{
	atf_add_test_case inside
	atf_add_test_case builds
	atf_add_test_case remotes
	atf_add_test_case planted
	atf_add_test_case worktree
}
