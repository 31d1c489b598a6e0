# Reviews and landings while the session runs.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

atf_test_case ghosts
ghosts_head()
{
	atf_set descr "after a landing a live session shows no ghosts, and the \
owner's later edits"
	atf_set require.user root
	atf_set timeout 120
}
# in_session WORDS: the session's shell does it; its output is awaited.
in_session()
{
	int_turn=$((${int_turn:-0} + 1))
	printf '%s\necho "<%s>"\n' "$1" "$int_turn" >&9
	int_wait_file "$int_name.out" "^<$int_turn>\$"
	# What came since the turn before.
	sed -n "/^<$((int_turn - 1))>\$/,/^<$int_turn>\$/p" "$int_name.out" |
	    sed '/^<[0-9]*>$/d' >said
	[ "$int_turn" -gt 1 ] || sed '/^<1>$/,$d' "$int_name.out" >said
}
ghosts_one()
{
	int_turn=0
	mkdir -p "$P/gone/deep" "$P/dir"
	for f in gone/1 gone/deep/2 dir/a dir/b; do echo "$f" >"$P/$f"; done
	chown -R --reference="$P" "$P"
	sleep 0.05
	int_live ghosts sh
	in_session 'echo in >>a.txt; rm -r gone; mkdir new; echo n >new/n
	    mv src moved; echo x >dir/c; rm dir/b; ln -sf q link'
	atf_check -o match:'M  a.txt' -o match:'A  new/n' sbxctl changes "$sid"
	atf_check -o match:landed sbxctl apply --yes "$sid"
	atf_check test ! -e "$P/gone" -a -f "$P/moved/main.c" -a -f "$P/dir/c"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	# Inside it is as outside: names and bytes.
	in_session 'find . -name .git -prune -o -print | sort; cat a.txt'
	atf_check -o file:said sh -c "cd $P && find . -name .git -prune -o \
	    -print | sort; cat a.txt"
	# The owner goes on: edits in place, by rename, deletes, creates.
	as=$(stat -c %U "$P")
	echo owner1 >>"$P/a.txt"
	echo owner2 >"$P/t" && mv "$P/t" "$P/new/n"
	rm "$P/dir/c"
	mkdir "$P/gone"
	echo again >"$P/gone/1"
	chown -R "$as:" "$P/gone" "$P/new/n"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	in_session 'find . -name .git -prune -o -print | sort; cat a.txt \
	    new/n gone/1'
	atf_check -o file:said sh -c "cd $P && find . -name .git -prune -o \
	    -print | sort; cat a.txt new/n gone/1"
	# And so does the session: on top of its own landing that lands again,
	# on top of the owner's it is the owner's to say.
	in_session 'echo in2 >>moved/main.c; rm dir/a; echo in3 >>a.txt'
	atf_check -o match:'M  a.txt  .*DRIFTED' -o match:'M  moved/main.c' \
	    -o match:'D  dir/a' -o match:'^3 files changed' \
	    sbxctl changes "$sid"
	atf_check -s exit:1 -o ignore -e match:a.txt sbxctl apply --yes "$sid"
	atf_check -o match:discarded sh -c \
	    "cd $P && sbxctl discard --yes $sid a.txt"
	in_session 'cat a.txt'
	atf_check -o match:owner1 -o not-match:in3 cat said
	atf_check -o match:'2 files landed' sbxctl apply --yes "$sid"
	atf_check -o match:in2 cat "$P/moved/main.c"
	atf_check test ! -e "$P/dir/a"
	printf 'exit\n' >&9
	exec 9>&-
	wait "$live" || atf_fail "$(cat ghosts.err)"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm "$sid"
}
ghosts_body()
{
	int_begin
	# Without handles of what was copied, as in a user's own suite, folders
	# that the owner goes on in count as others.
	int_both ghosts_one
	int_end
}

atf_test_case frozen
frozen_head()
{
	atf_set descr "frozen while it is landed, thawed after it: its process \
goes on, what it writes is whole"
	atf_set require.user root
	atf_set timeout 120
}
frozen_one()
{
	# Two files that are always written one after the other: a landing
	# between them would show.
	cat >"$tools/writer" <<-'EOT'
		import os
		n = 0
		while not os.path.exists("stop"):
		    n += 1
		    for f in "one", "two":
		        with open(f + ".new", "w") as o:
		            o.write("%d\n" % n * 2000)
		        os.rename(f + ".new", f)
		    with open("count", "w") as o:
		        o.write("%d\n" % n)
	EOT
	int_live frozen python3 "$tools/writer"
	int_wait sh -c "sbxctl changes $sid | grep -q 'A  two'"
	last=0
	for i in 1 2 3 4 5; do
		atf_check -o match:landed sbxctl apply --yes "$sid"
		for f in one two; do
			atf_check_equal 2000 "$(grep -c . "$P/$f")"
			atf_check_equal 1 "$(sort -u "$P/$f" | wc -l)"
		done
		one=$(head -n 1 "$P/one") two=$(head -n 1 "$P/two")
		[ "$one" -eq "$two" ] || [ "$one" -eq $((two + 1)) ] ||
		    atf_fail "one is $one, two $two"
		# It has gone on since the last time.
		[ "$one" -gt "$last" ] || atf_fail "it stands at $one"
		last=$one
		sleep 0.2
	done
	atf_check -o match:running sbxctl show "$sid"
	touch "$P/stop"
	chown --reference="$P" "$P/stop"
	# A look refreshes: the session sees the owner's file.
	atf_check -o ignore sbxctl changes "$sid"
	exec 9>&-
	int_wait sh -c "sbxctl ls | grep -q '^$sid .*ended'"
	wait "$live" || atf_fail "$(cat frozen.err)"
	atf_check -o match:landed sbxctl apply --yes "$sid"
	atf_check test "$(cat "$P/count")" -ge "$last"
}
frozen_body()
{
	int_begin
	int_users frozen_one
	int_end
}

atf_test_case open
open_head()
{
	atf_set descr "what a process holds open through a landing is not lost"
	atf_set require.user root
}
open_one()
{
	int_live open sh -c 'echo first >log; exec "$0" held log last' \
	    "$tools/fs"
	int_wait_file open.out open
	atf_check -o match:landed sbxctl apply --yes "$sid"
	atf_check -o inline:'first\n' cat "$P/log"
	echo go >&9
	exec 9>&-
	wait "$live" || atf_fail "$(cat open.out open.err)"
	# In the session's layer, or seen as its change: not on the real file
	# unasked, and not gone.
	atf_check -o inline:'first\n' cat "$P/log"
	atf_check -o match:'M  log' sbxctl changes "$sid"
	atf_check -o match:'1 file landed' sbxctl apply --yes "$sid"
	atf_check -o inline:'first\nlast' cat "$P/log"
}
open_body()
{
	int_begin
	int_users open_one
	int_end
}

atf_test_case discarded
discarded_head()
{
	atf_set descr "discard is real in a live session"
	atf_set require.user root
}
discarded_one()
{
	int_turn=0
	before=$(int_bytes "$P")
	int_live disc sh
	in_session 'echo in >>a.txt; rm Makefile; mv src srcs; mkdir n
	    echo 1 >n/1; echo q >q'
	atf_check -o match:'1 change discarded' sh -c \
	    "cd $P && sbxctl discard --yes $sid a.txt"
	in_session 'cat a.txt'
	atf_check -o inline:'one\ntwo\nthree\n' cat said
	echo owner >>"$P/a.txt"
	in_session 'cat a.txt; ls q'
	atf_check -o match:owner -o match:'^q$' cat said
	printf 'one\ntwo\nthree\n' >"$P/a.txt"
	atf_check -o match:discarded sbxctl discard --yes "$sid"
	in_session 'find . -name .git -prune -o -print | sort; cat Makefile'
	atf_check -o file:said sh -c "cd $P && find . -name .git -prune -o \
	    -print | sort; cat Makefile"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	# It goes on as if nothing had been.
	in_session 'echo z >src/z; echo in >>a.txt; mkdir n; echo 3 >n/3'
	atf_check -o match:'A  src/z' -o match:'M  a.txt' -o match:'A  n/3' \
	    -o match:'^3 files' sbxctl changes "$sid"
	atf_check -o match:discarded sbxctl discard --yes "$sid"
	printf 'exit\n' >&9
	exec 9>&-
	wait "$live" || atf_fail "$(cat disc.err)"
	int_same "$before" "$(int_bytes "$P")"
	atf_check -o ignore sbxctl rm "$sid"
}
discarded_body()
{
	int_begin
	int_each discarded_one
	int_end
}

atf_test_case refreshed
refreshed_head()
{
	atf_set descr "the owner's edits reach a live session: in place at \
once, by rename with the next look"
	atf_set require.user root
}
refreshed_one()
{
	int_turn=0
	int_live fresh sh
	in_session 'cat a.txt Makefile src/main.c; ls; ls src'
	echo owner >>"$P/a.txt"
	in_session 'cat a.txt'
	atf_check -o match:owner cat said
	echo owner >"$P/m" && chown --reference="$P" "$P/m"
	mv "$P/m" "$P/Makefile"
	rm "$P/src/main.c"
	echo fresh >"$P/src/fresh"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	in_session 'cat Makefile; ls src'
	atf_check -o inline:'owner\nfresh\n' cat said
	exec 9>&-
	wait "$live" || atf_fail "$(cat fresh.err)"
}
refreshed_body()
{
	int_begin
	int_users refreshed_one
	int_end
}

atf_test_case dropped
dropped_head()
{
	atf_set descr "a review that is given up before its session is frozen \
leaves it thawed, and is not the next one's freeze"
	atf_set require.user root
	atf_set timeout 120
}
dropped_one()
{
	int_live dropped sh -c 'echo new >~/new; echo up; cat'
	int_wait grep -q up dropped.out
	suite=$sbx_suite
	[ "$SBX_STATE" = "$int_root_state" ] || suite=$int_own_suite
	spawn=$(pgrep -P "$suite" -x spawn)
	kill -STOP "$spawn"
	client "$SBX_STATE/sbxd.sock" outside "$sid" >outside.out 2>&1 9>&- &
	outside=$!
	int_wait_file outside.out asked
	# The list waits for who makes its child, and nobody for the list.
	atf_check -o inline:'beside it\n' timeout 10 \
	    sbxctl exec "$sid" echo beside it 9>&-
	kill -0 "$outside" || atf_fail "$(cat outside.out)"
	kill -CONT "$spawn"
	wait "$outside" || atf_fail "$(cat outside.out)"
	atf_check -o match:'^END$' cat outside.out
	# Nothing looks at it meanwhile: that would thaw it.
	atf_check -o inline:'goes on\n' timeout 10 \
	    sbxctl exec "$sid" echo goes on 9>&-
	echo line >&9
	int_wait grep -q line dropped.out
	exec 9>&-
	wait "$live" || atf_fail "$(cat dropped.err)"
	atf_check -o ignore sbxctl rm "$sid"
}
dropped_body()
{
	int_begin
	int_users dropped_one
	int_end
}

atf_init_test_cases()
{
	for c in ghosts frozen dropped open discarded refreshed; do
		atf_add_test_case "$c"
	done
}
