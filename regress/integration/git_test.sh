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

atf_init_test_cases()
{
	atf_add_test_case inside
	atf_add_test_case builds
}
