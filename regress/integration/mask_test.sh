# Cases B: hidden paths.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

atf_test_case absent
absent_head()
{
	atf_set descr "B37, B39: twenty paths that do not exist are hidden, \
nothing is made for them, and later they stay hidden"
	atf_set require.user root
	atf_set timeout 120
}
absent_one()
{
	hide=''
	for i in 1 2 3 4 5 6 7; do
		hide="$hide --hide .absent$i --hide $who_home/.rc$i"
		hide="$hide --hide $who_home/a/b$i/c/d"
	done
	before=$(sbx_tree "$who_home")
	# shellcheck disable=SC2086 # words
	int_live hiding $hide -- sh -c 'read l
	    for f in .absent1 ~/.rc1 ~/a/b1/c/d; do
		cat $f 2>&1; done; ls -A . ~; ls -AR ~/a 2>/dev/null
	    read l; git status -s; echo x >.absent2; echo y >f'
	int_same "$before" "$(sbx_tree "$who_home")" "made on the host"
	# Now they appear outside.
	mkdir -p "$who_home/a/b1/c/d"
	for f in "$P/.absent1" "$who_home/.rc1" "$who_home/a/b1/c/d/f"; do
		echo real-secret >"$f"
	done
	chown -R --reference="$P" "$who_home/a" "$P" "$who_home/.rc1"
	atf_check -o ignore sbxctl changes "$sid"
	printf 'go\n' >&9
	int_wait_file hiding.out
	sleep 0.3
	rm "$P/.absent1"
	printf 'go\n' >&9
	exec 9>&-
	wait "$live" || atf_fail "$(cat hiding.err)"
	atf_check -o not-match:real-secret -o not-match:'[?][?] .absent' \
	    cat hiding.out
	# What the session makes there stays in its layer.
	atf_check -o match:'A  f' -o not-match:'A  .absent2' sbxctl changes "$sid"
	atf_check -o match:'1 file landed' sbxctl apply --yes "$sid"
	atf_check test ! -e "$P/.absent2"
	rm -rf "$who_home/a" "$who_home/.rc1"
	atf_check -o ignore sbxctl rm --discard "$sid"
	atf_check -o empty find "$who_home" -name '.absent*' -o -name '.rc*'
}
# int_live takes its options before the command.
absent_body()
{
	int_begin
	int_each absent_one
	# Also where the suite is killed.
	int_own_stop
	int_who user
	before=$(sbx_tree "$int_user_home")
	int_live killed --hide .gone --hide '~/.gone/deep' -- sleep 1000
	kill -9 "$sbx_suite"
	wait "$live" || :
	exec 9>&-
	int_same "$before" "$(sbx_tree "$int_user_home")" "made on the host"
	wait "$sbx_suite" || :
	int_clean_check
}

atf_test_case closed
closed_head()
{
	atf_set descr "B42, B52: what stands in is empty, read-only, and tells \
nothing of the real one"
	atf_set require.user root
	atf_set timeout 120
}
closed_one()
{
	mkdir -p "$who_home/.ssh/sub" "$P/secrets"
	echo secret-key >"$who_home/.ssh/id"
	echo secret-sub >"$who_home/.ssh/sub/id"
	printf 'secret-%0999d\n' 1 >"$P/secrets/s"
	printf 'secret-%0999d\n' 1 >"$P/.env"
	chown -R --reference="$P" "$who_home/.ssh" "$P"
	chmod 700 "$who_home/.ssh"
	run --keep --hide '~/.ssh' --hide .env --hide secrets -- sh -c '
		for f in ~/.ssh .env secrets; do stat -c "%n %a %s %F" $f; done
		ls -A ~/.ssh secrets; cat .env; cat ~/.ssh/id secrets/s
		touch ~/.ssh/x; chmod 777 ~/.ssh; echo x >>.env; chmod 777 .env
		rm -f .env; rmdir secrets; rm -rf ~/.ssh; mkdir secrets/n
		mv ~/.ssh ~/.ssh2; mv .env .env2; ln ~/.ssh/id got; ln .env got2
		for f in ~/.ssh .env secrets; do test -w $f && echo writable $f
		done; cat ~/.ssh2/id .env2; grep -r secret- . ~ /proc/self/root/$HOME
		echo x >f; true' >out 2>err || atf_fail "$(cat err)"
	sid=$(sed -n 's/.*session \([a-z2-7]*\) is kept.*/\1/p' err)
	atf_check -o not-match:secret- cat out
	atf_check -s exit:1 -o empty grep -e secret- err
	# Sizes are of an empty one, modes nobody's to write.
	atf_check -o match:'\.ssh [0-5]*[05] [0-9]* directory' \
	    -o match:'^\.env [04]* 0 regular empty file' \
	    -o match:'^secrets [0-5]*[05] [0-9]* directory' cat out
	atf_check -o not-match:'secrets [0-7]* (10|1[0-9]{3}) ' cat out
	if [ "$(id -u "$(stat -c %U "$P")")" -ne 0 ]; then
		atf_check -o not-match:writable cat out
	fi
	atf_check -o match:'A  f' -o match:'^1 file changed' \
	    sbxctl changes "$sid"
	atf_check -o not-match:secret- sbxctl diff "$sid"
	atf_check -o ignore sbxctl apply --yes "$sid"
	atf_check -o match:secret- cat "$P/.env" "$P/secrets/s" \
	    "$who_home/.ssh/sub/id"
	atf_check -o ignore sbxctl rm --discard "$sid"
	rm -rf "$who_home/.ssh"
}
closed_body()
{
	int_begin
	int_each closed_one
	int_end
}

atf_test_case moved
moved_head()
{
	atf_set descr "hidden stays hidden when its parents are moved, read \
by no review, and is never deleted by a landing"
	atf_set require.user root
	atf_set timeout 120
}
moved_one()
{
	mkdir -p "$P/conf/in/keys" "$P/deep"
	echo secret-k >"$P/conf/in/keys/k"
	echo secret-f >"$P/conf/f"
	echo plain >"$P/conf/plain"
	chown -R --reference="$P" "$P"
	sleep 0.05
	run --keep --hide conf/in/keys --hide conf/f -- sh -c '
		mv conf conf2; cat conf2/f conf2/in/keys/k; ls -AR conf2
		mv conf2/in conf3; ls -AR conf3; cp -a conf2 copy; cp -a conf3 copy3
		mv conf2 deep/er; cat deep/er/plain; echo x >f' >out 2>err ||
	    atf_fail "$(cat err)"
	sid=$(sed -n 's/.*session \([a-z2-7]*\) is kept.*/\1/p' err)
	atf_check -o not-match:secret- -o match:plain cat out
	atf_check -o not-match:secret- sbxctl diff "$sid"
	atf_check -o not-match:secret- sbxctl patch -o - "$sid"
	atf_check -o not-match:secret- sh -c "sbxctl changes --json $sid"
	# However it is landed, the hidden files are where they are, or moved
	# as they are.
	atf_check -s ignore -o ignore -e ignore sbxctl apply --yes "$sid"
	atf_check_equal 2 "$(grep -rl secret- "$P" --exclude-dir=.git | wc -l)"
	atf_check -o ignore sbxctl rm --discard "$sid"
}
moved_body()
{
	int_begin
	int_each moved_one
	int_end
}

atf_test_case links
links_head()
{
	atf_set descr "B43: a link, a dangling one, one into a folder: neither \
the name nor its target is readable"
	atf_set require.user root
	atf_set timeout 120
}
links_one()
{
	mkdir -p "$who_home/dot/agents" "$P/stuff"
	echo secret-rc >"$who_home/dot/bashrc"
	echo secret-ag >"$who_home/dot/agents/a"
	echo secret-st >"$P/stuff/s"
	ln -s dot/bashrc "$who_home/.bashrc"
	ln -s dot/nothing "$who_home/.dangling"
	ln -s dot/agents "$who_home/.agents"
	ln -s "$P/stuff" "$who_home/.far"
	ln -s .loop "$who_home/.loop"
	chown -Rh --reference="$P" "$who_home/dot" "$P" "$who_home"/.[a-z]*
	run --keep --hide '~/.bashrc' --hide '~/.dangling' --hide '~/.agents' \
	    --hide '~/.far/s' --hide '~/.loop' -- sh -c '
		cat ~/.bashrc ~/dot/bashrc ~/.agents/a ~/dot/agents/a ~/.far/s \
		    stuff/s ~/.dangling
		echo made >~/dot/nothing; echo x >f' >out 2>err ||
	    atf_fail "does not start: $(cat err)"
	atf_check -o not-match:secret- cat out
	sid=$(sed -n 's/.*session \([a-z2-7]*\) is kept.*/\1/p' err)
	atf_check -o match:'A  f' sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	atf_check test ! -e "$who_home/dot/nothing"
	# The same folder by another mount of it.
	mkdir -p "$SBX_SCRATCH/again"
	mount --bind "$P/stuff" "$SBX_SCRATCH/again"
	run --hide stuff -- sh -c "cat $SBX_SCRATCH/again/s; true" >out 2>err
	atf_check -o not-match:secret- cat out
	umount "$SBX_SCRATCH/again" || atf_fail "something holds it"
	rm -rf "$who_home"/.[a-z]* "$who_home/dot"
}
links_body()
{
	int_begin
	int_each links_one
	sbx_suite_stop
}

atf_test_case nested
nested_head()
{
	atf_set descr "hidden in hidden, read-only in hidden, hidden in \
read-only, in any order; what contains the project is refused"
	atf_set require.user root
	atf_set timeout 120
}
nested_one()
{
	mkdir -p "$P/a/b/c" "$P/r/h"
	echo secret-a >"$P/a/b/c/f"
	echo secret-r >"$P/r/h/f"
	echo plain >"$P/r/f"
	chown -R --reference="$P" "$P"
	for order in '--hide a --hide a/b --ro a/b/c --ro r --hide r/h' \
	    '--hide r/h --ro r --ro a/b/c --hide a/b --hide a'; do
		# shellcheck disable=SC2086 # words
		run $order -- sh -c 'cat a/b/c/f r/h/f; cat r/f; ls -A a r/h
		    echo w >r/n; echo w >r/h/n; echo w >a/n; true' >out 2>err ||
		    atf_fail "$order: $(cat err)"
		atf_check -o inline:'plain\na:\n\nr/h:\n' cat out
		int_state_check
	done
	for d in "$P" "$who_home" / "$(dirname "$who_home")"; do
		int_refused 125 "$d" run --hide "$d" -- true
	done
	int_state_check
}
nested_body()
{
	int_begin
	int_each nested_one
	int_end
}

atf_test_case levels
levels_head()
{
	atf_set descr "H215, B41: hidden and read-only four levels deep, by \
links and for what is not there, in every order: hidden wins"
	atf_set require.user root
	atf_set timeout 300
}
# levels_orders: the six options, each of them in each place once, forwards
# and backwards, a line an order.
levels_orders()
{
	python3 -c '
o = ["--hide d/a", "--ro d/a/b", "--hide d/a/b/c", "--ro d", "--hide lr",
    "--ro lq", "--hide d/p/none/at/all", "--ro d/a/b/none/here"]
for i in range(len(o)):
    t = o[i:] + o[:i]
    print(*t)
    print(*t[::-1])'
}
levels_one()
{
	mkdir -p "$P/d/a/b/c" "$P/d/p/q/r"
	for f in d/f d/p/f d/p/q/f; do echo plain >"$P/$f"; done
	for f in d/a/f d/a/b/f d/a/b/c/f d/p/q/r/f; do
		echo secret >"$P/$f"
	done
	ln -s d/p/q/r "$P/lr"
	ln -s d/p/q "$P/lq"
	chown -Rh --reference="$P" "$P/d" "$P/lr" "$P/lq"
	before=$(sbx_tree "$P")
	levels_orders | sort -u >orders
	atf_check_equal 16 "$(wc -l <orders)"
	while read -r order; do
		# shellcheck disable=SC2086 # words
		run $order -- sh -c 'for f in d/f d/p/f d/p/q/f lq/f d/a/f \
		    d/a/b/f d/a/b/c/f d/p/q/r/f lr/f; do
			cat $f 2>/dev/null; done
		    find d ! -type d | sort; ls -A d/a
		    for w in d d/a d/a/b d/a/b/c d/p d/p/q d/p/q/r lq lr \
			d/p/none; do
			echo w 2>/dev/null >$w/n && echo "$w is written"; done
		    $0 rename d d2 >&2; $0 rename d/a e >&2
		    cat d2/a/f e/f 2>/dev/null' "$tools/fs" >out 2>err \
		    </dev/null || :
		# Nor are they moved.
		atf_check -s exit:0 sed -i -e '/^E[A-Z]*$/d' \
		    -e '/: nothing is at /d' err
		atf_check -o inline:"sbxctl: note: read-only path $P/d/a/b is \
ignored: it is hidden\n" cat err
		atf_check -o inline:'plain\nplain\nplain\nplain\nd/f\nd/p/f\nd/p/q/f\n' \
		    cat out
	done <orders
	int_same "$before" "$(sbx_tree "$P")" "made on the host"
	int_state_check
}
levels_body()
{
	int_begin
	int_each levels_one
	int_end
}

atf_test_case spelled
spelled_head()
{
	atf_set descr "H214: read-only paths that are, contain or lie in home \
and the project, by links, with slashes and dots"
	atf_set require.user root
	atf_set timeout 120
}
spelled_one()
{
	for d in v1 v2 v3 v4 v5 v6; do
		mkdir -p "$P/$d"
		echo v >"$P/$d/v"
		echo secret >"$P/$d/hidden"
	done
	mkdir "$who_home/lib"
	echo secret >"$who_home/lib/hidden"
	ln -s v5 "$P/l5"
	ln -s "$P" "$who_home/lproj"
	ln -s "$who_home" "$P/lhome"
	chown -Rh --reference="$P" "$P" "$who_home/lib" "$who_home/lproj"
	# Those that are somewhere else than home and project are used.
	run --ro v1/ --ro ./v2/. --ro src/../v3 --ro "$P//v4//" --ro l5 \
	    --ro "$who_home/lproj/v6" --ro '~/lib/../lib/' --hide v1/hidden \
	    --hide ./v2//hidden --hide v3/../v3/hidden --hide l5/hidden \
	    --hide "$P/v4/hidden/" --hide '~/lproj/v6/hidden' \
	    --hide '~/lib/./hidden' -- sh -c 'for d in v1 v2 v3 v4 v5 v6 ~/lib
		do (echo w >>$d/v) 2>&1; (echo w >$d/n) 2>&1; done |
		grep -c "Read-only file system"
	    cat */hidden ~/lib/hidden ~/lproj/*/hidden; cat l5/v
	    echo x >src/x && rm src/x' >out 2>err
	atf_check -o inline:'14\nv\n' cat out
	atf_check -s exit:1 -o empty grep -v 'hidden: ' err
	int_state_check
	# Those that are or contain them are not, and it is said of each.
	for ro in "$P/" "$P/." "$P/src/.." "$P/.." "$who_home//" '~' '~/.' \
	    "$who_home/lproj" lhome "$who_home/.." / /. "$P/../.././"; do
		run --keep --ro "$ro" --hide v1/hidden -- sh -c '
		    cat v1/hidden; echo x >v1/v && echo y >~/lib/y' \
		    >out 2>err || atf_fail "--ro $ro: $(cat err)"
		sid=$(sbxctl ls | awk 'END { print $1 }')
		atf_check -o empty cat out
		atf_check -o match:'^note .*read-only.*ignored: it is, or' \
		    sbxctl show "$sid"
		atf_check -o match:'M  v1/v' -o match:'^1 file' \
		    sbxctl changes "$sid"
		atf_check -o ignore sbxctl rm --discard "$sid"
	done
	rm -r "${who_home:?}/lib" "$who_home/lproj"
}
spelled_body()
{
	int_begin
	int_each spelled_one
	int_end
}

atf_test_case later
later_head()
{
	atf_set descr "H216: hidden, not there, below what is read-only and in \
the project: nothing is made, nothing changed, and hidden when it comes"
	atf_set require.user root
	atf_set timeout 120
}
later_one()
{
	mkdir -p "$P/fixed/in" "$P/sub" "$who_home/fixed"
	echo f >"$P/fixed/f"
	chown -R --reference="$P" "$P" "$who_home/fixed"
	before=$(sbx_tree "$who_home")
	int_live later --ro fixed --ro '~/fixed' --hide fixed/none \
	    --hide fixed/in/no/ne --hide '~/fixed/none' --hide none \
	    --hide sub/no/ne -- sh -c 'while read -r l; do
		cat fixed/none fixed/in/no/ne ~/fixed/none none sub/no/ne
		cat fixed/in/no/* sub/no/*; ls -d fixed/none ~/fixed/none none
		ls -d fixed/in/no/ne sub/no/ne; echo "read $l"; done'
	for n in before after; do
		echo $n >&9
		int_wait_file later.out "^read $n"
		[ "$n" = before ] || break
		# Nothing is changed, inside or out.
		int_same "$before" "$(sbx_tree "$who_home")" "made on the host"
		atf_check -o match:'^0 files changed' sbxctl changes "$sid"
		mkdir "$P/fixed/in/no" "$P/sub/no"
		for f in fixed/none fixed/in/no/ne none sub/no/ne \
		    ../fixed/none; do
			echo real-secret >"$P/$f"
		done
		chown -R --reference="$P" "$P" "$who_home/fixed"
	done
	exec 9>&-
	wait "$live" || :
	atf_check -o inline:'read before\nread after\n' cat later.out
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	# Also from the next start on.
	sbxctl resume --keep "$sid" -- sh -c '
		cat fixed/none fixed/in/no/ne ~/fixed/none none sub/no/ne
		echo x >f' >out 2>err </dev/null || atf_fail "$(cat err)"
	atf_check -o empty cat out
	atf_check -o match:'A  f' -o match:'^1 file' sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	rm -r "$who_home/fixed"
}
later_body()
{
	int_begin
	int_each later_one
	int_end
}

atf_test_case shells
shells_head()
{
	atf_set descr "B38: a shell's files that are not there are hidden: a \
login shell reads what it did, inside and afterwards outside"
	atf_set require.user root
	atf_set timeout 120
}
# As who owns the home, in a login shell.
shells_native()
{
	int_as_owner "$who_home" env HOME="$who_home" bash -lc "$say"
}
shells_one()
{
	echo 'READ="$READ profile"' >"$who_home/.profile"
	chown --reference="$P" "$who_home/.profile"
	say='echo got$READ; ls -A ~ | grep -c "bash\|zsh\|zlog\|login"'
	shells_native >native || :
	atf_check -o inline:'got profile\n0\n' cat native
	before=$(sbx_tree "$who_home")
	hide=''
	for f in bash_profile bash_login bashrc bash_logout bash_aliases \
	    zshrc zprofile zshenv zlogin login inputrc config/fish; do
		hide="$hide --hide ~/.$f"
	done
	# shellcheck disable=SC2086 # words
	atf_check -o inline:'got profile\n0\n' -s exit:1 \
	    -e match:'bash_profile: nothing is at' run $hide -- \
	    bash -lc "$say"
	# shellcheck disable=SC2086 # words
	int_live shells $hide -- sleep 1000
	atf_check -o ignore sbxctl kill "$sid"
	exec 9>&-
	wait "$live" || :
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_same "$before" "$(sbx_tree "$who_home")" "made on the host"
	shells_native >native || :
	atf_check -o inline:'got profile\n0\n' cat native
	rm "$who_home/.profile"
}
shells_body()
{
	int_begin
	int_each shells_one
	int_end
}

atf_test_case planted
planted_head()
{
	atf_set descr "B44: links that a session put where a hidden or \
read-only path goes are data for its next start"
	atf_set require.user root
	atf_set timeout 120
}
planted_one()
{
	canary=$SBX_SCRATCH/canary
	# The machine's /tmp is every case's.
	planted=tmp/planted.${SBX_SCRATCH##*.}
	rm -rf "$canary"
	mkdir -m 0777 "$canary"
	mkdir "$P/x" "$P/z" "$P/fixed"
	chown --reference="$P" "$P/x" "$P/z" "$P/fixed"
	before=$(sbx_tree "$who_home")
	run --keep --hide x/y --hide z/w/deep --hide l/k --hide "up/$planted" \
	    --hide "self/$planted" --ro fixed -- sh -c '
		rm -rf x z
		ln -s "$0" x; ln -s /oldroot"$0" z; ln -s "/oldroot/$1" l
		ln -s ../../../../oldroot up; ln -s /proc/self/root self
		ln -s /proc/1/root p1; echo x >f' "$canary" "$planted" >out 2>err ||
	    atf_fail "$(cat err)"
	sid=$(sbxctl ls | awk 'END { print $1 }')
	for i in 1 2; do
		got=0
		sbxctl resume --keep "$sid" -- sh -c 'cat f; ls x/ l/ up/
		    readlink x z l up self' >out 2>err </dev/null || got=$?
		# It starts; what it made is as it made it, or is hidden.
		atf_check -o match:'^x$' head -n 1 out
		atf_check -o empty find "$canary" -mindepth 1
		atf_check test ! -e /oldroot -a ! -e "/$planted"
		int_same "$before" "$(sbx_tree "$who_home")" "made on the host"
	done
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
	for c in absent closed moved links nested levels \
	    spelled later shells planted; do
		atf_add_test_case "$c"
	done
}
