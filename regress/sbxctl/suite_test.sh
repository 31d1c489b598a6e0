# What answers on the socket is not what it should be: one line each, the
# right exit status, in bounded time, and nothing else is started.

fake_start() {
	sbx_fake "$1"
}

# broken HOW LINE-PATTERN
broken() {
	fake_start "$1"
	for c in "ls" "run true"; do
		want=1
		[ "$c" = ls ] || want=125
		# shellcheck disable=SC2086
		atf_check -s exit:$want -o empty -e save:err timeout 20 sbxctl $c
		[ "$(wc -l <err)" -eq 1 ] || atf_fail "not a line: $(cat err)"
		grep -q -e "^sbxctl: $2" err ||
		    atf_fail "$1, $c: $(cat err), not: $2"
	done
	sbx_fake_stop
}

atf_test_case garbage
garbage_body() {
	broken garbage "$SBX_STATE/sbxd.sock: .* instead of HELLO"
}

atf_test_case version
version_body() {
	broken version "$SBX_STATE/sbxd.sock: the suite (.*) speaks protocol 2, this sbxctl .* 1: use"
}

atf_test_case oversize
oversize_body() {
	broken long "$SBX_STATE/sbxd.sock: a length out of bounds instead of HELLO"
}

atf_test_case denied
denied_body() {
	broken denied 'sbxd.conf gives this uid no role$'
}

atf_test_case wrong
wrong_body() {
	broken wrong "$SBX_STATE/sbxd.sock: broken answer: a message that this peer may not send"
}

atf_test_case half
half_body() {
	broken half "$SBX_STATE/sbxd.sock: closed in the middle of a message instead of HELLO"
}

# It goes away before it has said anything: a suite that has just ended.
# Another is started, which on root's state this user may not.
atf_test_case close
close_body() {
	sbx_user user
	fake_start close
	chmod 666 "$SBX_STATE/sbxd.sock"
	# shellcheck disable=SC2154
	atf_check -s exit:1 -o empty \
	    -e match:"^sbxctl: SBX_STATE=$SBX_STATE: no suite listens there, and the state is uid 0.s" \
	    sbx-as "$user" env SBX_STATE="$SBX_STATE" timeout 20 sbxctl ls
	sbx_fake_stop
}

atf_test_case silent
silent_head() {
	atf_set timeout 60
}
silent_body() {
	broken silent "$SBX_STATE/sbxd.sock: the suite does not answer (10 seconds)"
}

# SBX_STATE names the socket, and nothing else is tried.
atf_test_case places
places_body() {
	SBX_STATE=relative atf_check -s exit:1 \
	    -e match:'^sbxctl: SBX_STATE=relative: not an absolute path' \
	    sbxctl ls
	SBX_STATE=/$(printf '%05000d' 1) atf_check -s exit:1 \
	    -e match:'^sbxctl: SBX_STATE=/000.*: longer than' sbxctl ls
	# A path that a socket address cannot hold.
	long=$SBX_SCRATCH/$(printf '%0150d' 1)/$(printf '%0150d' 2)
	mkdir -p "$long"
	SBX_STATE=$long
	export SBX_STATE
	fake_start suite
	atf_check -o match:'^aaaabbbbcccc ' sbxctl ls
	sbx_fake_stop
	# A plain file, and a socket that nobody listens on.
	SBX_STATE=$SBX_SCRATCH/other
	mkdir "$SBX_STATE"
	fake_start suite
	kill "$fake"
	wait "$fake" 2>/dev/null
	sbx_user user
	chmod 755 "$SBX_STATE"
	chmod 666 "$SBX_STATE/sbxd.sock"
	# shellcheck disable=SC2154
	gone="^sbxctl: SBX_STATE=$SBX_STATE: no suite listens there, and the state is uid 0.s: have that one start it, or unset"
	atf_check -s exit:1 -e match:"$gone" \
	    sbx-as "$user" env SBX_STATE="$SBX_STATE" sbxctl ls
	# One that this user could not use if it were there, as an embedded
	# suite leaves it; whether others listen elsewhere is no matter.
	chmod 600 "$SBX_STATE/sbxd.sock"
	left=$SBX_STATE
	SBX_STATE=$SBX_SCRATCH/third
	mkdir "$SBX_STATE"
	fake_start suite
	atf_check -s exit:1 -e match:"$gone" \
	    sbx-as "$user" env SBX_STATE="$left" sbxctl ls
	atf_check -o match:'^no suite is running' \
	    sbx-as "$user" env SBX_STATE="$left" sbxctl version
	sbx_fake_stop
	# What this user may not even look at may be one.
	chmod 700 "$left"
	atf_check -s exit:1 \
	    -e inline:"sbxctl: $left/sbxd.sock: you may not use this suite: ask its administrator for access to the socket\n" \
	    sbx-as "$user" env SBX_STATE="$left" sbxctl ls
}

# The socket's mode says who may use it.
atf_test_case no_access
no_access_body() {
	fake_start suite
	chmod 600 "$SBX_STATE/sbxd.sock"
	sbx_user user
	# shellcheck disable=SC2154
	atf_check -s exit:1 -o empty \
	    -e match:"^sbxctl: $SBX_STATE/sbxd.sock: you may not use this suite" \
	    sbx-as "$user" env SBX_STATE="$SBX_STATE" sbxctl ls
	chmod 666 "$SBX_STATE/sbxd.sock"
	atf_check -o match:'^aaaabbbbcccc ' \
	    sbx-as "$user" env SBX_STATE="$SBX_STATE" sbxctl ls
	sbx_fake_stop
}

# version asks nobody it would have to start.
atf_test_case version_word
version_word_body() {
	atf_check -o match:'^sbxctl [0-9]' -o match:'^no suite is running' \
	    sbxctl version
	[ ! -e "$SBX_STATE" ] || atf_fail "something was started"
	# Its own commit is that of the source, if that has one.
	commit=$("$SBX_SRC/tools/commit")
	[ -z "$commit" ] || sbxctl version | grep -q \
	    "^sbxctl [0-9.]* (${commit%-dirty}\(-dirty\)*), protocol [0-9.]*\$" ||
	    atf_fail "not of $commit: $(sbxctl version)"
	fake_start suite
	atf_check -o match:"^sbxd .*at $SBX_STATE/sbxd.sock" sbxctl version
	atf_check -o match:'"commit": null' sbxctl version --json
	sbx_fake_stop
	FAKE=commit
	export FAKE
	fake_start suite
	atf_check -o match:"^sbxd 9.8.7 .0123456789ab-dirty., protocol 1.*, at $SBX_STATE/sbxd.sock" \
	    sbxctl version
	atf_check -o match:'^    "version": "9.8.7"' \
	    -o match:'^    "commit": "0123456789ab-dirty"' \
	    -o match:'^    "protocol": 1' sbxctl version --json
	sbx_fake_stop
}

atf_test_case foreign
foreign_head() {
	atf_set descr "nobody but root, or oneself, is taken for a suite"
	atf_set require.user root
}
foreign_body() {
	install -m 0755 "$SBX_BUILDDIR/regress/sbxctl/fake" "$SBX_SCRATCH/fake"
	export SBX_STATE="$SBX_SCRATCH/theirs"
	mkdir "$SBX_STATE"
	chown 34567 "$SBX_STATE"
	setpriv --reuid 34567 --clear-groups "$SBX_SCRATCH/fake" denied &
	fake=$!
	n=0
	until [ -S "$SBX_STATE/sbxd.sock" ]; do
		n=$((n + 1))
		[ $n -lt 100 ] || atf_fail "no scripted suite"
		sleep 0.05
	done
	for c in ls 'run true'; do
		# shellcheck disable=SC2086
		atf_check -s not-exit:0 -o empty \
		    -e match:'uid 34567 listens there, and not root' sbxctl $c
	done
	kill "$fake"
	wait "$fake" 2>/dev/null || :
}

atf_init_test_cases() {
	atf_add_test_case foreign
	atf_add_test_case garbage
	atf_add_test_case version
	atf_add_test_case oversize
	atf_add_test_case denied
	atf_add_test_case wrong
	atf_add_test_case half
	atf_add_test_case close
	atf_add_test_case silent
	atf_add_test_case places
	atf_add_test_case no_access
	atf_add_test_case version_word
}
