# Hidden and read-only paths in one another, under other spellings, in every
# order, and where nothing is; explain says the same of each.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# is STATE PATH WORD...: explain of it with these words says so.
is() {
	is_state=$1 is_path=$2
	shift 2
	is_got=$(sbxctl explain --json "$is_path" "$@" |
	    sed -n 's/^  "state": "\(.*\)",$/\1/p')
	[ "$is_got" = "$is_state" ] ||
	    atf_fail "explain $is_path: $is_got, not $is_state"
}

atf_test_case readonly
readonly_head()
{
	atf_set descr "read-only paths at, above, below home and project"
	atf_set require.user root
}
# ro SPELLING IGNORED|USED FILE: how it was taken, and what FILE is then.
ro() {
	run --ro "$1" --hide "$P/ro/hid" -- sh -c '
		(echo x >>"$1") 2>/dev/null && echo wrote
		(echo x >>"$2") 2>/dev/null && echo hidden-wrote
		cat "$2"; exit 0' sh "$3" "$P/ro/hid" >ro.out 2>ro.err </dev/null
	case $2 in
	ignored)
		grep -q "^sbxctl: note: read-only path .* is ignored: it is, or contains, home or the project" ro.err ||
		    atf_fail "$1: no warning: $(cat ro.err)"
		atf_check -o inline:'wrote\n' cat ro.out
		is shown "$3" --repo "$P" --ro "$1" $AS
		;;
	used)
		! grep -q ignored ro.err || atf_fail "$1: $(cat ro.err)"
		atf_check -o empty cat ro.out
		is read-only "$3" --repo "$P" --ro "$1" $AS
		;;
	esac
	is hidden "$P/ro/hid" --repo "$P" --ro "$1" --hide "$P/ro/hid" $AS
	for s in $(sbxctl ls | awk 'NR > 1 { print $1 }'); do
		sbxctl rm --discard "$s" >/dev/null || atf_fail "rm $s"
	done
}
readonly_one()
{
	mkdir -p "$P/ro/sub" "$who_home/elsewhere"
	echo f >"$P/ro/f"
	echo SECRET >"$P/ro/hid"
	echo f >"$who_home/elsewhere/f"
	ln -sfn "$P" "$who_home/to-project"
	ln -sfn "$P/ro" "$who_home/to-ro"
	ln -sfn "$who_home" "$P/to-home"
	[ -z "$AS" ] || chown -Rh "$int_user:" "$P" "$who_home/elsewhere"
	for p in "$P" "$P/" "$P/." "$P/ro/.." "${P%/*}" "$who_home" \
	    "$who_home/." "$who_home/elsewhere/.." "$who_home/to-project" \
	    "$P/to-home" "$who_home/to-ro/.." / /.; do
		ro "$p" ignored "$P/ro/f"
	done
	for p in "$P/ro" "$P/ro/" "$P/ro/." "$P/ro/sub/.." "$P/./ro" \
	    "$P/ro/f" "$who_home/to-ro" "$who_home/to-project/ro"; do
		ro "$p" used "$P/ro/f"
	done
	ro "$who_home/elsewhere/" used "$who_home/elsewhere/f"
	! grep -r -q '^x' "$P/ro" "$who_home/elsewhere" ||
	    atf_fail "the real files were written to"
}
readonly_body()
{
	int_begin
	int_both readonly_one
	int_end
}

atf_test_case nested
nested_head()
{
	atf_set descr "hidden and read-only in one another, in every order"
	atf_set require.user root
	atf_set timeout 600
}
nested_one()
{
	n=$P/n
	mkdir -p "$n/a/b/c/d"
	for d in "$n" "$n/a" "$n/a/b" "$n/a/b/c" "$n/a/b/c/d"; do
		echo "SECRET $d" >"$d/f"
	done
	ln -s "$n/a/b" "$n/link"
	ln -s ../a/b/c "$n/a/up"
	ln -s a "$n/la"
	[ -z "$AS" ] || chown -Rh "$int_user:" "$P"
	# What is hidden, what is read-only, and what is then seen of f at
	# each of the five levels: s shown, r read-only, h hidden.
	while read -r hide ro want; do
		nested_orders "$hide" "$ro" "$want"
	done <<-EOT
		- n rrrrr
		- n/a/b,n rrrrr
		n/a/b n rrhhh
		n/a/b n/a/b/c/d sshhh
		n/a/b,n/a/b/c/d n/a,n/a/b/c srhhh
		n/link n rrhhh
		n/a/up n/a/b ssrhh
		n/la/b/c n/a srrhh
		n n/a/b/c hhhhh
		n/a/b/c/d n/link ssrrh
		n/link,n/a/up n/la,n/a/b/c/d srhhh
	EOT
}
nested_orders() {
	: >orders
	python3 - "$1" "$2" "$P" >orders <<-'EOT'
		import itertools, sys
		words = []
		for kind, arg in ("--hide", sys.argv[1]), ("--ro", sys.argv[2]):
		    if arg != "-":
		        words += [(kind, f"{sys.argv[3]}/{p}")
		                  for p in arg.split(",")]
		for o in itertools.permutations(words):
		    print(*[w for pair in o for w in pair])
	EOT
	while read -r words; do
		# shellcheck disable=SC2086
		set -- $words
		run "$@" -- sh -c '
			for f in f a/f a/b/f a/b/c/f a/b/c/d/f; do
				if ! grep -qs SECRET "$1/$f"; then
					printf h
				elif (echo x >>"$1/$f") 2>/dev/null; then
					printf s
				else
					printf r
				fi
			done; echo
			find "$1/" -name f -exec cat {} + | grep -c SECRET
			exit 0' sh "$n" >nested.out 2>nested.err </dev/null ||
		    atf_fail "$words: $(cat nested.err)"
		got=$(head -n 1 nested.out)
		explained=$(for f in f a/f a/b/f a/b/c/f a/b/c/d/f; do
			# shellcheck disable=SC2086
			sbxctl explain --json --repo "$P" "$@" $AS "$n/$f"
		done | sed -n 's/^  "state": "\(.\).*/\1/p' | tr -d '\n')
		[ "$got" = "$explained" ] ||
		    atf_fail "$words: seen $got, explained $explained"
		echo "$words: $got"
		echo "$got" >>nested.all
		for s in $(sbxctl ls | awk 'NR > 1 { print $1 }'); do
			sbxctl rm --discard "$s" >/dev/null ||
			    atf_fail "rm $s"
		done
	done <orders
	[ "$(sort -u nested.all)" = "$want" ] ||
	    atf_fail "hide $hide ro $ro: $(sort -u nested.all), not $want"
	rm nested.all
}
nested_body()
{
	int_begin
	int_both nested_one
	int_end
}

atf_test_case absent
absent_head()
{
	atf_set descr "hidden where nothing is: nothing is made, it stays hidden"
	atf_set require.user root
}
absent_one()
{
	mkdir -p "$P/ro" "$who_home/out"
	echo f >"$P/ro/f"
	[ -z "$AS" ] || chown -R "$int_user:" "$P" "$who_home/out"
	sleep 0.02
	before=$(cd "$P" && find . -printf '%p %y %C@\n' | sort)
	set -- --ro "$P/ro" --hide "$P/ro/no" --hide "$P/ro/no2/deep/er" \
	    --hide "$P/no" --hide "$P/src/no/deep" --hide "$who_home/out/no" \
	    --hide "$P/a.txt/below"
	run --keep "$@" -- sh -c 'ls -a ro ro/no no src/no; cat ro/no no; exit 0' \
	    >absent.out 2>absent.err </dev/null
	sid=$(sed -n 's/^sbxctl: session \([a-z2-7]*\) is kept.*/\1/p' absent.err)
	[ -n "$sid" ] || atf_fail "$(cat absent.err)"
	int_same "$before" "$(cd "$P" && find . -printf '%p %y %C@\n' | sort)" \
	    "something was made outside"
	atf_check -o save:ch.json sbxctl changes --json "$sid"
	python3 -c 'import json
o = json.load(open("ch.json"))
assert not o["files"] and not o["skipped"] and not o["ignored"], o' ||
	    atf_fail "a change set"
	# Made outside later: hidden there, in a session that is and a new one.
	mkdir -p "$P/ro/no2/deep/er" "$P/src/no/deep"
	for f in ro/no no ro/no2/deep/er/f src/no/deep/f; do
		echo SECRET >"$P/$f"
	done
	echo SECRET >"$who_home/out/no"
	[ -z "$AS" ] || chown -R "$int_user:" "$P" "$who_home/out"
	cat >look <<-'EOT'
		grep -r SECRET "$1" "$2" 2>/dev/null
		for f in ro/no no ro/no2/deep/er/f src/no/deep/f; do
			cat "$1/$f" 2>/dev/null
		done
		cat "$2/no" 2>/dev/null
		exit 0
	EOT
	sbxctl resume "$sid" -- sh -c "$(cat look)" sh "$P" "$who_home/out" \
	    >absent.out 2>absent.err </dev/null || atf_fail "$(cat absent.err)"
	atf_check -o empty cat absent.out
	for f in ro/no no ro/no2/deep/er/f src/no/deep/f; do
		is hidden "$P/$f" "$sid"
	done
	is hidden "$who_home/out/no" "$sid"
	run "$@" -- sh -c "$(cat look)" sh "$P" "$who_home/out" \
	    >absent.out 2>absent.err </dev/null || atf_fail "$(cat absent.err)"
	atf_check -o empty cat absent.out
	atf_check -o not-match:SECRET sbxctl diff "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
}
absent_body()
{
	int_begin
	int_both absent_one
	int_end
}

atf_test_case closed
closed_head()
{
	atf_set descr "what lies in a folder that is closed to a user is told \
by none of the suite's answers"
	atf_set require.user root
	atf_set timeout 120
}
# closed_is PATH WORD...: the last line that it fails with is the same as
# before, but for the path.
closed_is() {
	closed_path=$1
	shift
	! "$@" >out 2>&1 || atf_fail "it succeeds: $*"
	tail -n 1 out | sed "s|$closed_path|PATH|g" >said
	[ -e said.1 ] || cp said said.1
	cmp -s said.1 said || atf_fail "$(cat said.1 said)"
}
closed_body()
{
	int_begin
	int_who user
	chmod 0666 "$SBX_STATE/sbxd.sock"
	shut=$SBX_SCRATCH/shut
	mkdir -m 700 "$shut" && mkdir -m 755 "$shut/there"
	echo x >"$shut/file"
	ln -s "$SBX_SCRATCH/secret-target" "$shut/link"
	for path in "$shut/there" "$shut/file" "$shut/none" "$shut/file/none"; do
		closed_is "$path" sbx-as "$int_user" env \
		    HOME="$int_user_home" client "$SBX_STATE/sbxd.sock" \
		    plain "$path"
	done
	atf_check -o match:'Permission denied' cat said
	rm said.1
	for path in "$shut/there" "$shut/file" "$shut/none"; do
		closed_is "$path" sbx-as "$int_user" env \
		    HOME="$int_user_home" client "$SBX_STATE/sbxd.sock" \
		    explain "$path"
	done
	atf_check -o match:'Permission denied' cat said
	# A link in there is hidden by its name, and leads nowhere that is told.
	sbx-as "$int_user" sh -c 'cd "$1" && exec sbxctl run --keep \
	    --hide "$2" -- true' sh "$P" "$shut/link" >out 2>err ||
	    atf_fail "$(cat out err)"
	int_kept err
	atf_check -o match:"$shut/link" -o not-match:secret-target \
	    sbx-as "$int_user" sbxctl show --json "$sid"
	atf_check -o not-match:'"hidden"' sbx-as "$int_user" sbxctl explain \
	    --json --repo "$P" --hide "$shut/link" "$SBX_SCRATCH/secret-target"
	atf_check -o ignore sbx-as "$int_user" sbxctl rm --discard "$sid"
	# Nor does an executable of the machine's /run come out of one.
	install -D -m 0755 "$tools/fs" /run/shut/in/tool
	chmod 700 /run/shut
	atf_check -o empty -e ignore sbx-as "$int_user" sh -c 'cd "$1" &&
	    exec sbxctl run -- sh -c "ls /run/shut/in || :" /run/shut/in/tool' \
	    sh "$P"
	rm -r /run/shut
	# Root's word is followed, for whomever the session is.
	run --keep --hide "$shut/link" -- true >out 2>err ||
	    atf_fail "$(cat out err)"
	int_kept err
	atf_check -o match:secret-target sbxctl show --json "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
}

atf_init_test_cases()
{
	atf_add_test_case readonly
	atf_add_test_case nested
	atf_add_test_case absent
	atf_add_test_case closed
}
