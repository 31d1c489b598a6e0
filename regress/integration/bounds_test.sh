. "$SBX_SRC/regress/integration/lib.sh"

# hides N: run with that many hidden paths, each of some fifty bytes.
hides()
{
	long=$(printf %040d 0) i=$1
	set -- -- sh -c 'echo x >>a.txt'
	while [ "$i" -gt 0 ]; do
		set -- --hide "/srv/none/$i/$long" "$@"
		i=$((i - 1))
	done
	run --keep "$@"
}

# words N: run with that many arguments of 127 KiB each.
words()
{
	long=$(printf %0130000d 0) i=$1
	set --
	while [ "$i" -gt 0 ]; do
		set -- "$@" "$long"
		i=$((i - 1))
	done
	# A quarter of it is the room for arguments.
	# shellcheck disable=SC3045 # any shell that is /bin/sh has it
	ulimit -s 65536
	run -- true "$@"
}

atf_test_case lists
lists_head()
{
	atf_set descr "lists that do not fit a message are refused, and no \
client ends the suite with them"
	atf_set require.user root
	atf_set timeout 120
}
lists_body()
{
	int_begin
	int_who root
	int_refused 125 'hidden paths are too long' hides 1200
	# As many as do fit: a review carries them on.
	hides 600 2>kept || atf_fail "$(cat kept)"
	sid=$(sbxctl ls | awk 'NR == 2 { print $1 }')
	atf_check -o match:'M  a.txt' sbxctl changes "$sid"
	atf_check -o match:'1 file landed' sbxctl apply --yes "$sid"
	int_refused 125 'environment and paths are too long' words 31
	words 12 || atf_fail "12 long words"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
}

atf_test_case reader
reader_head()
{
	atf_set descr "a reader that goes away in the middle of a patch \
leaves its session free"
	atf_set require.user root
}
reader_body()
{
	int_begin
	int_who root
	atf_check -e match:'is kept' run --keep sh -c 'seq 2000000 >n; seq 9 >m'
	sid=$(sbxctl ls | awk 'NR == 2 { print $1 }')
	atf_check client "$SBX_STATE/sbxd.sock" leave "$sid"
	int_wait sbxctl changes "$sid" >changes
	atf_check -o match:'A  m' cat changes
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
}

atf_test_case interrupted
interrupted_head()
{
	atf_set descr "a landing that could not be recovered is not \
overwritten by the next one"
	atf_set require.user root
}
interrupted_body()
{
	int_begin
	int_who root
	atf_check -e match:'is kept' run --keep sh -c 'echo x >>a.txt'
	sid=$(sbxctl ls | awk 'NR == 2 { print $1 }')
	# A journal that no recovery can take.
	echo broken >"$SBX_STATE/sbxd/$sid/journal"
	chown --reference="$SBX_STATE/sbxd/$sid" "$SBX_STATE/sbxd/$sid/journal"
	for do in changes 'apply --yes' 'discard --yes' diff rm; do
		# shellcheck disable=SC2086
		int_refused 1 'the journal of session' sbxctl $do "$sid"
		atf_check -o inline:'broken\n' cat "$SBX_STATE/sbxd/$sid/journal"
	done
	# An empty one was never begun.
	: >"$SBX_STATE/sbxd/$sid/journal"
	atf_check -o match:'1 file landed' sbxctl apply --yes "$sid"
	atf_check -o match:'result=ok actor=uid:0$' tail -n 1 \
	    "$SBX_STATE/sbxd/audit"
	# What cannot be recovered can be removed by who says so.
	echo broken >"$SBX_STATE/sbxd/$sid/journal"
	chown --reference="$SBX_STATE/sbxd/$sid" "$SBX_STATE/sbxd/$sid/journal"
	int_refused 1 'the journal of session' sbxctl rm --discard "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
}

atf_test_case leftovers
leftovers_head()
{
	atf_set descr "a suite that was killed leaves no worker's socket for good"
	atf_set require.user root
}
leftovers_body()
{
	int_begin
	int_who root
	int_live left sleep 100
	atf_check test -S "$SBX_STATE/sbxd/w/$sid"
	pkill -KILL -x sbxd
	exec 9>&-
	wait "$live"
	int_suite
	int_wait test ! -e "$SBX_STATE/sbxd/w/$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
	int_end
}

atf_init_test_cases()
{
	atf_add_test_case lists
	atf_add_test_case reader
	atf_add_test_case interrupted
	atf_add_test_case leftovers
}
