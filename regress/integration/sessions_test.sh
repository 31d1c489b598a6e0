# ls, show, rm, doctor, version, their JSON, and how a session is named.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

atf_test_case listed
listed_head()
{
	atf_set descr "ls and show, for people and as JSON"
	atf_set require.user root
}
listed_body()
{
	int_begin
	int_who user
	atf_check -o empty -e inline:'sbxctl: no sessions\n' sbxctl ls
	atf_check -o save:ls.json sbxctl ls --json
	int_json ls.json 'o == {"sessions": []}'
	mkdir "$P/h"
	run --keep --name "my name" --hide h --ro src --no-network -- \
	    sh -c 'exit 5' "a b" 2>err && atf_fail status
	int_kept err
	atf_check -o match:"^$sid  *my name  *ended 5 .* $P " sbxctl ls
	atf_check -o save:ls.json sbxctl ls --json
	int_json ls.json 'len(o["sessions"]) == 1' \
	    "o['sessions'][0]['session'] == '$sid'" \
	    'o["sessions"][0]["name"] == "my name"' \
	    'o["sessions"][0]["state"] == "ended"' \
	    'o["sessions"][0]["status"] == 5' \
	    "o['sessions'][0]['project'] == '$P'" \
	    "o['sessions'][0]['user'] == '$int_user'" \
	    'o["sessions"][0]["network"] == "none"' \
	    'o["sessions"][0]["argv"] == ["sh", "-c", "exit 5", "a b"]' \
	    'o["sessions"][0]["owner"] == "uid:0"' \
	    'abs(o["sessions"][0]["ended"] - o["sessions"][0]["created"]) < 60'
	atf_check -o save:show.json sbxctl show --json "$sid"
	int_json show.json "o['session'] == '$sid'" 'o["status"] == 5' \
	    "o['hide'] == ['$P/h']" "o['ro'] == ['$P/src']"
	atf_check -o match:"^session *$sid" -o match:"^hidden *$P/h" \
	    -o match:"^read-only *$P/src" -o match:'^network *none' \
	    -o match:"^command *sh -c 'exit 5' 'a b'" sbxctl show "$sid"
	int_live live sleep 1000
	atf_check -o match:"$sid .*running" sbxctl ls
	atf_check -o match:'^state *running' sbxctl show "$sid"
	int_refused 1 "$sid" sbxctl rm "$sid"
	int_refused 1 "$sid" sbxctl rm --discard "$sid"
	kill "$live"
	wait "$live" || :
	exec 9>&-
	int_end
	# Records outlive the suite.
	int_suite
	atf_check -o match:"^$sid .*ended" -o match:'my name.*ended 5' sbxctl ls
	int_end
}

atf_test_case named
named_head()
{
	atf_set descr "an id shortened, left out, a name; unclear: one line"
	atf_set require.user root
}
named_body()
{
	int_begin
	int_who root
	first_p=$P
	run --keep --name alpha -- true 2>err
	int_kept err
	a=$sid
	# Left out: by the current folder, or one below it.
	atf_check -o match:"^session *$a" sh -c "cd $P/src && sbxctl show"
	int_refused 1 "$SBX_SCRATCH" sh -c "cd $SBX_SCRATCH && sbxctl show"
	int_who root
	run --keep --name beta -- true 2>err
	int_kept err
	b=$sid
	atf_check -o match:"^session *$b" sh -c "cd $P && sbxctl show"
	run --keep --name beta -- true 2>err
	int_kept err
	c=$sid
	atf_check -o match:"^session *$c" -e match:'the newest of 2' \
	    sh -c "cd $P && sbxctl show"
	int_refused 1 "$b" sh -c "cd $P && sbxctl rm"
	int_refused 1 "$c" sh -c "cd $P && sbxctl rm"
	# Shortened to the first letters that are one session's only.
	atf_check -o match:"^session *$a" sbxctl show alpha
	int_refused 1 beta sbxctl show beta
	for s in "$a" "$b" "$c"; do
		n=1
		while short=$(printf %.${n}s "$s"); [ "$(printf '%s\n' "$a" \
		    "$b" "$c" | grep -c "^$short")" -gt 1 ]; do
			int_refused 1 "$short" sbxctl show "$short"
			n=$((n + 1))
		done
		atf_check -o match:"^session *$s" sbxctl show "$short"
	done
	int_refused 1 zzzzzzzzzzzz0 sbxctl show zzzzzzzzzzzz0
	int_refused 1 '' sbxctl show ''
	cd "$first_p" || atf_fail cd
	atf_check -o match:"$a: removed" sbxctl rm
	cd "$SBX_SCRATCH" || atf_fail cd
	atf_check -o ignore sbxctl rm "$b"
	atf_check -o ignore sbxctl rm "$c"
	int_state_check
	int_end
}

atf_test_case again
again_head()
{
	atf_set descr "a session that has landed stays, and is not the one that \
the folder means while another one waits"
	atf_set require.user root
}
again_one()
{
	int_keep sh -c 'echo 1 >one'
	one=$sid
	atf_check -o inline:"session $one: 1 file landed; \"sbxctl rm $one\" removes the session\n" \
	    here sbxctl apply --yes
	atf_check -o match:"^session  *$one" here sbxctl show
	int_keep sh -c 'echo 2 >two; echo o >x.o'
	atf_check -o match:'^\+2$' here sbxctl diff
	atf_check -o match:'A  two' here sbxctl changes
	# It still has what does not land.
	atf_check -o match:"^session $sid: 1 file landed; \"sbxctl rm --discard $sid\"" \
	    here sbxctl apply --yes
	atf_check -o match:"^session  *$sid" here sbxctl show
	# One that runs counts, and two that wait are two.
	int_live live sh -c 'echo 3 >three; exec cat'
	int_refused 1 'of several sessions: name one:' here sbxctl apply --yes
	atf_check -o ignore sbxctl rm --discard "$(sbxctl ls |
	    awk -v p="$P" -v one="$one" 'index($0, p) && /ended/ && $1 != one {
	    print $1 }')"
	int_wait sh -c "cd $P; sbxctl changes | grep -q 'A  three'"
	atf_check -o inline:"session $sid: 1 file landed\n" here sbxctl apply --yes
	exec 9>&-
	wait "$live" || :
	# Where all are through it is not said which is meant.
	int_refused 1 'of several sessions' here sbxctl rm
	atf_check -o ignore sbxctl rm "$one"
	atf_check -o ignore sbxctl rm "$sid"
}
again_body()
{
	int_begin
	# here COMMAND...: in the project.
	printf '#!/bin/sh\ncd "$P" && exec "$@"\n' >"$SBX_SCRATCH/bin/here"
	chmod 0755 "$SBX_SCRATCH/bin/here"
	int_each again_one
	int_end
}

atf_test_case ending
ending_head()
{
	atf_set descr "rm of a session whose command has just ended waits for \
the rest"
	atf_set require.user root
}
ending_one()
{
	sid=$(cd "$P" && sbxctl new $AS -- sleep 1000)
	# It cannot come to its end meanwhile.
	mountds=$(int_pids mountd)
	# shellcheck disable=SC2086
	kill -STOP $mountds
	sbxctl kill "$sid" >kill.out 2>&1 &
	killer=$!
	int_wait sh -c "sbxctl ls | grep -q '^$sid .* ending '"
	sbxctl rm "$sid" >rm.out 2>rm.err &
	rm=$!
	# It has asked, and waits.
	int_wait sh -c "grep -q '^State:.S' /proc/$rm/status"
	sbxctl ls | grep -q "^$sid .* ending " || atf_fail "it is gone"
	kill -0 "$rm" || atf_fail "$(cat rm.out rm.err)"
	# shellcheck disable=SC2086
	kill -CONT $mountds
	wait "$rm" || atf_fail "$(cat rm.out rm.err)"
	atf_check -o inline:"session $sid: removed\n" cat rm.out
	atf_check -o empty cat rm.err
	wait "$killer" || atf_fail "$(cat kill.out)"
}
ending_body()
{
	int_begin
	int_both ending_one
	int_end
}

atf_test_case removed
removed_head()
{
	atf_set descr "rm: refused while changes wait, all gone with --discard"
	atf_set require.user root
}
removed_one()
{
	before=$(sbx_tree "$P")
	int_keep sh -c 'echo x >f; mkdir d; echo y >d/g; chmod 0 d'
	int_refused 1 --discard sbxctl rm "$sid"
	int_state_check "$sid"
	atf_check -o save:rm.json sbxctl rm --discard --json "$sid"
	int_json rm.json "o == {'session': '$sid', 'removed': True}"
	int_state_check
	int_same "$before" "$(sbx_tree "$P")"
	int_refused 1 "$sid" sbxctl show "$sid"
	# After a landing there is nothing left to refuse for.
	int_keep sh -c 'echo x >f'
	atf_check -o ignore sbxctl apply --yes "$sid"
	atf_check -o match:removed sbxctl rm "$sid"
	int_state_check
	# What cannot land waits as well.
	int_keep mkfifo p
	int_refused 1 --discard sbxctl rm "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	# A layer that is wide, deep, and made unpleasant.
	int_keep sh -c 'd=.; for i in $(seq 60); do
	    d=$d/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done
	    mkdir -p $d; : >$d/f; for i in $(seq 2000); do : >w$i; done
	    mkdir r; : >r/f; chmod 0 r'
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_state_check
}
removed_body()
{
	int_begin
	int_each removed_one
	int_end
}

atf_test_case owned
owned_head()
{
	atf_set descr "the user that root's session runs as looks at it, and \
neither lands, discards nor removes it"
	atf_set require.user root
}
owned_body()
{
	int_begin
	chmod 0666 "$SBX_STATE/sbxd.sock"
	int_who user
	int_keep sh -c 'echo x >f'
	cd / || atf_fail cd
	atf_check -o match:"A  f" sbx-as "$int_user" sbxctl changes "$sid"
	for c in 'apply --yes' 'discard --yes' rm 'rm --discard'; do
		# shellcheck disable=SC2086 # words
		int_refused 1 "belongs to root (uid 0)" sbx-as "$int_user" sbxctl $c "$sid"
	done
	atf_check -o match:"A  f" sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	# Its own it removes.
	sbx-as "$int_user" sh -c 'exec sbxctl run --repo "$0" --keep -- sh -c \
	    "echo y >f"' "$P" >own.out 2>own.err || atf_fail "$(cat own.err)"
	int_kept own.err
	atf_check -o ignore sbx-as "$int_user" sbxctl rm --discard "$sid"
	int_state_check
	int_end
}

atf_test_case doctor
doctor_head()
{
	atf_set descr "doctor and version, with a suite and without"
	atf_set require.user root
}
doctor_body()
{
	int_tools
	int_clean_mark
	atf_check -o match:'^no suite is running' sbxctl version
	atf_check -o save:v.json sbxctl version --json
	int_json v.json 'o["suite"] is None' 'o["protocol"] == 1'
	atf_check -o save:text sbxctl doctor
	atf_check -o match:'^ok  *kernel' -o match:'sessions can run here' \
	    -o not-match:'^fail' cat text
	int_clean_check
	int_suite
	atf_check -o match:"at $SBX_STATE/sbxd.sock" sbxctl version
	# A suite of root's, of which others know that it is one.
	sbx_user other
	for c in ls version; do
		atf_check -s exit:1 -o empty -e match:'you may not use this' \
		    sbx-as "$other" env SBX_STATE="$SBX_STATE" sbxctl $c
	done
	atf_check -o save:v.json sbxctl version --json
	int_json v.json "o['suite']['socket'] == '$SBX_STATE/sbxd.sock'"
	atf_check -o save:d.json sbxctl doctor --json
	int_json d.json 'o["ok"] is True' \
	    'any(c["what"] == "state" for c in o["checks"])' \
	    'len([c for c in o["checks"] if c["level"] == "ok"]) >= 5' \
	    'all(c["text"] for c in o["checks"])'
	# Two at the same time get an answer each.
	sbxctl doctor >one &
	atf_check -o save:two sbxctl doctor
	wait $! || atf_fail "the other doctor"
	atf_check diff one two
	int_end
	# What it leaves of its socket is taken for no suite.
	atf_check test -S "$SBX_STATE/sbxd.sock"
	atf_check -o match:'^no suite is running' \
	    sbx-as "$other" env SBX_STATE="$SBX_STATE" sbxctl version
}

atf_init_test_cases()
{
	atf_add_test_case listed
	atf_add_test_case named
	atf_add_test_case again
	atf_add_test_case ending
	atf_add_test_case removed
	atf_add_test_case owned
	atf_add_test_case doctor
}
