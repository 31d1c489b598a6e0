# A little fuzzing, from inputs made of the message list; the fuzzers,
# which check-long has built, run for as long as one likes (fuzz/rules.mk).

fuzz_run()
{
	b=$SBX_BUILDDIR/fuzz
	[ -x "$b/$1" ] || atf_fail "$b/$1 is not there: type make fuzz"
	atf_check "$b/seeds" seeds fields imsg escape conf
	[ "$(find "seeds/$1" -type f | wc -l)" -gt 3 ] ||
	    atf_fail "no inputs for $1"
	mkdir found
	if ! "$b/$1" -max_total_time=10 -timeout=5 \
	    -rss_limit_mb=1024 -max_len=70000 -print_final_stats=1 \
	    -artifact_prefix="$PWD/" found \
	    "seeds/$1" >fuzz.log 2>&1; then
		tail -n 60 fuzz.log
		for f in crash-* leak-* oom-* timeout-*; do
			[ -e "$f" ] && { echo "$f:"; od -c "$f" | head -n 40; }
		done
		atf_fail "$1"
	fi
	n=$(sed -n 's/^stat::number_of_executed_units: *//p' fuzz.log)
	[ "${n:-0}" -gt 500 ] || atf_fail "$1: only $n inputs tried"
}

for f in fields imsg escape conf; do
	atf_test_case $f
	eval "${f}_head() { atf_set descr '10 seconds of fuzz/$f'; \
	    atf_set timeout 600; }"
	eval "${f}_body() { fuzz_run $f; }"
done

atf_init_test_cases()
{
	for f in fields imsg escape conf; do
		atf_add_test_case $f
	done
}
