# A suite that says HELLO and then never answers anything.

atf_test_case mute
mute_head() {
	atf_set timeout 200
}
mute_body() {
	"$SBX_BUILDDIR/regress/sbxctl/fake" mute &
	fake=$!
	until [ -S "$SBX_STATE/sbxd.sock" ]; do
		sleep 0.05
	done
	# Both at once, since both are waited for.
	(
		status=0
		timeout 50 sbxctl ls >ls.out 2>ls.err || status=$?
		echo "$status" >ls.status
	) &
	ls=$!
	atf_check -s exit:125 -o empty \
	    -e match:"^sbxctl: $SBX_STATE/sbxd.sock: the suite has not answered for 60 seconds" \
	    timeout 90 sbxctl run true
	wait "$ls"
	atf_check -o inline:'1\n' cat ls.status
	atf_check cat ls.out
	atf_check \
	    -o match:"^sbxctl: $SBX_STATE/sbxd.sock: the suite has not answered for 30 seconds" \
	    cat ls.err
	kill "$fake"
}

atf_init_test_cases() {
	atf_add_test_case mute
}
