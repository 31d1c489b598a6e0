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
	atf_check -s exit:1 -o empty \
	    -e match:"^sbxctl: $SBX_STATE/sbxd.sock: the suite has not answered for 30 seconds" \
	    timeout 50 sbxctl ls
	atf_check -s exit:125 -o empty \
	    -e match:"^sbxctl: $SBX_STATE/sbxd.sock: the suite has not answered for 60 seconds" \
	    timeout 90 sbxctl run true
	kill "$fake"
}

atf_init_test_cases() {
	atf_add_test_case mute
}
