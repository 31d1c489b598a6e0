# A keystroke's echo in one session while another one writes as fast as it can.
# needs: the machine
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

ECHO_BATCHES=7	# of 100 keystrokes each, idle and not in turns

# The typist's script: the batches, each at the word of the other terminal.
echo_steps()
{
	echo 'expect ready'
	echo 'echoes 100'	# not counted: all is read in for the first time
	for i in $(seq "$ECHO_BATCHES"); do
		printf '%s\n' 'sleep 300' 'echoes 100' "touch $PWD/wanted.$i" \
		    "await $PWD/flood.$i" 'sleep 300' 'echoes 100' \
		    "touch $PWD/enough.$i" "await $PWD/dry.$i"
	done
	printf '%s\n' 'send \x03' end
}

# echo_flood I: another session, until the typist has had enough.
echo_flood()
{
	until [ -e "wanted.$1" ]; do
		kill -0 "$typist" || atf_fail "$(cat typist.err)"
		sleep 0.05
	done
	printf '%s\n' 'expect flood' forget "touch $PWD/flood.$1" \
	    "await $PWD/enough.$1" 'amount 1000000' hangup end >steps
	# Its status is the hang-up's.
	pty -w 60 steps run -- sh -c 'echo flood; exec cat /dev/zero' \
	    >/dev/null 2>flood.err || [ $? -ne 99 ] ||
	    atf_fail "the flood: $(cat flood.err)"
	touch "dry.$1"
}

# echo_middle 0|1: the median of p99 of the batches without, with a flood.
echo_middle()
{
	awk -v which="$1" '/^p99 / && n++ && n % 2 == which { print $2 }' \
	    typist.err | sort -n | sed -n "$(((ECHO_BATCHES + 1) / 2))p"
}

# echo_round: true where it is as it should be.
echo_round()
{
	rm -f wanted.* flood.* enough.* dry.*
	echo_steps >typist
	pty -w 60 typist run -- sh -c \
	    'stty -icanon min 1; echo ready; exec cat >/dev/null' \
	    >typist.out 2>typist.err &
	typist=$!
	for i in $(seq "$ECHO_BATCHES"); do
		echo_flood "$i"
	done
	wait "$typist" || [ $? -eq 130 ] ||
	    atf_fail "the typist: $(cat typist.err)"
	idle=$(echo_middle 0) busy=$(echo_middle 1)
	echo "p99 of an echo: $idle us, beside a flood $busy us"
	# Two more milliseconds are a turn of somebody else's.
	[ "$busy" -le $((3 * idle + 2000)) ]
}

atf_test_case beside_a_flood
beside_a_flood_head()
{
	atf_set descr "p99 of 700 echoes beside a flood is at most three times \
that of 700 without"
	atf_set require.user root
	atf_set timeout 300
}
beside_a_flood_body()
{
	int_begin
	int_who root
	# What else the machine does may come and go with the floods.
	echo_round || echo_round || echo_round ||
	    atf_fail "$busy us beside a flood, $idle us without"
	int_end
}

atf_init_test_cases()
{
	atf_add_test_case beside_a_flood
}
