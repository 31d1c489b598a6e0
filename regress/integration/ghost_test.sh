# After a landing of a session that goes on: nothing of what landed comes back
# as a change that the session did not make.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# moved NAME COMMAND: lands a moved folder of which COMMAND holds something.
moved()
{
	mkdir "$P/$1"
	echo k >"$P/$1/k"
	chown -R --reference="$P" "$P/$1"
	int_live "$1" sh -c "mv $1 $1-b; $2; echo one; read l
	    ls $1-b; echo two; read l"
	int_wait grep -qx one "$1.out"
	atf_check -o ignore sbxctl apply --yes "$sid"
	atf_check -o inline:'k\n' cat "$P/$1-b/k"
	echo >&9
	int_wait grep -qx two "$1.out"
	sbxctl changes "$sid" >"$1.changes"
	# Whatever it sees: a second landing takes nothing of the owner's.
	sbxctl apply --yes "$sid" >"$1.again" 2>&1
	atf_check -o inline:'k\n' cat "$P/$1-b/k"
	echo >&9
	exec 9>&-
	wait "$live" || atf_fail "$(cat "$1.err")"
	cat "$1.out" "$1.changes" "$1.again"
	# With its end it is over.
	atf_check -o not-match:'^  [A-Z]  ' sbxctl changes "$sid"
	# Held: said, if it does not see what is in there, and never landed.
	grep '^  [A-Z]  ' "$1.changes" >"$1.lines"
	atf_check -s ignore -o empty grep -v DRIFTED "$1.lines"
	if [ "$2" != : ]; then
		atf_check -o ignore sbxctl rm --discard "$sid"
		return 0
	fi
	# The session still has what is in there, and has changed nothing.
	atf_check -o inline:'one\nk\ntwo\n' cat "$1.out"
	atf_check -o not-match:'^  [A-Z]  ' cat "$1.changes"
	atf_check -o ignore sbxctl rm --discard "$sid"
}

atf_test_case moved_plain
moved_plain_head()
{
	atf_set descr "a moved folder, nothing of it open"
	atf_set require.user root
}
moved_plain_body()
{
	int_begin
	int_who root
	moved plain :
	int_end
}

# What it holds open shows empty to it until it ends: see docs/landing.md.
atf_test_case moved_held
moved_held_head()
{
	atf_set descr "a moved folder that is open, or a file in it: what \
landed is not taken away by a second landing"
	atf_set require.user root
}
moved_held_body()
{
	int_begin
	int_who root
	moved file 'exec 3<file-b/k'
	moved folder 'exec 3<folder-b'
	int_end
}

atf_init_test_cases()
{
	atf_add_test_case moved_plain
	atf_add_test_case moved_held
}
