# An ordinary user's own suite: what is its alone. What is as in root's is
# tested there, by int_each.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# own_user: a user with a project $P, as whom sbxctl runs; nothing names a
# state, and no suite is there.
own_user()
{
	int_tools
	int_clean_mark
	sbx_user int_own
	export int_own int_own_home
	unset SBX_STATE
	PATH=$SBX_SCRATCH/ownbin:$PATH
	P=$int_own_home/p
	sbx_repo "$P" "$int_own"
	state=$int_own_home/.local/state/sbx
}

# The embedded one ends by itself.
own_ended()
{
	int_wait sh -c "! pgrep -x sbxd >/dev/null"
	int_clean_check
}

atf_test_case embedded
embedded_head()
{
	atf_set descr "run, diff, apply without root, a suite, or a state: one \
is started in the home, hidden from the session"
	atf_set require.user root
	atf_set timeout 120
}
embedded_body()
{
	own_user
	before=$(int_bytes "$P")
	run --keep -- sh -ec 'echo in >>a.txt; rm src/main.c; echo n >new
	    mkdir -p ~/made; echo h >~/made/h; ls -A ~/.local/state
	    test ! -e ~/.local/state/sbx; id -u; id -g' >out 2>err ||
	    atf_fail "$(cat out err)"
	int_kept err
	atf_check -o inline:"$(id -u "$int_own")\n$(id -g "$int_own")\n" \
	    cat out
	int_same "$before" "$(int_bytes "$P")" "the project was written to"
	atf_check test ! -e "$int_own_home/made" -a -S "$state/sbxd.sock"
	atf_check_equal "700 $int_own" "$(stat -c '%a %U' "$state")"
	atf_check -o match:'M  a.txt' -o match:'A  new' \
	    -o match:'D  src/main.c' sbxctl changes "$sid"
	atf_check -o match:'^\+in$' sbxctl diff "$sid"
	atf_check -o match:'3 files landed' sbxctl apply --yes "$sid"
	atf_check -o match:'^in$' cat "$P/a.txt"
	atf_check test ! -e "$P/src/main.c" -a -f "$P/new"
	atf_check_equal "$int_own" "$(stat -c %U "$P/new")"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	own_ended
}

atf_init_test_cases()
{
	atf_add_test_case embedded
}
