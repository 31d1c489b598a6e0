# Cases A: the overlay, as programs inside and the owner outside find it.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

atf_test_case submounts
submounts_head()
{
	atf_set descr "A3: a filesystem mounted below the project is not empty"
	atf_set require.user root
	atf_set timeout 120
}
submounts_one()
{
	as=$(stat -c %U "$P")
	srv=$SBX_SCRATCH/srv-$as
	mkdir -p "$P/bound" "$P/tmpfs" "$P/ext4" "$srv"
	echo real >"$srv/f"
	chown -R "$as:" "$srv" "$P/bound"
	mount --bind "$srv" "$P/bound"
	sbx_fresh_fs tmpfs "$P/tmpfs"
	sbx_fresh_fs ext4 "$P/ext4" 16M
	echo t >"$P/tmpfs/t"
	echo e >"$P/ext4/e"
	chown -R "$as:" "$P/tmpfs/t" "$P/tmpfs" "$P/ext4/e"
	before=$(sbx_tree "$srv")
	run --keep -- sh -c 'cat bound/f tmpfs/t ext4/e; rm -rf bound/*
	    echo w >tmpfs/t; echo x >a.txt; ls -A bound tmpfs ext4' \
	    >out 2>err || atf_fail "$(cat err)"
	int_kept err
	atf_check -o match:'^real$' -o match:'^t$' -o match:'^e$' cat out
	int_same "$before" "$(sbx_tree "$srv")" "the bound folder was touched"
	atf_check -o inline:'t\n' cat "$P/tmpfs/t"
	# What lies on another filesystem does not land, and is told.
	atf_check -o match:'a.txt' -o match:'bound.*not landed' \
	    -o match:'tmpfs.*not landed' -o not-match:ext4 \
	    sbxctl changes "$sid"
	atf_check -o match:'1 file landed' -o match:'bound.*not landed' \
	    -o match:'tmpfs.*not landed' sbxctl apply --yes "$sid"
	atf_check -o inline:'x\n' cat "$P/a.txt"
	atf_check -o inline:'real\n' cat "$P/bound/f"
	atf_check -o inline:'t\n' cat "$P/tmpfs/t"
	int_refused 1 'what does not land is left' sbxctl rm "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	# Nor is it lost where nothing else was changed; where nothing was, the
	# session goes at once.
	run -- sh -c 'cat tmpfs/t' >out 2>err || atf_fail "$(cat err)"
	atf_check -o empty cat err
	run -- sh -c 'echo changed >tmpfs/x' >out 2>err ||
	    atf_fail "$(cat err)"
	int_kept err
	atf_check -o match:'^0 files' -o match:'tmpfs.*not landed' \
	    sbxctl changes "$sid"
	int_refused 1 'what does not land is left' sbxctl rm "$sid"
	atf_check -s exit:0 -o match:'tmpfs.*not landed' \
	    sbxctl apply --yes "$sid"
	atf_check test ! -e "$P/tmpfs/x"
	atf_check -o ignore sbxctl rm --discard "$sid"
	for m in bound tmpfs ext4; do
		umount "$P/$m" || atf_fail "something holds $m"
	done
}
submounts_body()
{
	int_begin
	int_both submounts_one
	int_stop
}

atf_test_case below
below_head()
{
	atf_set descr "A5: the state below home, below the project, cwd at home \
and at /"
	atf_set require.user root
	atf_set timeout 120
}
below_body()
{
	int_tools
	int_who root
	mkdir "$HOME/.local"
	SBX_STATE=$HOME/.local/sbx
	export SBX_STATE
	int_clean_mark
	int_suite
	# The state is hidden, at home and wherever it is reached.
	atf_check -o inline:'no\n' run -- sh -c \
	    'ls -A ~/.local/sbx >/dev/null 2>&1 || echo no'
	before=$(sbx_tree "$P")
	int_keep sh -c 'echo x >f; echo y >~/g; ls -A ~/.local'
	atf_check -o not-match:sbx cat keep.out
	atf_check -o match:'1 file landed' sbxctl apply --yes "$sid"
	# Home as the project, from home.
	git -C "$HOME" init -q
	atf_check -o match:'^f$' -e match:kept sh -c "cd $HOME &&
	    sbxctl run -- sh -c 'echo x >h; cat p*/f >/dev/null; ls p*'"
	sid=$(sbxctl ls | awk -v p=" $HOME " 'index($0, p) { print $1 }')
	atf_check -o match:'A  h' -o not-match:'\.local' sbxctl changes "$sid"
	atf_check -o match:landed sbxctl apply --yes "$sid"
	atf_check -o inline:'x\n' cat "$HOME/h"
	rm -rf "$HOME/.git"
	# From /: no project, but one that is named works.
	int_refused 125 '/' sh -c 'cd / && sbxctl run -- true'
	atf_check -o inline:"$P\n" sh -c \
	    "cd / && sbxctl run --repo $P -- pwd"
	# A repository inside of the state is none.
	mkdir "$SBX_STATE/repo"
	int_refused 125 state sbxctl run --repo "$SBX_STATE/repo" -- true
	rmdir "$SBX_STATE/repo"
	int_end
	# The state below the project itself.
	SBX_STATE=$P/.sbx
	int_suite
	atf_check -o not-match:'\.sbx' run -- ls -A
	int_keep sh -c 'echo z >z; rm -rf .sbx; mkdir .sbx; echo q >.sbx/q'
	atf_check -o match:'A  z' -o not-match:'A  .sbx' sbxctl changes "$sid"
	atf_check -o match:'landed' sbxctl apply --yes "$sid"
	atf_check test ! -e "$P/.sbx/q" -a -d "$P/.sbx/s"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
}

atf_test_case renames
renames_head()
{
	atf_set descr "A7, A9: folders are renamed as POSIX says, and land"
	atf_set require.user root
	atf_set timeout 120
}
renames_one()
{
	mkdir -p "$P/d/sub" "$P/e" "$P/full"
	for f in d/1 d/sub/2 full/x; do echo "$f" >"$P/$f"; done
	chown -R --reference="$P" "$P"
	sleep 0.05
	run --keep -- sh -ec '
		fs=$0
		# by rename(2), mv, python, and git
		$fs rename src src2
		test ! -e src -a -f src2/main.c
		python3 -c "import os; os.rename(\"src2\", \"src3\")"
		mv src3 src; $fs rename src src3
		# onto a folder that has something in it: refused
		test "$($fs rename d full)" = ENOTEMPTY
		# onto one that is empty, real or new: replaced
		$fs rename d e; test "$(ls e)" = "1
sub"
		mkdir d; touch d/x; test "$($fs rename e d)" = ENOTEMPTY
		rm d/x; $fs rename e d
		# into itself; file over folder; folder over file
		test "$($fs rename d d/sub/d)" = EINVAL
		test "$($fs rename a.txt full)" = EISDIR
		test "$($fs rename full a.txt)" = ENOTDIR
		test "$($fs noreplace a.txt Makefile)" = EEXIST
		# made again after it went: empty, and stays so
		rm -r full; test ! -e full; mkdir full; test -z "$(ls -A full)"
		$fs rmdir-open full; mkdir full; echo new >full/new
		test "$(ls -A full)" = new
		# exchanged
		$fs exchange a.txt Makefile; grep -q all a.txt
		# twice, through other names and back
		mv d d1; mv d1 d2; mkdir d; echo other >d/o; mv d d1
		mv d2 "d 2"; mkdir -p deep/er; mv "d 2" deep/er/d
	' "$tools/fs" >out 2>err || atf_fail "$(cat out err)"
	int_kept err
	atf_check -o match:'R  src3/main.c  from src/main.c' \
	    -o match:'R  deep/er/d/sub/2  from d/sub/2' \
	    -o match:'D  full/x' -o match:'A  full/new' sbxctl changes "$sid"
	atf_check -o match:landed sbxctl apply --yes "$sid"
	atf_check test -f "$P/src3/main.c" -a ! -e "$P/src" -a ! -e "$P/d" \
	    -a -f "$P/deep/er/d/sub/2" -a ! -e "$P/full/x" -a -f "$P/d1/o"
	atf_check -o match:all cat "$P/a.txt"
	# An empty folder that went is listed, not landed.
	atf_check -o match:'^0 files changed' -o match:'^     e  ' \
	    sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
}
renames_body()
{
	int_begin
	int_both renames_one
	int_end
}

atf_test_case modes
modes_head()
{
	atf_set descr "A33: folders that are not writable, or not readable"
	atf_set require.user root
}
modes_body()
{
	int_begin
	int_who user
	mkdir "$P/shut" "$P/ro" "$P/drop"
	echo s >"$P/shut/s"
	echo r >"$P/ro/r"
	chown -R --reference="$P" "$P"
	chmod 0 "$P/shut"
	chmod 555 "$P/ro" "$P" "$int_user_home"
	chmod 333 "$P/drop"
	run --keep -- sh -c 'cat shut/s; echo x >ro/n; echo x >n; cat ro/r
	    stat -c %a . ro shut drop; chmod 755 . ro; echo y >ro/n; echo y >n
	    echo w >>ro/r; stat -c %a ro/r' >out 2>err
	atf_check -o inline:'r\n555\n555\n0\n333\n644\n' cat out
	sid=$(sed -n 's/.*session \([a-z2-7]*\) is kept.*/\1/p' err)
	atf_check -o match:'shut/s: Permission denied' cat err
	atf_check_equal 555 "$(stat -c %a "$P")"
	atf_check -o match:'A  n' -o match:'M  ro/r' sbxctl changes "$sid"
	# The real folder is not writable for its owner: refused, all of it.
	atf_check -s exit:1 -o ignore -e ignore sbxctl apply --yes "$sid"
	atf_check test ! -e "$P/n"
	chmod 755 "$P" "$P/ro" "$int_user_home"
	atf_check -o match:landed sbxctl apply --yes "$sid"
	atf_check -o inline:'r\nw\n' cat "$P/ro/r"
	atf_check_equal 0 "$(stat -c %a "$P/shut")"
	chmod 700 "$P/shut" "$P/drop"
	# Parents that the user can only pass through.
	mkdir -p "$SBX_SCRATCH/x/y"
	sbx_repo "$SBX_SCRATCH/x/y/p" "$int_user"
	chmod 711 "$SBX_SCRATCH/x"
	P=$SBX_SCRATCH/x/y/p
	atf_check -o inline:'two\n' run -- sed -n 2p a.txt
	# Not even that: one line.
	chmod 700 "$SBX_SCRATCH/x"
	cd / || atf_fail cd
	int_refused 125 "$P" sbxctl run --as "$int_user" --repo "$P" -- true
	int_end
}

atf_test_case special
special_head()
{
	atf_set descr "A11: FIFOs and sockets inside work, and wedge no review"
	atf_set require.user root
}
special_one()
{
	mkfifo "$P/realfifo"
	chown --reference="$P" "$P/realfifo"
	run --keep -- sh -c 'mkfifo p; echo through >p & cat p; "$0" socket s
	    echo 1 >z; (read x <realfifo; echo "$x" >got) & r=$!
	    echo word >realfifo; wait $r; cat got; mkdir d; mkfifo d/q; rm got' \
	    "$tools/fs" >out 2>err || atf_fail "$(cat err)"
	atf_check -o inline:'through\nword\n' cat out
	int_kept err
	atf_check -o match:'A  z' -o match:'     p  ' -o match:'     s  ' \
	    -o match:'     d/q  ' timeout 20 sbxctl changes "$sid"
	atf_check -o match:'\+1' timeout 20 sbxctl diff "$sid"
	atf_check -o match:'1 file landed' timeout 20 sbxctl apply --yes "$sid"
	atf_check test -f "$P/z" -a ! -e "$P/p" -a ! -e "$P/s" -a -p "$P/realfifo"
	atf_check -o ignore sbxctl rm --discard "$sid"
}
special_body()
{
	int_begin
	int_each special_one
	int_end
}

atf_test_case sqlite
sqlite_head()
{
	atf_set descr "a database in WAL mode with two writers at once"
	atf_set require.user root
	atf_set timeout 120
}
sqlite_one()
{
	cat >"$tools/writers" <<-'EOT'
		import os, sqlite3, sys
		def db():
		    d = sqlite3.connect("t.db", timeout=60, isolation_level=None)
		    d.execute("pragma journal_mode=wal")
		    return d
		d = db()
		d.execute("create table if not exists t (who, n)")
		if len(sys.argv) > 1:
		    for i in range(2000):
		        d.execute("insert into t values ('owner', ?)", (i,))
		    sys.exit()
		d.close()
		kids = []
		for who in "a", "b":
		    pid = os.fork()
		    if pid == 0:
		        d = db()
		        for i in range(150):
		            d.execute("begin immediate")
		            d.execute("insert into t values (?, ?)", (who, i))
		            d.execute("update t set n = n + 1 where who = 'owner'"
		                " and rowid % 97 = ?", (i % 97,))
		            d.execute("commit")
		        os._exit(0)
		    kids.append(pid)
		for pid in kids:
		    assert os.waitpid(pid, 0)[1] == 0
		d = db()
		print(d.execute("select count(*) from t").fetchone()[0],
		    d.execute("pragma integrity_check").fetchone()[0])
	EOT
	(cd "$P" && python3 "$tools/writers" owner) || atf_fail "no database"
	chown -R --reference="$P" "$P"
	sleep 0.05
	before=$(sha256sum "$P/t.db")
	run --keep -- python3 "$tools/writers" >out 2>err ||
	    atf_fail "$(cat err)"
	int_kept err
	atf_check -o inline:'2300 ok\n' cat out
	int_same "$before" "$(sha256sum "$P/t.db")"
	atf_check -o match:landed sbxctl apply --yes "$sid"
	atf_check -o inline:'2300 ok\n' python3 -c "
import sqlite3
d = sqlite3.connect('$P/t.db')
print(d.execute('select count(*) from t').fetchone()[0],
    d.execute('pragma integrity_check').fetchone()[0])"
	atf_check -o ignore sbxctl rm --discard "$sid"
}
sqlite_body()
{
	int_begin
	int_each sqlite_one
	int_end
}

atf_test_case readonly
readonly_head()
{
	atf_set descr "--ro: reading goes on, writing fails, the rest is as ever"
	atf_set require.user root
}
readonly_one()
{
	mkdir "$who_home/lib" "$P/vendor"
	echo l >"$who_home/lib/l"
	echo v >"$P/vendor/v"
	chown -R --reference="$P" "$who_home/lib" "$P/vendor"
	run --ro "$who_home/lib" --ro vendor --ro missing --ro '~/nothing' \
	    -- sh -c 'cat ~/lib/l vendor/v
	    for f in ~/lib/l ~/lib/n vendor/v vendor/n; do
		(echo w >>$f) 2>&1; done
	    rm -rf vendor ~/lib 2>&1; cat vendor/v; echo x >f; rm f' \
	    >out 2>err || :
	atf_check -o match:'^l$' -o match:'^v$' cat out
	atf_check_equal 4 "$(grep -c 'cannot create\|Read-only' out |
	    head -n 1 | sed 's/^[4-9]$/4/')"
	atf_check -o inline:'l\n' cat "$who_home/lib/l"
	atf_check -o inline:'v\n' cat "$P/vendor/v"
	int_state_check
	# One that is or contains home or the project: ignored, and said.
	for d in "$P" "$who_home" / "$P/."; do
		run --keep --ro "$d" -- sh -c 'echo x >f' 2>err ||
		    atf_fail "--ro $d: $(cat err)"
		sid=$(sbxctl ls | awk 'END { print $1 }')
		atf_check -o match:'^note .*read-only.*ignored' \
		    sbxctl show "$sid"
		atf_check -o ignore sbxctl rm --discard "$sid"
	done
	rm -rf "${who_home:?}/lib"
}
readonly_body()
{
	int_begin
	int_each readonly_one
	int_end
}

atf_test_case ro_moved
ro_moved_head()
{
	atf_set descr "what is read-only does not land, whatever was moved \
above it"
	atf_set require.user root
}
ro_moved_one()
{
	mkdir -p "$P/sub/deep" "$P/top"
	echo good | tee "$P/sub/deep/f" >"$P/top/f"
	chown -R --reference="$P" "$P/sub" "$P/top"
	run --keep --ro sub/deep --ro top/f -- sh -c '
	    echo x >n; mv sub old && mkdir -p sub/deep && echo evil >sub/deep/f
	    mv top t && mv n top' >out 2>err || :
	sid=$(sbxctl ls | awk 'END { print $1 }')
	atf_check -o match:'sub/deep.*read-only' -o match:'top/f.*read-only' \
	    sbxctl changes "$sid"
	atf_check -o ignore -e ignore sbxctl apply --yes "$sid"
	atf_check -o inline:'good\n' cat "$P/sub/deep/f"
	atf_check -o inline:'good\n' cat "$P/top/f"
	atf_check -o ignore sbxctl rm --discard "$sid"
}
ro_moved_body()
{
	int_begin
	int_both ro_moved_one
	int_end
}

atf_test_case fresh
fresh_head()
{
	atf_set descr "/tmp /run /dev/shm /dev /proc are the session's own"
	atf_set require.user root
}
fresh_one()
{
	echo host >"/run/host-file"
	mkdir -p /tmp/host-dir
	run -- sh -c 'ls -A /run /tmp /dev/shm | grep -i host
	    for d in /tmp /run /dev/shm /var/tmp; do
		echo x >$d/mine 2>/dev/null && echo "$d"; done; ls /dev; ls /proc |
	    grep -c "^[0-9]"; cat /proc/1/comm; tty; ls -ld /dev/ptmx; ls /dev/pts
	    stat -c "%a %T" /tmp' >out 2>err || :
	rmdir /tmp/host-dir
	rm /run/host-file
	atf_check -o not-match:host cat out
	atf_check -o match:'^/tmp$' -o match:'^/dev/shm$' -o match:'^sbx-init$' \
	    -o match:'^1777' cat out
	for d in null zero full random urandom tty fd stdin stdout stderr \
	    ptmx pts shm; do
		atf_check -o match:"^$d\$" cat out
	done
	# No other device, and none to be made.
	atf_check -s exit:1 -o empty run -- sh -c 'ls /dev | grep -vxE \
	    "null|zero|full|random|urandom|tty|fd|stdin|stdout|stderr|ptmx|pts|shm"'
	atf_check -s not-exit:0 -e ignore run -- mknod /tmp/sda b 8 0
	atf_check -s not-exit:0 -o ignore -e ignore run -- dd if=/dev/mem \
	    of=/dev/null count=1
	# Bounded: it is the machine's memory.
	run -- sh -c 'df -P /tmp /run /dev/shm | awk "NR > 1 { print \$2 }"' >df
	total=$(awk '/^MemTotal/ { print $2 }' /proc/meminfo)
	while read -r kb; do
		[ "$kb" -gt 0 ] && [ "$kb" -le $((total / 2)) ] ||
		    atf_fail "a tmpfs of $kb KiB of $total"
	done <df
	atf_check test ! -e /var/tmp/mine
	for sid in $(sbxctl ls | awk 'NR > 1 { print $1 }'); do
		atf_check -o ignore sbxctl rm --discard "$sid"
	done
}
fresh_body()
{
	int_begin
	int_each fresh_one
	int_end
}

atf_test_case places
places_head()
{
	atf_set descr "home and project below folders that are fresh inside"
	atf_set require.user root
}
places_body()
{
	int_begin
	t=$(mktemp -d /tmp/sbxt.XXXXXX)
	mkdir -p "$t/home" /run/deep/er "$t/other"
	echo other >"$t/other/f"
	HOME=$t/home
	for P in "$t/home/p" /run/deep/er/p "$t/proj"; do
		sbx_repo "$P"
		int_keep sh -c 'echo x >>a.txt; echo home >~/f; ls /run
		    cat $0/other/f 2>&1; pwd' "$t"
		atf_check -o match:"^$P\$" -o not-match:'^other$' \
		    cat keep.out
		atf_check -o match:'1 file landed' sbxctl apply --yes "$sid"
		atf_check -o match:'^x$' cat "$P/a.txt"
		atf_check test ! -e "$HOME/f"
		atf_check -o ignore sbxctl rm --discard "$sid"
	done
	# The project is home itself.
	sbx_repo "$HOME"
	P=$HOME
	run --keep -- sh -c 'echo x >>~/a.txt
	    mkdir ~/.cache; echo c >~/.cache/c' 2>said
	atf_check -o match:"^sbxctl: note: all of the home folder $HOME is" \
	    sed -n 1p said
	sed -i 1d said
	int_kept said
	atf_check -o match:'2 files landed' sbxctl apply --yes "$sid"
	atf_check -o match:'^x$' cat "$HOME/a.txt"
	rm -rf "$t"
	int_end
}

atf_test_case names
names_head()
{
	atf_set descr "A15: a name that other overlays take for a whiteout is \
one like any other; A34: a chmod is a mode, a touch nothing, nor a chown; an \
access list is said not to land"
	atf_set require.user root
	atf_set timeout 120
}
names_one()
{
	for f in big touched listed wide owned; do
		truncate -s 256M "$P/$f"
		chown --reference="$P" "$P/$f"
	done
	int_keep sh -ec 'touch .wh.a a .wh..wh..opq src/.wh.main.c
	    chmod 600 big; touch touched; "$0" 4 listed; "$0" 6 wide
	    for g in $(id -G); do chgrp "$g" owned; done
	    chown "$(id -u)" owned; ls -A . src' "$tools/acl"
	atf_check -o match:'^\.wh\.a$' -o match:'^\.wh\.\.wh\.\.opq$' \
	    -o match:'^\.wh\.main\.c$' -o match:'^main\.c$' \
	    -o match:'^a\.txt$' cat keep.out
	atf_check -o match:'^a$' -o match:'^main\.c$' -e ignore \
	    sbxctl resume "$sid" -- ls -A . src </dev/null
	atf_check -o match:'A  \.wh\.a$' -o match:'A  a$' \
	    -o match:'A  \.wh\.\.wh\.\.opq$' -o match:'A  src/\.wh\.main\.c$' \
	    -o match:'m  big  mode 100644 to 100600' \
	    -o match:'m  wide  mode 100644 to 100664  .*extended attributes' \
	    -o match:'  listed  extended attributes are not landed' \
	    -o not-match:'touched|owned|binary|D  ' \
	    -o match:'^6 files changed, 0 insertions' sbxctl changes "$sid"
	atf_check -o match:'6 files landed' sbxctl apply --yes "$sid"
	atf_check test -f "$P/.wh.a" -a -f "$P/a" -a -f "$P/.wh..wh..opq" \
	    -a -f "$P/src/main.c" -a -f "$P/src/.wh.main.c" -a -f "$P/a.txt"
	atf_check_equal '600 268435456' "$(stat -c '%a %s' "$P/big")"
	atf_check -o ignore sbxctl rm --discard "$sid"
}
names_body()
{
	int_begin
	cat >"$tools/acl" <<-'EOT'
		#!/usr/bin/env python3
		# acl PERM FILE: an access list that gives it to oneself as well.
		import os, struct, sys
		perm = int(sys.argv[1])
		os.setxattr(sys.argv[2], "system.posix_acl_access",
		    struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e)
		    for e in ((1, 6, 2**32 - 1), (2, perm, os.getuid()),
		    (4, 4, 2**32 - 1), (16, perm, 2**32 - 1),
		    (32, 4, 2**32 - 1))))
	EOT
	chmod 755 "$tools/acl"
	int_who user
	sbx-groupadd "sbxg-${SBX_SCRATCH##*.}" "$int_user" ||
	    atf_fail "no second group"
	int_each names_one
	int_end
}

atf_test_case links
links_head()
{
	atf_set descr "A16: a file with two names: a write inside is to one of \
them, and so is the landing, which is said; the other one keeps its bytes"
	atf_set require.user root
	atf_set timeout 120
}
links_one()
{
	mkdir "$who_home/store"
	echo one >"$who_home/store/f"
	ln "$who_home/store/f" "$P/a"
	ln "$P/a" "$P/b"
	chown -R --reference="$P" "$who_home/store"
	int_keep sh -ec 'echo two >>a; cat a b ~/store/f
	    ln b c; echo three >>c; cat b; stat -c %h b'
	atf_check -o inline:'one\ntwo\none\none\none\nthree\n2\n' \
	    cat keep.out
	atf_check_equal 'one 3' \
	    "$(cat "$who_home/store/f") $(stat -c %h "$P/a")"
	own='lands as a file of its own$'
	atf_check -o match:"M  a .*$own" -o match:"M  b .*$own" \
	    -o match:"A  c .*$own" -o not-match:skipped sbxctl changes "$sid"
	atf_check -o match:'3 files landed' \
	    -o match:'^landed, but for this .3.:$' -o match:' a hard link' \
	    sbxctl apply --yes "$sid"
	atf_check -o match:'^0 files' -o not-match:"$own" sbxctl changes "$sid"
	atf_check -o inline:'one\ntwo\none\nthree\none\nthree\none\n' \
	    cat "$P/a" "$P/b" "$P/c" "$who_home/store/f"
	atf_check -o ignore sbxctl rm --discard "$sid"
	rm -r "$who_home/store"
}
links_body()
{
	int_begin
	int_each links_one
	int_end
}

atf_test_case locks
locks_head()
{
	atf_set descr "A2: git inside and outside at once, each with its own \
index.lock: the owner's repository stays whole"
	atf_set require.user root
	atf_set timeout 120
}
# The owner's own git, as whom it is.
locks_git()
{
	setpriv --reuid "$who_user" --regid "$who_user" --init-groups \
	    git -C "$P" "$@"
}
locks_ended()
{
	sbxctl changes "$sid" >/dev/null && grep -q end locks.out
}
locks_one()
{
	# It may see the owner's lock, and see it until the next review.
	int_live locks sh -ec 'echo 0 >in; git add -A; git commit -qm in0
	    echo begun; read l; i=0; while [ $i -lt 10 ]; do
	    i=$((i + 1)); echo $i >in
	    until git add -A && git commit -qm in$i; do sleep 0.1; done 2>/dev/null
	    done; echo end; read l; git fsck 2>&1'
	int_wait_file locks.out begun
	echo outside >"$P/out"
	chown --reference="$P" "$P/out"
	echo go >&9
	i=0
	while [ $i -lt 10 ]; do
		i=$((i + 1))
		echo $i >>"$P/out"
		locks_git add out || atf_fail "git add"
		locks_git commit -qm "out$i" || atf_fail "git commit"
	done
	int_wait locks_ended
	atf_check -o match:'A  in' -o match:'\.git' sbxctl changes "$sid"
	atf_check -o match:'1 file landed' sbxctl apply --yes "$sid"
	locks_git fsck --strict || atf_fail "the owner's repository is broken"
	atf_check_equal 11 "$(locks_git rev-list --count HEAD)"
	atf_check_equal '?? in' "$(locks_git status --porcelain)"
	atf_check test ! -e "$P/.git/index.lock"
	echo go >&9
	exec 9>&-
	wait "$live" || atf_fail "$(cat locks.err)"
	atf_check -o not-match:'error|missing|corrupt' \
	    cat locks.out
	atf_check -o ignore sbxctl rm --discard "$sid"
}
locks_body()
{
	int_begin
	int_each locks_one
	int_end
}

# Where mounts are not shared, as in containers and without systemd, no slave
# of them follows.
atf_test_case private
private_head()
{
	atf_set descr "mounts that are not shared: what is unmounted is gone, \
what is mounted over is covered, in the next session"
	atf_set require.user root
}
private_body()
{
	int_tools
	mount --make-rprivate /
	int_clean_mark
	int_who root
	mkdir "$SBX_SCRATCH/vault" "$P/c"
	echo OLD >"$P/c/f"
	mount -t tmpfs vault "$SBX_SCRATCH/vault"
	echo secret >"$SBX_SCRATCH/vault/key"
	int_suite
	# Also for what was made before there was a session.
	int_wait sh -c 'ls -A "$SBX_STATE/s" | grep -q "^\."'
	umount "$SBX_SCRATCH/vault"
	atf_check -s exit:1 -e match:'No such file' \
	    run -- cat "$SBX_SCRATCH/vault/key"
	mount -t tmpfs over "$P/c"
	echo NEW >"$P/c/f"
	atf_check -o inline:'NEW\n' run -- cat "$P/c/f"
	atf_check -o not-match:'^warn.*mounted' sbxctl doctor
	umount "$P/c"
	atf_check -o inline:'OLD\n' run -- cat "$P/c/f"
	rm -r "$P/c"
	int_end
}

atf_init_test_cases()
{
	for c in private submounts below renames modes special sqlite readonly \
	    ro_moved fresh places names links locks; do
		atf_add_test_case "$c"
	done
}
