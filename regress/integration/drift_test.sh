# What the owner does to a real file after the session has made its copy.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# drift_kind tracked|untracked|none: what git knows of the files in $P.
drift_kind()
{
	case $1 in
	tracked)
		chown -R --reference="$P" "$P"
		int_as_owner "$P" git -C "$P" add .
		int_as_owner "$P" git -C "$P" commit -qm copied
		;;
	none)
		rm -rf "$P/.git"
		;;
	esac
	chown -R --reference="$P" "$P"
	sleep 0.05
}
# copied_tree KIND: the owner's files in $P.
names='gone renamed saved folder/in'
copied_tree()
{
	mkdir "$P/folder"
	for f in $names quiet; do echo "$f" >"$P/$f"; done
	drift_kind "$1"
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
	int_json r.json 'o["error"] == "land.drifted"' \
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
	int_wait_file "live$1.out" 'done'
	copied_owner
	copied_seen
	copied_rest
	exec 9>&-
	wait "$live" || atf_fail "$(cat "live$1.err")"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	# The folder that the owner has removed is empty in the session.
	atf_check -o ignore sbxctl rm --discard "$sid"
}

# Folders that the owner swaps for others, by a rename each: the times of the
# files in them say nothing.
swapped_tree()
{
	for d in calm swap up/in ren wh back; do
		mkdir -p "$P/$d" "$P/${d%/in}-/${d#"${d%/in}"}"
		for f in f g h; do
			echo "$d $f" >"$P/$d/$f"
			echo "owner's $d $f" \
			    >"$P/${d%/in}-/${d#"${d%/in}"}/$f"
		done
		echo "owner's $d new" >"$P/${d%/in}-/${d#"${d%/in}"}/new"
	done
	drift_kind "$1"
}
swapped_inside='for d in calm swap up/in back; do
    echo in >$d/t; mv $d/t $d/f; rm $d/g; echo in >$d/new; done
    mv ren ren2; echo in >>ren2/f; rm -r wh; echo in >created'
swapped_owner()
{
	for d in swap up ren wh; do
		mv "$P/$d" "$P/$d=" && mv "$P/$d-" "$P/$d"
	done
	mv "$P/back" "$P/back=" && mv "$P/back-" "$P/back"
	mv "$P/back" "$P/back-" && mv "$P/back=" "$P/back"
	before=$(sbx_tree "$P")
}
swapped_seen()
{
	atf_check -s exit:1 -o save:r.json -e ignore sbxctl apply --yes \
	    --json "$sid"
	int_json r.json 'o["error"] == "land.drifted"' \
	    '{"swap/f", "swap/g", "swap/new", "up/in/f", "up/in/g",
	    "up/in/new", "ren/f", "ren2/f", "ren2/g", "ren2/h", "ren2/new",
	    "wh/f", "wh/g", "wh/h", "wh/new"}
	    == {f["path"] for f in o["files"] if "drift" in f}'
	atf_check -o save:r.json sbxctl changes --json "$sid"
	int_json r.json '{"calm/f", "calm/g", "calm/new", "back/f", "back/g", "back/new",
	    "created"}
	    == {f["path"] for f in o["files"] if "drift" not in f}'
	int_same "$before" "$(sbx_tree "$P")" "a refused landing wrote"
}
# The rest lands when what is in other folders is given up; these then are
# what the session goes on with.
swapped_rest()
{
	atf_check -o match:discarded sh -c "cd $P && sbxctl discard --yes \
	    $sid swap up ren ren2 wh"
	atf_check -o match:'7 files landed' sbxctl apply --yes "$sid"
	atf_check -o inline:'in\nin\nin\nin\n' sh -c "cd $P && cat calm/f \
	    calm/new back/f back/new"
	atf_check -o inline:"owner's swap f\nowner's swap g\nowner's swap h\n\
owner's swap new\n" sh -c "cat $P/swap/*"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
}
swapped_stopped()
{
	swapped_tree "$1"
	int_keep sh -c "$swapped_inside"
	swapped_owner
	swapped_seen
	swapped_rest
	atf_check -o ignore sbxctl rm --discard "$sid"
}
swapped_live()
{
	swapped_tree "$1"
	int_live "swap$1" sh
	printf '%s\necho done\n' "$swapped_inside" >&9
	int_wait_file "swap$1.out" 'done'
	swapped_owner
	swapped_seen
	swapped_rest
	# It goes on with what the owner has, and may remove what has landed.
	echo 'echo again >swap/t; mv swap/t swap/f; echo again >up/in/more
	    rm -r calm; echo again' >&9
	int_wait_file "swap$1.out" again
	atf_check -o match:'5 files landed' sbxctl apply --yes "$sid"
	atf_check -o inline:'again\nagain\n' cat "$P/swap/f" "$P/up/in/more"
	atf_check test ! -e "$P/calm"
	exec 9>&-
	wait "$live" || atf_fail "$(cat "swap$1.err")"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
}
for c in stopped live; do
	atf_test_case "swapped_$c"
	eval "swapped_${c}_head()
	{
		atf_set descr 'folders swapped for others under a $c session'
		atf_set require.user root
		atf_set timeout 120
	}
	swapped_${c}_body()
	{
		int_begin
		for kind in tracked untracked none; do
			echo \"== \$kind\"
			int_who user
			swapped_$c \"\$kind\"
		done
		int_end
	}"
done

# A folder that was put where another was comes to lie on that one again when
# part of it is discarded: nobody swapped it.
undone_one()
{
	mkdir "$P/e" "$P/e2"
	for f in e/a e2/x e2/y; do echo "$f" >"$P/$f"; done
	drift_kind none
	if [ "$1" = live ]; then
		int_live undone sh
		echo 'rm -r e2; mv e e2; echo n >e2/n; echo done' >&9
		int_wait_file undone.out 'done'
	else
		int_keep sh -c 'rm -r e2; mv e e2; echo n >e2/n'
	fi
	atf_check -o match:discarded sh -c "cd $P && sbxctl discard \
	    --yes $sid e2/x"
	atf_check -o not-match:DRIFTED -o match:'^3 files' sbxctl changes "$sid"
	atf_check -o match:landed sbxctl apply --yes "$sid"
	atf_check -o inline:'e/a\nn\ne2/x\n' sh -c "cat $P/e2/*"
	atf_check test ! -e "$P/e"
	[ "$1" = stopped ] || echo 'echo m >e2/m; echo again' >&9
	[ "$1" = stopped ] || int_wait_file undone.out again
	[ "$1" = stopped ] || atf_check -o match:'1 file landed' \
	    sbxctl apply --yes "$sid"
	exec 9>&-
	[ "$1" = stopped ] || wait "$live" || atf_fail "$(cat undone.err)"
}
atf_test_case undone
undone_head()
{
	atf_set descr 'no drift where a discard lets another folder show again'
	atf_set require.user root
	atf_set timeout 60
}
undone_body()
{
	int_begin
	for kind in stopped live; do
		int_who user
		undone_one "$kind"
		atf_check -o ignore sbxctl rm --discard "$sid"
	done
	int_end
}

# Nor does that make the folder which the owner put there the one that the
# session began with.
atf_test_case undone_swapped
undone_swapped_head()
{
	atf_set descr 'still drift where the folder that a discard lets show \
is another one'
	atf_set require.user root
}
undone_swapped_body()
{
	int_begin
	int_who user
	mkdir "$P/d" "$P/d-"
	for f in d/a d/b d-/a d-/b d-/c; do echo "$f" >"$P/$f"; done
	drift_kind none
	int_live swapped sh
	echo 'rm -r d; mkdir d; echo in >d/b; echo in >d/z; echo done' >&9
	int_wait_file swapped.out 'done'
	mv "$P/d" "$P/d=" && mv "$P/d-" "$P/d"
	before=$(sbx_tree "$P")
	atf_check -o match:discarded sh -c "cd $P && sbxctl discard \
	    --yes $sid d/a"
	echo 'ls d; echo again' >&9
	int_wait_file swapped.out again
	atf_check -o inline:'done\na\nb\nz\nagain\n' cat swapped.out
	atf_check -s exit:1 -o save:r.json -e ignore sbxctl apply --yes \
	    --json "$sid"
	int_json r.json 'o["error"] == "land.drifted"' '{"d/b", "d/c"}
	    == {f["path"] for f in o["files"] if "drift" in f}'
	int_same "$before" "$(sbx_tree "$P")" "a refused landing wrote"
	exec 9>&-
	wait "$live" || atf_fail "$(cat swapped.err)"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
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

atf_test_case just_before
just_before_head()
{
	atf_set descr "what the owner writes just before the start is none"
	atf_set require.user root
}
just_before_body()
{
	int_begin
	int_who user
	cd "$P" || atf_fail "$P"
	lost=0
	# Only in the very tick of the start nobody can tell.
	for i in 1 2 3 4 5 6 7 8 9 10; do
		echo "$i" >a.txt
		sbxctl run $AS --keep -- sh -c 'echo in >>a.txt' 2>kept ||
		    atf_fail "$(cat kept)"
		int_kept kept
		sbxctl apply --yes "$sid" >out 2>&1 || lost=$((lost + 1))
		atf_check -o ignore sbxctl rm --discard "$sid"
		rm -f kept out
	done
	[ "$lost" -le 3 ] || atf_fail "$lost of ten could not land"
	cd "$SBX_SCRATCH" || atf_fail "$SBX_SCRATCH"
	int_end
}

atf_init_test_cases()
{
	atf_add_test_case just_before
	atf_add_test_case stopped
	atf_add_test_case live
	atf_add_test_case swapped_stopped
	atf_add_test_case swapped_live
	atf_add_test_case undone
	atf_add_test_case undone_swapped
}
