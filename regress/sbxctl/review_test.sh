# What is printed of sessions and their changes, in both forms, by a scripted
# suite (fake.c, fake_suite.c).

# fake_start [WORDS]
fake_start() {
	FAKE=${1-} FAKE_PROJECT=$SBX_SCRATCH/project sbx_fake suite
	mkdir -p "$SBX_SCRATCH/project/sub"
}

# ascii FILE: nothing in it can drive a terminal.
ascii() {
	if LC_ALL=C grep -q '[^ -~]' "$1"; then
		atf_fail "$1: bytes that are not plain ASCII"
	fi
}

atf_test_case ls
ls_body() {
	fake_start
	atf_check -e empty -o save:text sbxctl ls
	grep -q "^aaaabbbbcccc  one  .*ended 3 .*root .*$SBX_SCRATCH/project  make 'all the things'\$" text ||
	    atf_fail "$(cat text)"
	grep -q '^zzzz22223333  -  .*running .*/data/<FF><U+001B>\[31m ' text ||
	    atf_fail "$(cat text)"
	grep -q "^aaaaddddeeee  .*ended 3  root  .*  sh -c 'tail -1 /etc/hosts  /x /' 'a<U+0020>'\$" text ||
	    atf_fail "$(cat text)"
	ascii text
	atf_check -e empty -o save:json sbxctl ls --json
	ascii json
	sbx_json json sessions# 3
	sbx_json json sessions.0.session aaaabbbbcccc
	sbx_json json sessions.0.name one
	sbx_json json sessions.0.project "$SBX_SCRATCH/project"
	sbx_json json sessions.0.status 3
	sbx_json json sessions.1.user root
	sbx_json json sessions.0.argv '["make","all the things"]'
	sbx_json json sessions.2.state running
	sbx_json json sessions.2.project '/data/<FF><U+001B>[31m'
	sbx_json json sessions.2.project_b64 L2RhdGEv/xtbMzFt
	sbx_json json sessions.2.argv '["x","<FF><U+001B>[31m"]'
	sbx_json json sessions.2.argv_b64 '["eA==","/xtbMzFt"]'
	sbx_fake_stop
	# Whole where no terminal cuts it.
	fake_start wide
	atf_check -o save:text env COLUMNS=40 LC_ALL=C.UTF-8 sbxctl ls
	sed -n 2p text >line
	printf '%s  %s  ended 3  %s  %s  %s\n' aaaabbbbcccc \
	    "the parser's tests" 4294967290 \
	    /home/somebody/док/日本/a/compiler \
	    "agent --prompt 'make all the tests pass again, please' and then 'look for what else there is'" >want
	diff want line || atf_fail "cut, or other columns"
	sbx_fake_stop
	fake_start none
	atf_check -o empty -e inline:'sbxctl: no sessions\n' sbxctl ls
	atf_check -e empty -o save:json sbxctl ls --json
	sbx_json json sessions '[]'
	sbx_fake_stop
}

atf_test_case show
show_body() {
	fake_start
	atf_check -e empty -o save:text sbxctl show zzzz
	grep -q '^network   none$' text || atf_fail "$(cat text)"
	grep -q '^state     running$' text || atf_fail "$(cat text)"
	ascii text
	atf_check -e empty -o save:json sbxctl show zzzz --json
	sbx_json json session zzzz22223333
	sbx_json json uid 0
	sbx_json json owner uid:0
	grep -q '^owner     root (uid 0)$' text || atf_fail "$(cat text)"
	sbx_json json created 1700000000
	sbx_json json hide '[]'
	sbx_fake_stop
	# One without a name; only a word of its own is a user.
	fake_start wide
	atf_check -o match:'^owner     uid 4294967290$' \
	    -o match:'^reason    killed by root .uid 0., not by xuid:0 or uid:0x$' \
	    -o match:'^user      4294967290$' sbxctl show aaaab
	atf_check -o save:json sbxctl show aaaab --json
	sbx_json json user 4294967290
	# What it is called is not what it calls itself.
	atf_check -o match:'^user      root$' -o not-match:mallory \
	    -o match:"^command   sh -c 'tail -1 /etc/hosts  /x /' " \
	    sbxctl show aaaad
	sbx_fake_stop
}

# Ids are shortened, names are whole, the current folder is enough.
atf_test_case ids
ids_body() {
	fake_start
	for w in aaaabbbbcccc aaaab one z; do
		atf_check -o match:'^session ' sbxctl show "$w"
	done
	# What its order leaves open: the later one of a list is newer.
	printf '%s\n' 'sbxctl: aaaa: stands for several sessions: name one:' \
	    "  aaaaddddeeee  -    ended 3  sh -c 'tail -1 /etc/hosts  /x /' 'a<U..." \
	    "  aaaabbbbcccc  one  ended 3  make 'all the things'" >want
	atf_check -s exit:1 -o empty -e file:want env LC_ALL=C sbxctl show aaaa
	atf_check -s exit:1 -o empty -e match:'^sbxctl: xyz: no session.s id begins so' \
	    sbxctl show xyz
	atf_check -s exit:1 -o empty -e match:'^sbxctl: on: no session' \
	    sbxctl show on
	atf_check -s exit:1 -o empty -e match:'^sbxctl: an empty session: name one' \
	    sbxctl show ''
	cd "$SBX_SCRATCH/project/sub" || exit 1
	atf_check -o match:'^session   aaaabbbbcccc$' sbxctl show
	cd "$SBX_SCRATCH" || exit 1
	atf_check -s exit:1 -o empty -e match:"^sbxctl: $SBX_SCRATCH: no session has this folder" \
	    sbxctl show
	# Nobody's folder, though its name begins like the project's.
	mkdir "$SBX_SCRATCH/project2"
	cd "$SBX_SCRATCH/project2" || exit 1
	atf_check -s exit:1 -o empty -e match:'no session has this folder' \
	    sbxctl show
	sbx_fake_stop
}

# Which ones are meant, where none is named: five, the newest first.
atf_test_case several
several_body() {
	mkdir -p "$SBX_SCRATCH/project"
	cd "$SBX_SCRATCH/project" || exit 1
	make="ended 3  make 'all the things'"
	fake_start three
	printf '%s\n' \
	    "sbxctl: $SBX_SCRATCH/project: the project of several sessions: name one:" \
	    "  mmmm33333333  -    $make" "  mmmm22222222  -    $make" \
	    "  aaaabbbbcccc  one  $make" >want
	for c in apply\ --yes discard\ --yes 'patch -o -' rm resume; do
		case $c in
		resume)	status=125 ;;
		*)	status=1 ;;
		esac
		atf_check -s exit:$status -o empty -e file:want sbxctl $c
	done
	! grep -q -e '^APPLY' -e '^DISCARD' -e '^REMOVE' -e '^RESUME' \
	    -e '^PATCH' "$SBX_STATE/asked" || atf_fail "$(cat "$SBX_STATE/asked")"
	# What only looks takes the newest, and says so.
	for c in show changes diff; do
		atf_check -o match:. \
		    -e inline:'sbxctl: session mmmm33333333 is taken, the newest of 3 of this folder: "sbxctl ls" lists them\n' \
		    sbxctl $c
	done
	atf_check -o match:'^session   mmmm33333333$' -e ignore sbxctl show
	sbx_fake_stop
	fake_start many
	atf_check -s exit:1 -o empty -e match:'^  mmmm55555555  -  ' \
	    -e match:'^  mmmm22222222  -  ' -e not-match:'more' sbxctl show m
	atf_check -o match:'^session   mmmm55555555$' sbxctl show mmmm5
	sbx_fake_stop
	fake_start 'many more'
	atf_check -s exit:1 -o empty -e match:'^  and 1 more: "sbxctl ls"' \
	    -e match:'^  mmmm22222222' -e not-match:'aaaabbbbcccc' sbxctl rm
	sbx_fake_stop
}

# Whom stop, kill, attach and exec are for runs, and resume's has ended; what
# else has the same name, or the folder, is in nobody's way.
atf_test_case states
states_body() {
	mkdir -p "$SBX_SCRATCH/project"
	cd "$SBX_SCRATCH/project" || exit 1
	fake_start
	for c in stop kill; do
		atf_check -s exit:1 -o empty \
		    -e inline:"sbxctl: $SBX_SCRATCH/project: no session of this folder runs: session aaaabbbbcccc has ended: \"sbxctl resume aaaabbbbcccc\" starts it again\n" \
		    sbxctl $c
	done
	# One that is named the suite answers for.
	atf_check -o match:'^session aaaabbbbcccc: ended 3' sbxctl stop one
	sbx_fake_stop
	fake_start 'three live'
	for c in stop kill 'stop one' 'kill one'; do
		atf_check -o match:'^session mmmm33333333: running' sbxctl $c
	done
	echo end >script
	for c in 'attach one' attach; do
		: >"$SBX_STATE/asked"
		"$SBX_BUILDDIR/regress/integration/pty" script sbxctl $c || :
		grep -q '^sid mmmm33333333$' "$SBX_STATE/asked" ||
		    atf_fail "$c: $(cat "$SBX_STATE/asked")"
	done
	: >"$SBX_STATE/asked"
	atf_check -s exit:125 -e ignore sbxctl exec one true
	grep -q '^sid mmmm33333333$' "$SBX_STATE/asked" ||
	    atf_fail "$(cat "$SBX_STATE/asked")"
	# The one that runs is not what an id's beginning stands for.
	: >"$SBX_STATE/asked"
	for c in stop kill; do
		atf_check -s exit:1 -o empty \
		    -e match:'^sbxctl: mmmm: stands for several sessions' \
		    -e match:'^  mmmm22222222  one  ended' sbxctl $c mmmm
	done
	! grep -q -e '^STOP' -e '^KILL' "$SBX_STATE/asked" ||
	    atf_fail "$(cat "$SBX_STATE/asked")"
	: >"$SBX_STATE/asked"
	# Two of that name have ended.
	atf_check -s exit:125 -e match:'several sessions: name one:' \
	    -e match:'^  mmmm22222222  one  ended' \
	    -e not-match:mmmm33333333 sbxctl resume one
	sbx_fake_stop
	fake_start 'alone live'
	atf_check -s exit:125 -o empty \
	    -e match:'no session of this folder has ended: session aaaabbbbcccc runs: "sbxctl stop aaaabbbbcccc" ends it$' \
	    sbxctl resume
	sbx_fake_stop
}

digest=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff

atf_test_case changes
changes_body() {
	fake_start
	atf_check -e empty -o save:text sbxctl changes one
	for l in '  M  a.txt  +2 -1$' '  A  bin/<U+000A><U+001B>\[2J  +1 -0  executable$' \
	    '  D  bytes<FF>  +0 -1$' '  R  new name  from old <FF><U+0020>$' \
	    '  M  picture  binary, 100 to 200 bytes$' \
	    '  m  x.sh  mode 100644 to 100755$' \
	    'skipped, never lands (1):$' \
	    '     .git/hooks/pre-commit  git.s own files never land$' \
	    '     build  12 files, 3456 bytes$' \
	    '6 files changed, 3 insertions(+), 2 deletions(-)$' \
	    "digest    $digest\$" 'INCOMPLETE: '; do
		grep -q "^$l" text || atf_fail "no \"$l\" in $(cat text)"
	done
	ascii text
	atf_check -e empty -o save:json sbxctl changes --json one
	ascii json
	sbx_json json session aaaabbbbcccc
	sbx_json json target "$SBX_SCRATCH/project"
	sbx_json json digest $digest
	sbx_json json insertions 3
	sbx_json json incomplete true
	sbx_json json files# 6
	sbx_json json files.0.path a.txt
	sbx_json json files.0.kind modified
	sbx_json json files.0.old_mode 100644
	sbx_json json files.0.new_size 60
	sbx_json json files.0.insertions 2
	sbx_json json files.0.deletions 1
	sbx_json json files.1.path "$(printf 'bin/\n\033[2J')"
	sbx_json json files.1.old_mode null
	sbx_json json files.2.path 'bytes<FF>'
	sbx_json json files.2.path_b64 Ynl0ZXP/
	sbx_json json files.2.new_mode null
	sbx_json json files.3.from 'old <FF><U+0020>'
	sbx_json json files.3.from_b64 b2xkIP8g
	sbx_json json files.4.binary true
	sbx_json json skipped.0.path .git/hooks/pre-commit
	sbx_json json skipped.0.class hooks
	sbx_json json ignored '[{"path":"build","files":12,"bytes":3456}]'
	sbx_fake_stop
	fake_start clean
	atf_check -e empty -o match:'^0 files changed' sbxctl changes one
	atf_check -e empty -o save:json sbxctl changes one --json
	sbx_json json files '[]'
	sbx_json json skipped '[]'
	sbx_json json ignored '[]'
	sbx_fake_stop
	fake_start fails
	atf_check -s exit:1 -o empty -e inline:'sbxctl: the child was lost\n' \
	    sbxctl changes one
	sbx_fake_stop
}

# At a terminal one that takes long says so, and leaves nothing of that.
atf_test_case progress
progress_body() {
	pty=$SBX_BUILDDIR/regress/integration/pty
	fake_start slow
	printf '%s\n' 'expect s, 6 changes so far' \
	    "touch $SBX_STATE/go" end >script
	atf_check -o save:out "$pty" script sbxctl changes one
	# It is written over before the list comes.
	tr '\r' '\n' <out | grep -v '^ *$' >lines
	atf_check -o match:'^sbxctl: reviewing' sed -n 1p lines
	# It is said once a second while a slow machine takes longer.
	atf_check -o match:'^session' -o not-match:'reviewing' \
	    sed -n '/^session/,$p' lines
	atf_check grep -q "$(printf 'so far\r *\r')" out
	# Cut where it would wrap.
	printf '%s\n' 'resize 10 30' 'expect reviewing session aaa' \
	    "touch $SBX_STATE/go" end >script
	atf_check -o save:out "$pty" script sbxctl changes one
	tr '\r' '\n' <out | grep '^sbxctl: rev' | sort -u >lines
	atf_check -o inline:'sbxctl: reviewing session aaa\n' cat lines
	# Nobody else sees it.
	printf '%s\n' 'sleep 1500' "touch $SBX_STATE/go" end >script
	atf_check -o not-match:reviewing "$pty" script sbxctl changes --json \
	    one
	(sleep 1.5 && touch "$SBX_STATE/go") &
	atf_check -e empty -o ignore sbxctl changes one
	sbx_fake_stop
}

# What lands without something of it is listed once, with that.
atf_test_case stripped
stripped_body() {
	fake_start bits
	atf_check -e empty -o save:text sbxctl changes one
	for l in '  m  x.sh  mode 100644 to 100755  lands without setuid and setgid, and without extended attributes$' \
	    '  R  new name  from old <FF><U+0020>  lands without extended attributes$' \
	    '  M  a.txt  +2 -1$' 'skipped, never lands (3):$' \
	    '     only  alone$' '     a.txt  whole$'; do
		grep -q "^$l" text || atf_fail "no \"$l\" in $(cat text)"
	done
	grep -c -e 'x.sh' -e 'new name' text >count
	atf_check -o inline:'2\n' cat count
	atf_check -e empty -o save:json sbxctl changes --json one
	sbx_json json skipped# 3
	sbx_json json stripped# 3
	sbx_json json stripped.0.path x.sh
	sbx_json json stripped.0.class xattr
	sbx_json json stripped.2.path 'new name'
	sbx_fake_stop
}

atf_test_case diff
diff_body() {
	fake_start
	atf_check -e empty -o save:text sbxctl diff one
	grep -q '^6 files changed, 3 ins' text || atf_fail "$(cat text)"
	grep -q '^INCOMPLETE: ' text || atf_fail "$(cat text)"
	# Tabs and letters stay, everything that is not seen is told.
	printf '+\ttw\303\266\n' >want
	grep -q -x -f want text || atf_fail "$(cat text)"
	grep -q '^+esc <U+001B>\[31m bidi <U+202E> bad <FF><U+000D>$' text ||
	    atf_fail "$(cat text)"
	! grep -q "$(printf '\033')" text || atf_fail "escapes in a pipe"
	atf_check -e empty -o save:json sbxctl diff one --json
	ascii json
	sbx_json json files# 6
	# The patch is not UTF-8, so its bytes are there too.
	"$SBX_BUILDDIR/regress/sbxctl/jsonget" diff_b64 <json |
	    base64 -d >diffed
	atf_check -o save:patched sbxctl patch one -o -
	atf_check cmp diffed patched
	sbx_fake_stop
}

atf_test_case patch
patch_body() {
	fake_start
	umask 027
	atf_check -e empty -o match:'^p: [0-9]* bytes: 6 files' \
	    -o match:'^INCOMPLETE' sbxctl patch one -o p
	[ "$(stat -c %a p)" = 640 ] || atf_fail "mode $(stat -c %a p)"
	grep -q '^diff --git a/a.txt b/a.txt$' p || atf_fail "$(cat p)"
	atf_check -e empty -o save:q sbxctl patch -o - one
	cmp p q || atf_fail "standard output has other bytes"
	[ "$(tail -c 2 p | od -An -tx1 | tr -d ' ')" = 0d0a ] ||
	    atf_fail "the patch's end"
	atf_check -e empty -o save:json sbxctl patch one --json -o r
	sbx_json json file r
	cmp p r || atf_fail "other bytes"
	# Through a link, to the file that it names; what is there is replaced.
	mkdir d
	echo old >d/real
	ln -s d/real l
	atf_check -o ignore sbxctl patch one -o l
	[ -L l ] || atf_fail "the link was replaced"
	cmp p d/real || atf_fail "other bytes"
	atf_check -o ignore sbxctl patch one -o /dev/null
	[ -c /dev/null ] || atf_fail "/dev/null was replaced"
	atf_check -s exit:1 -o empty -e match:'^sbxctl: -o /no/such/p: ' \
	    sbxctl patch one -o /no/such/p
	for d in d / d/ d/.; do
		atf_check -s exit:1 -o empty \
		    -e inline:"sbxctl: -o $d: a folder: name a file, like ${d%/}/patch\n" \
		    sbxctl patch one -o $d
	done
	sbx_fake_stop
	# Nothing half: neither for a short patch nor for a full disk.
	echo old >keep
	for f in short order; do
		fake_start $f
		atf_check -s exit:1 -o empty -e match:'^sbxctl: broken answer: ' \
		    sbxctl patch one -o keep
		[ "$(cat keep)" = old ] || atf_fail "half a patch"
		sbx_fake_stop
	done
	fake_start
	sbx_fresh_fs tmpfs full 16k
	dd if=/dev/zero of=full/fill bs=1k count=64 2>/dev/null
	atf_check -s exit:1 -o empty -e match:'^sbxctl: -o full/p: ' \
	    sbxctl patch one -o full/p
	[ "$(ls -A full)" = fill ] || atf_fail "left over: $(ls -A full)"
	atf_check -s exit:1 -e match:'^sbxctl: standard output: ' \
	    sh -c 'sbxctl patch one -o - >/dev/full'
	atf_check -s exit:1 -e match:'^sbxctl: standard output: ' \
	    sh -c 'sbxctl changes one >/dev/full'
	sbx_fake_stop
}

atf_test_case apply
apply_body() {
	fake_start
	atf_check -e empty -o inline:'session aaaabbbbcccc: 6 files landed; "sbxctl rm aaaabbbbcccc" removes the session\n' \
	    sbxctl apply one --yes
	atf_check -e empty -o match:landed sbxctl apply one --digest $digest
	atf_check -e empty -o save:json sbxctl apply one --yes --json
	sbx_json json landed 6
	# One that is not what is there now.
	atf_check -s exit:1 -o empty -e match:'^sbxctl: the session has changed' \
	    sbxctl apply one --digest "${digest%f}e"
	atf_check -s exit:1 -o empty -e match:'^sbxctl: apply: there is no term' \
	    sbxctl apply one
	atf_check -s exit:1 -o save:json -e not-empty sbxctl apply one --json \
	    --digest "${digest%f}e"
	sbx_json json error land.stale
	sbx_json json files '[]'
	sbx_fake_stop
	fake_start drift
	atf_check -s exit:1 -o match:'^  M  a.txt .* DRIFTED: the real file has' \
	    -e inline:'sbxctl: 1 file has moved: nothing was applied\n' \
	    sbxctl apply one --yes
	atf_check -s exit:1 -o save:json -e not-empty \
	    sbxctl apply one --yes --json
	sbx_json json error land.drifted
	sbx_json json files# 1
	sbx_json json files.0.drift 'the real file has changed since the start'
	sbx_fake_stop
	# Nobody knows whether it landed, but the suite can be asked.
	fake_start lost
	for c in apply discard; do
		atf_check -s exit:1 -o empty \
		    -e match:'not known; "sbxctl changes aaaabbbbcccc"' \
		    sbxctl $c one --yes
	done
	sbx_fake_stop
}

# paths WANT WORD...: what DISCARD is asked for, one line.
paths() {
	want=$1
	shift
	: >"$SBX_STATE/asked"
	atf_check -e empty -o match:'^session aaaabbbbcccc: 2 changes disc' \
	    sbxctl discard --yes "$@"
	got=$(sed -n 's/^path //p' "$SBX_STATE/asked" | tr '\n' ',')
	[ "$got" = "$want" ] || atf_fail "discard $*: $got, not $want"
}

atf_test_case discard
discard_body() {
	fake_start
	cd "$SBX_SCRATCH/project/sub" || exit 1
	paths ''
	paths '' one
	paths 'sub/x,' x
	paths 'sub/x,' one x
	paths 'x,sub/y z,' one ../x 'y z'
	paths 'a/b,' one "$SBX_SCRATCH/project/a//b/."
	paths ',' one ..
	paths 'sub/one,' -- one
	paths 'sub/one,' ./one
	paths 'sub/one,' one -- one
	paths 'sub/-x,' one -- -x
	atf_check -s exit:1 -o empty -e match:'^sbxctl: discard: ../../x: not in' \
	    sbxctl discard --yes one ../../x
	atf_check -s exit:1 -o empty -e match:'^sbxctl: discard: an empty' \
	    sbxctl discard --yes one ''
	# What may be either is asked for in clear.
	touch one
	atf_check -s exit:1 -o empty -e match:'^sbxctl: discard: one: session aaaabbbbcccc, or the file' \
	    sbxctl discard --yes one
	paths '' aaaabbbbcccc
	atf_check -e empty -o save:json sbxctl discard --yes --json aaaabbbbcccc
	sbx_json json discarded 2
	sbx_fake_stop
}

atf_test_case rm
rm_body() {
	fake_start
	atf_check -e empty -o inline:'session aaaabbbbcccc: removed\n' \
	    sbxctl rm one
	grep -q '^discard 0$' "$SBX_STATE/asked" || atf_fail "discarding"
	atf_check -e empty -o save:json sbxctl rm one --discard --json
	grep -q '^discard 1$' "$SBX_STATE/asked" || atf_fail "not discarding"
	sbx_json json removed true
	sbx_fake_stop
	fake_start changes
	atf_check -s exit:1 -o empty -e inline:'sbxctl: changes wait\n' \
	    sbxctl rm one
	sbx_fake_stop
}

atf_test_case doctor
doctor_body() {
	fake_start
	atf_check -s exit:1 -e empty -o save:text sbxctl doctor
	for l in 'ok    kernel ' \
	    "ok    program         $(readlink -f "$SBX_BUILDDIR")/sbin/sbxd\$" \
	    'ok    suite .*runs: ' \
	    'warn  landlock        old <U+001B>\[m$' \
	    'fail  userns          none to be had$' \
	    'sessions cannot run here'; do
		grep -q "^$l" text || atf_fail "no \"$l\": $(cat text)"
	done
	atf_check -s exit:1 -e empty -o save:json sbxctl doctor --json
	sbx_json json ok false
	sbx_json json checks.0.what kernel
	sbx_fake_stop
	fake_start clean
	atf_check -e empty -o match:'^sessions can run here' sbxctl doctor
	atf_check -e empty -o save:json sbxctl doctor --json
	sbx_json json ok true
	sbx_fake_stop
}

atf_test_case cores
cores_head() {
	atf_set descr "doctor warns of a core_pattern that is a program"
	atf_set require.user root
}
cores_body() {
	fake_start clean
	echo '|/usr/lib/systemd/systemd-coredump %P' >pattern
	mount --bind pattern /proc/sys/kernel/core_pattern
	atf_check -o match:'^warn  cores .*as root' \
	    -o match:'^sessions can run here' sbxctl doctor
	echo core >pattern
	atf_check -o not-match:'cores' sbxctl doctor
	umount /proc/sys/kernel/core_pattern
	sbx_fake_stop
}

atf_init_test_cases() {
	atf_add_test_case cores
	atf_add_test_case ls
	atf_add_test_case show
	atf_add_test_case ids
	atf_add_test_case several
	atf_add_test_case states
	atf_add_test_case changes
	atf_add_test_case stripped
	atf_add_test_case progress
	atf_add_test_case diff
	atf_add_test_case patch
	atf_add_test_case apply
	atf_add_test_case discard
	atf_add_test_case rm
	atf_add_test_case doctor
}
