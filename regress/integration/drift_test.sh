# What the owner does to a real file after the session has made its copy.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

json() {
	python3 -c '
import json, sys
o = json.load(open(sys.argv[1]))
for w in sys.argv[2:]:
    assert eval(w.replace("\n", " "), {"o": o}), (w, o)
' "$@" || atf_fail "$1 is not as it should be"
}

# as_owner DIR COMMAND...: git as the folder's owner would call it.
as_owner() {
	as=$(stat -c %U "$1")
	shift
	if [ "$as" = root ]; then
		"$@"
	else
		sbx-as "$as" "$@"
	fi
}

# copied_tree tracked|untracked|none: the owner's files in $P.
names='gone renamed saved folder/in'
copied_tree()
{
	mkdir "$P/folder"
	for f in $names quiet; do echo "$f" >"$P/$f"; done
	case $1 in
	tracked)
		chown -R --reference="$P" "$P"
		as_owner "$P" git -C "$P" add .
		as_owner "$P" git -C "$P" commit -qm copied
		;;
	none)
		rm -rf "$P/.git"
		;;
	esac
	chown -R --reference="$P" "$P"
	sleep 0.05
}
copied_inside="for f in $names quiet; do echo in >>\$f; done
    echo in >created; mv quiet moved"
copied_owner()
{
	rm "$P/gone"
	mv "$P/renamed" "$P/elsewhere"
	echo out >"$P/t" && mv "$P/t" "$P/saved"
	rm -r "$P/folder"
	chown --reference="$P" "$P/saved"
	before=$(sbx_tree "$P")
}
# copied_seen: each of them is said to have drifted, and nothing else.
copied_seen()
{
	atf_check -s exit:1 -o save:r.json -e ignore sbxctl apply --yes \
	    --json "$sid"
	json r.json 'o["error"] == "land.drifted"' \
	    '{"gone", "renamed", "saved", "folder/in"}
	    == {f["path"] for f in o["files"] if "drift" in f}'
	int_same "$before" "$(sbx_tree "$P")" "a refused landing wrote"
}
# What has not drifted lands when the rest is discarded.
copied_rest()
{
	atf_check -o match:discarded sh -c "cd $P && sbxctl discard --yes \
	    $sid gone renamed saved folder/in"
	atf_check -o match:landed sbxctl apply --yes "$sid"
	atf_check -o inline:'in\n' cat "$P/created"
	atf_check -o inline:'quiet\nin\n' cat "$P/moved"
	atf_check test ! -e "$P/gone" -a ! -e "$P/renamed" -a \
	    ! -e "$P/folder" -a ! -e "$P/quiet"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
}
copied_stopped()
{
	copied_tree "$1"
	int_keep sh -c "$copied_inside"
	copied_owner
	copied_seen
	copied_rest
	# The folder that the owner has removed is empty in the session.
	atf_check -o ignore sbxctl rm --discard "$sid"
}
copied_live()
{
	copied_tree "$1"
	int_live "live$1" sh
	printf '%s\necho done\n' "$copied_inside" >&9
	int_wait_file "live$1.out" done
	copied_owner
	copied_seen
	copied_rest
	exec 9>&-
	wait "$live" || atf_fail "$(cat "live$1.err")"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	# The folder that the owner has removed is empty in the session.
	atf_check -o ignore sbxctl rm --discard "$sid"
}

for c in stopped live; do
	atf_test_case "$c"
	eval "${c}_head()
	{
		atf_set descr 'removed, renamed, replaced: copies of a $c \
session have drifted, with git, untracked, and without'
		atf_set require.user root
		atf_set timeout 120
	}
	${c}_body()
	{
		int_begin
		for kind in tracked untracked none; do
			echo \"== \$kind\"
			int_who user
			copied_$c \"\$kind\"
		done
		int_end
	}"
done

atf_init_test_cases()
{
	atf_add_test_case stopped
	atf_add_test_case live
}
