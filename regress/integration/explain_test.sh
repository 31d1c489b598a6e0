# explain: what it says of a path is what a real open in the session finds.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# mounts DIR: of several kinds, below DIR/mnt.
mounts() {
	mkdir -p "$1/mnt/tmpfs" "$1/mnt/bind" "$1/mnt/robind" "$1/mnt/proc" \
	    "$1/mnt/over" "$1/mnt/deep" "$1/mnt/l" "$1/mnt/u" "$1/mnt/w"
	: >"$1/mnt/filebind"
	mount -t tmpfs -o mode=755 t "$1/mnt/tmpfs"
	mount --bind "$1/out" "$1/mnt/bind"
	mount --bind "$1/out" "$1/mnt/robind"
	mount -o remount,bind,ro "$1/mnt/robind"
	mount --bind "$1/out/plain/f" "$1/mnt/filebind"
	mount -t proc p "$1/mnt/proc"
	echo over >"$1/mnt/l/f"
	mount -t overlay o -o "lowerdir=$1/mnt/l,upperdir=$1/mnt/u,workdir=$1/mnt/w" \
	    "$1/mnt/over" 2>/dev/null ||
	    mount -t tmpfs -o mode=755 t "$1/mnt/over"
	mount -t tmpfs -o mode=755 t "$1/mnt/deep"
	mkdir "$1/mnt/deep/in"
	mount -t tmpfs -o mode=755 t "$1/mnt/deep/in"
	echo in >"$1/mnt/deep/in/f"
	echo f >"$1/mnt/tmpfs/f"
	echo f >"$1/mnt/deep/f"
	[ "$2" = 0 ] || chown "$2" "$1/mnt/tmpfs/f" "$1/mnt/tmpfs"
}

# same_as WANT GOT: two answers for the same paths.
same_as() {
	python3 -c '
import json, sys
a, b = [json.load(open(f)) for f in sys.argv[1:]]
d = [(a[p], b[p]) for p in a if a[p] != b[p]]
assert not d and a.keys() == b.keys(), d
' "$1" "$2" || atf_fail "$1 and $2 differ"
}

# is STATE PATH WORD...: explain of it with these words says so.
is() {
	is_state=$1 is_path=$2
	shift 2
	is_got=$(sbxctl explain --json "$is_path" "$@" |
	    sed -n 's/^  "state": "\(.*\)",$/\1/p')
	[ "$is_got" = "$is_state" ] ||
	    atf_fail "$is_path: $is_got, not $is_state"
}

# agree WHO: for a session that would be, one that was, one that is.
agree() {
	whose=$1 top=$SBX_SCRATCH/world-$1 uid=0 as=''
	case $whose in
	user)
		uid=$(id -u "$int_user")
		as="--as $int_user"
		;;
	own)
		uid=$(id -u "$int_own")
		;;
	esac
	mkdir -p "$top"
	install -m 0644 "$SBX_SRC/regress/integration/explain.py" "$tools"
	py="python3 $tools/explain.py"
	$py world "$top" "$uid" >paths || atf_fail world
	mounts "$top" "$uid"
	P=$top/proj
	set --
	# Where only a clone lies no single one can be kept hidden.
	[ "$whose" = own ] || set -- --hide "$top/out/to-keys"
	for h in "$P/hid" "$P/keys/id" "$top/out/hid" "$P/absent" \
	    "$P/fixed/hid" "$top/out/absent/deep" "$P/hid/n/n" \
	    "$top/out/fixed/hid/"; do
		set -- "$@" --hide "$h"
	done
	for r in "$P/fixed" "$top/out/fixed" "$top/mnt/tmpfs" "$P" "$top" \
	    /usr "$P/hid/ro" "$P/to-fixed" "$top/out/./plain/../plain/f"; do
		set -- "$@" --ro "$r"
	done
	# shellcheck disable=SC2086
	$py ask would $as --repo "$P" "$@" '' <paths || atf_fail asking
	# shellcheck disable=SC2086
	sbxctl run $as --repo "$P" --keep "$@" -- $py open /dev/stdout \
	    <paths >seen 2>err || atf_fail "run: $(cat err)"
	$py compare would seen shown read-only hidden own missing denied \
	    covered device || atf_fail "one that would be"
	sid=$(sed -n 's/^sbxctl: session \([a-z2-7]*\) is kept.*/\1/p' err)
	# It changes things, and moves what has hidden things in it.
	sbxctl resume "$sid" -- sh -c 'mv keys keys2; mv conf conf2
		echo changed >plain/f; rm to-f; mkdir -p newdir/sub
		echo n >newdir/sub/f; ln -s ../keys2/id newdir/l
		ln -s "$1/out/hid/file" newdir/h; rm -r locked 2>/dev/null
		mv newdir/sub newdir/sub2; mkdir keys; echo mine >keys/pub
		mv "$1/out/plain" "$1/out/plain2"; exit 0' sh "$top" \
	    >out 2>err </dev/null || atf_fail "resume: $(cat err)"
	for p in keys2 keys2/id keys2/pub conf2 conf2/f conf2/deep/er/f \
	    newdir newdir/sub newdir/sub2/f newdir/l newdir/h keys/pub; do
		echo "$P/$p"
	done >>paths
	printf '%s\n' "$top/out/plain2" "$top/out/plain2/f" >>paths
	$py ask was "$sid" <paths || atf_fail "asking of $sid"
	sbxctl resume "$sid" -- $py open /dev/stdout <paths >seen 2>err ||
	    atf_fail "resume: $(cat err)"
	$py compare was seen shown layer read-only hidden own missing denied ||
	    atf_fail "one that was"
	# In a user's own suite mv has copied the stand-in, and where others own
	# the folder above nothing is written.
	if [ "$whose" = own ]; then
		is layer "$P/keys2/id" "$sid"
		is missing "$top/out/plain2/f" "$sid"
		is read-only "$top/out/plain/.dot" "$sid"
	else
		is hidden "$P/keys2/id" "$sid"
		is layer "$top/out/plain2/f" "$sid"
		is missing "$top/out/plain/.dot" "$sid"
	fi
	is layer "$P/newdir/sub2/f" "$sid"
	is layer "$P/keys/pub" "$sid"
	is layer "$P/newdir" "$sid"
	is layer "$P/conf2/deep/er/.dot" "$sid"
	is hidden "$P/newdir/h" "$sid"
	# The same of one that runs, and nobody is disturbed.
	$py ask was "$sid" <paths || atf_fail "asking of $sid"
	mkfifo in
	sbxctl resume "$sid" -- cat <in >out 2>err &
	live=$!
	exec 9>in
	int_wait sh -c "sbxctl ls 9>&- | grep -q '^$sid .*running'"
	$py ask is "$sid" <paths 9>&- || atf_fail "asking of $sid"
	exec 9>&-
	wait "$live" || atf_fail "the live one: $(cat err)"
	same_as was is
	rm in
	cd / && umount -R "$top/mnt/deep" && umount "$top"/mnt/over \
	    "$top/mnt/proc" "$top/mnt/filebind" "$top/mnt/robind" \
	    "$top/mnt/bind" "$top/mnt/tmpfs"
	cd "$OLDPWD" || atf_fail cd
	rm -f "/tmp/host-only.${SBX_SCRATCH##*.}"
	atf_check -o ignore sbxctl rm --discard "$sid"
}

atf_test_case agrees_root
agrees_root_head()
{
	atf_set descr "200 paths of every kind: root's sessions"
	atf_set require.user root
	atf_set timeout 600
}
agrees_root_body()
{
	int_tools
	int_suite
	agree root
	int_stop
}

atf_test_case agrees_user
agrees_user_head()
{
	atf_set descr "200 paths of every kind: a user's sessions"
	atf_set require.user root
	atf_set timeout 600
}
agrees_user_body()
{
	int_tools
	int_suite
	int_who user
	agree user
	int_stop
}

atf_test_case agrees_own
agrees_own_head()
{
	atf_set descr "200 paths of every kind: a user's own suite"
	atf_set require.user root
	atf_set timeout 600
}
agrees_own_body()
{
	int_tools
	int_who own
	agree own
	int_own_stop
}

atf_test_case fresh
fresh_head()
{
	atf_set descr "a project, a home and a read-only path below /tmp and \
/run: the real ones, in folders of the session's own"
	atf_set require.user root
	atf_set timeout 120
}
# sees STATE RULE PATH WORD...
sees()
{
	sees_state=$1 sees_rule=$2 sees_path=$3
	shift 3
	sbxctl explain --json "$sees_path" "$@" >sees.json || atf_fail explain
	int_json sees.json "o['state'] == '$sees_state'" \
	    "o['rule'] == '$sees_rule'"
}
# fresh_in DIR: as of $P before it, for one that would be, and one that was.
fresh_in()
{
	mkdir -p "$1/top/ro"
	chmod 0755 "$1" "$1/top"
	mv "$P" "$1/top/p"
	P=$1/top/p
	mkdir "$P/hid" "$P/sub"
	echo f | tee "$P/f" "$P/sub/f" "$P/hid/f" "$1/top/other" \
	    "$1/top/ro/f" >/dev/null
	chown -R --reference="$P" "$P"
	run --keep --hide "$P/hid" --ro "$1/top/ro" -- sh -c 'cat f sub/f
	    ls -A hid ..; cat ../ro/f; echo n >n; echo s >sub/f
	    ln -s ../other out' >out 2>err || atf_fail "$(cat out err)"
	atf_check -o inline:'f\nf\n..:\np\nro\n\nhid:\nf\n' cat out
	int_kept err
	set -- "$1" --repo "$P" --hide "$P/hid" --ro "$1/top/ro"
	for who in would was; do
		top=$1
		shift
		if [ $who = was ]; then
			set -- "$sid"
			sees layer project "$P/n" "$@"
			sees layer project "$P/sub/f" "$@"
			sees own fresh "$P/out" "$@"
		else
			set -- "$@" $AS
			sees missing project "$P/n" "$@"
			sees shown project "$P/sub/f" "$@"
		fi
		sees shown project "$P" "$@"
		sees shown project "$P/f" "$@"
		sees shown project "$P/sub/../f" "$@"
		sees hidden hide "$P/hid/f" "$@"
		sees read-only ro "$top/top/ro/f" "$@"
		sees own fresh "$top/top/other" "$@"
		sees own fresh "$top/top" "$@"
		sees own fresh "$P/../other" "$@"
		set -- "$top" "$@"
	done
	atf_check -o ignore sbxctl rm --discard "$sid"
}
fresh_one()
{
	sees own fresh /tmp/anything --repo "$P" $AS
	# Of the machine's devices those that a session's /dev has.
	sees device fresh /dev/null --repo "$P" $AS
	sees device fresh //dev///null --repo "$P" $AS
	int_json sees.json 'o["path"] == o["target"] == "/dev/null"'
	sees missing fresh /dev/kmsg --repo "$P" $AS
	sees missing fresh /dev/null/x --repo "$P" $AS
	for d in /dev /dev/shm/x /dev/pts /dev/stdin; do
		sees own fresh "$d" --repo "$P" $AS
	done
	mknod -m 0666 "$P/node" c 1 3
	sees denied project "$P/node" --repo "$P" $AS
	int_json sees.json '"device" in o["mechanism"]'
	rm "$P/node"
	made=$(mktemp -d /tmp/sbx-test.XXXXXX)
	fresh_in "$made"
	rm -r "$made"
	int_who "$int_one"
	made=$(mktemp -d /run/sbx-test.XXXXXX)
	fresh_in "$made"
	rm -r "$made"
}
fresh_body()
{
	int_begin
	for int_one in root user own; do
		echo "== $int_one"
		int_who "$int_one"
		fresh_one
	done
	int_end
}

atf_init_test_cases()
{
	atf_add_test_case agrees_root
	atf_add_test_case agrees_user
	atf_add_test_case agrees_own
	atf_add_test_case fresh
}
