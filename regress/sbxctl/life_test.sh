# stop, kill, explain, du, gc by a scripted suite (fake.c, fake_life.c): what
# is printed of answers that mean to drive the terminal, or are none.

# fake_start [WORDS]
fake_start() {
	FAKE=${1-} FAKE_PROJECT=$SBX_SCRATCH/project sbx_fake suite
	mkdir -p "$SBX_SCRATCH/project"
}
# plain FILE: nothing in it can drive a terminal.
plain() {
	! LC_ALL=C grep -q '[^ -~]' "$1" || atf_fail "$1: not plain ASCII"
}

atf_test_case forms
forms_body() {
	fake_start
	evil='ev<U.001B>.2Jil<U.000A><U.202E>x'
	atf_check -o save:text sbxctl du aaaabbbbcccc
	plain text
	atf_check -o match:"^ *3.0 TiB +9223372036854775807  /$evil" \
	    -o match:'^ *4.0 KiB +3  /$' -o match:'^ *1023 B +1  .its last' \
	    -o match:'  all$' cat text
	atf_check -o match:'ddddeeeeffff' sbxctl du
	atf_check -o save:du.json sbxctl du --json
	plain du.json
	sbx_json du.json 'sessions#' 2
	sbx_json du.json 'sessions.0.parts.1.bytes' 3298534883328
	sbx_json du.json 'sessions.1.bytes' 0
	# A bare number is no age.
	for a in 5 90 1w 5D s d ''; do
		atf_check -s exit:2 -o empty \
		    -e match:"^sbxctl: gc: --older $a: not an age: give a number and s, m, h or d for its unit" \
		    sbxctl gc --older "$a"
	done
	for a in 0 00 0d 5s; do
		atf_check -o ignore sbxctl gc --older "$a"
	done
	atf_check -o save:text sbxctl gc --older 2h --dry-run --discard
	plain text
	grep -q '^age 7200 dry 1 discard 1$' "$SBX_STATE/asked" ||
	    atf_fail "$(cat "$SBX_STATE/asked")"
	atf_check -o match:'^session aaaabbbbcccc: would be removed: 8.0 KiB, 1 inode$' \
	    -o match:"^layer ddddeeeeffff: kept: $evil\$" \
	    -o match:'^2 removed if it were not a dry run, 8.0 KiB and 2 inodes' \
	    cat text
	atf_check -o save:gc.json sbxctl gc --json
	plain gc.json
	sbx_json gc.json 'removed#' 2
	sbx_json gc.json 'kept.0.what' ddddeeeeffff
	sbx_json gc.json dry_run false
	cd "$SBX_SCRATCH/project" || atf_fail cd
	atf_check -o save:text sbxctl explain a/../b aaaabbbbcccc
	plain text
	# As it was given: links are the session's to follow.
	grep -q "^path $SBX_SCRATCH/project/a/../b\$" "$SBX_STATE/asked" ||
	    atf_fail "$(cat "$SBX_STATE/asked")"
	atf_check -o match:"^leads to  /$evil" -o match:'^is  *hidden' \
	    cat text
	atf_check -o save:ex.json sbxctl explain --json /x aaaabbbbcccc
	plain ex.json
	sbx_json ex.json path /x
	sbx_json ex.json state hidden
	sbx_json ex.json session aaaabbbbcccc
	"$SBX_BUILDDIR/regress/sbxctl/jsonget" target_b64 <ex.json >/dev/null ||
	    atf_fail "no target_b64"
	sbx_fake_stop
}

# each FAKE PATTERN: every command ends with one line that has it.
each() {
	fake_start "$1"
	for c in stop kill du; do
		atf_check -s exit:1 -o empty -e save:err sbxctl $c aaaabbbbcccc
		one "$c" "$2"
	done
	atf_check -s exit:1 -o empty -e save:err sbxctl gc
	one gc "$2"
	atf_check -s exit:1 -o empty -e save:err sbxctl explain /x aaaabbbbcccc
	one explain "$2"
	sbx_fake_stop
}
one() {
	[ "$(wc -l <err)" -eq 1 ] && grep -q "^sbxctl: .*$2" err ||
	    atf_fail "$1: $(cat err)"
}

atf_test_case broken
broken_body() {
	each broken 'broken answer: OK'
	each refuses 'not ev<U.001B>.2Jil<U.000A><U.202E>x$'
}

atf_test_case words
words_body() {
	fake_start
	atf_check -s exit:1 -o empty -e match:'an empty path' sbxctl explain ''
	atf_check -s exit:1 -o empty -e match:'longer than 4095' \
	    sbxctl explain "/$(printf '%05000d' 1)" aaaabbbbcccc
	atf_check -s exit:2 -o empty -e match:'leave them or it out' \
	    sbxctl explain --repo / /x aaaabbbbcccc
	atf_check -s exit:1 -o empty -e match:'no session' \
	    sbxctl explain /x nosuch
	mkdir gone
	cd gone || atf_fail cd
	rmdir ../gone
	atf_check -s exit:1 -o empty -e match:'the current folder' \
	    sbxctl explain x aaaabbbbcccc
	cd /
	# Standard output that takes not all of it.
	for c in 'du' 'gc' 'explain /x aaaabbbbcccc' 'du --json'; do
		sbxctl $c >/dev/full 2>"$SBX_SCRATCH/err" &&
		    atf_fail "$c: 0 on a full disk"
		grep -q 'standard output' "$SBX_SCRATCH/err" ||
		    atf_fail "$c: $(cat "$SBX_SCRATCH/err")"
	done
	sbx_fake_stop
}

atf_init_test_cases() {
	atf_add_test_case forms
	atf_add_test_case broken
	atf_add_test_case words
}
