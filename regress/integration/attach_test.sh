# new and attach: a session that runs without anybody, and people at it.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# att_new NAME [OPTION...] COMMAND...: a session of that name; its id is $sid.
att_new()
{
	att_name=$1
	shift
	sid=$(cd "$P" && sbxctl new $AS --repo "$P" --name "$att_name" "$@") ||
	    atf_fail "new: status $?"
	expr "$sid" : '[a-z2-7]\{12\}$' >/dev/null ||
	    atf_fail "no id: $sid"
}

# att_at NAME COMMAND...: a terminal that goes by the steps on stdin, in the
# background; what it has shown is in NAME.out. All end by att_wait NAME, which
# sets $status.
att_at()
{
	att_t=$1
	shift
	cat >"$att_t.steps"
	(TERM=xterm LC_ALL=C.UTF-8 exec pty ${ATT_SIZE--r 30 -c 100} \
	    "$att_t.steps" "$@") >"$att_t.out" 2>"$att_t.err" &
	eval "att_pid_$att_t=$!"
}
att_wait()
{
	for att_t in "$@"; do
		status=0
		eval "wait \$att_pid_$att_t" || status=$?
		if [ "$status" -eq 99 ]; then
			cat "$att_t.out" "$att_t.err" >&2
			atf_fail "terminal $att_t did not go that way"
		fi
	done
}
att_one()
{
	att_at one "$@"
	att_wait one
}

# att_end [STATUS]: the session in $sid ends, and so; it is removed.
att_end()
{
	int_wait sh -c "sbxctl ls | grep -q '^$sid .*ended ${1-0} '"
	atf_check -o ignore sbxctl rm --discard "$sid"
}

atf_test_case detached
detached_head()
{
	atf_set descr "new, attach, detach, come back, and the end"
	atf_set require.user root
}
detached_one()
{
	att_new alone sh -c 'echo begun; while read -r l; do echo "got $l"
	    [ "$l" = go ] && exit 7; done'
	atf_check_equal running "$(int_state alone)"
	# What was written with nobody there comes first.
	att_one sbxctl attach "$sid" <<-'EOT'
		expect begun
		send one\n
		expect got one
		send \x1c
		expect runs on
		end
	EOT
	atf_check_equal 0 "$status"
	atf_check_equal running "$(int_state alone)"
	# By its name; the terminal goes; it is not the session's affair.
	att_one sbxctl attach alone <<-'EOT'
		expect begun
		expect got one
		send two\n
		expect got two
		hangup
		end
	EOT
	atf_check_equal 129 "$status"
	att_one sh -c "cd '$P' && exec sbxctl attach" <<-'EOT'
		expect got two
		signal 15
		end
	EOT
	atf_check_equal 143 "$status"
	atf_check_equal running "$(int_state alone)"
	att_one sh -c 'stty -g >before; sbxctl attach "$0"; s=$?; stty -g >after
	    exit $s' "$sid" <<-'EOT'
		expect got two
		send go\n
		expect got go
		expect ended with status 7
		end
	EOT
	atf_check_equal 7 "$status"
	atf_check cmp before after
	att_end 7
	int_state_check
}
detached_body()
{
	int_begin
	int_both detached_one
	int_end
}

atf_init_test_cases()
{
	atf_add_test_case detached
}
