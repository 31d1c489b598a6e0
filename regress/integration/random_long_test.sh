# Random change sets: git apply in a repository and outside of one, and our
# own landing, give the session's tree byte for byte.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

atf_test_case sets
sets_head()
{
	atf_set descr "200 random change sets, landed three ways"
	atf_set require.user root
	atf_set timeout 1500
}

# one SEED: in the user's project, anew.
one()
{
	rm -rf "$P" "$SBX_SCRATCH/copy" "$SBX_SCRATCH/plain"
	mkdir "$P"
	(cd "$P" && python3 "$tools/changeset.py" tree "$1")
	chown -Rh "$int_user:" "$P"
	# Every other one is a repository, half of these with all committed.
	case $1 in
	*[02468]) (cd "$P" && git init -q . && git add -A . &&
	    git commit -q --allow-empty -m start) ;;
	esac
	chown -Rh "$int_user:" "$P"
	cp -a "$P" "$SBX_SCRATCH/copy"
	cp -a "$P" "$SBX_SCRATCH/plain"
	[ -d "$SBX_SCRATCH/copy/.git" ] || git -C "$SBX_SCRATCH/copy" init -q
	rm -rf "$SBX_SCRATCH/plain/.git"
	run --keep -- python3 "$tools/changeset.py" change "$1" >want 2>err ||
	    atf_fail "seed $1: $(cat err)"
	int_kept err
	atf_check -o ignore sbxctl patch -o the.patch "$sid"
	sbxctl apply --yes "$sid" >out 2>err ||
	    atf_fail "seed $1: $(cat out err)"
	list "$P" >have
	diff want have >&2 || atf_fail "seed $1: our landing differs"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	[ -s the.patch ] || return 0
	for d in copy plain; do
		(cd "$SBX_SCRATCH/$d" && GIT_CEILING_DIRECTORIES=$SBX_SCRATCH \
		    git apply --whitespace=nowarn "$OLDPWD/the.patch") 2>err ||
			if grep -q 'Too many levels of symbolic links' err; then
				# git's own: a link to itself becomes a folder.
				echo "seed $1: $d: $(cat err)"
				eloop=$((eloop + 1))
				continue
			else
				atf_fail "seed $1: git apply, $d: $(cat err)"
			fi
		list "$SBX_SCRATCH/$d" >have
		diff want have >&2 || atf_fail "seed $1: git apply differs, $d"
	done
}
list()
{
	(cd "$1" && python3 "$tools/changeset.py" list)
}

sets_body()
{
	int_begin
	int_who user
	cp "$SBX_SRC/regress/integration/changeset.py" "$tools"
	# SBX_TEST_SEED gives the first one.
	first=${SBX_TEST_SEED:-$(date +%s)}
	echo "seeds from $first"
	eloop=0 i=0
	while [ "$i" -lt 200 ]; do
		one $((first + i))
		i=$((i + 1))
	done
	[ "$eloop" -le 4 ] || atf_fail "git's ELOOP class: $eloop times"
	int_end
}

atf_init_test_cases()
{
	atf_add_test_case sets
}
