# The benchmarks' report: what docs/performance.md gets.

# measured FILE KERNEL: of one missed target and of one that has none.
measured()
{
	cat >"$1" <<-EOT
	{"machine": {"model": "a processor", "processors": 2,
	  "memory_mib": 1000, "kernel": "$2", "filesystem": "ext4",
	  "scheduling": ""},
	 "load": 0.5, "date": "2026-01-02", "pairs": 30, "rows": [
	 {"what": "a start", "unit": "ms", "n": 30, "ours": 6.0,
	  "spread": [5.5, 6.5], "peer": "other", "theirs": 4.0,
	  "their_spread": [3.5, 4.5], "ratio": 1.5, "limit": 1.3,
	  "low": false, "reached": false},
	 {"what": "bytes", "unit": "MB/s", "n": 30, "ours": 900.0,
	  "spread": [880.0, 910.0], "peer": "pty", "theirs": 1000.0,
	  "their_spread": [990.0, 1010.0], "ratio": 0.9, "limit": 0.8,
	  "low": true, "reached": true},
	 {"what": "memory", "unit": "MiB", "n": 1, "ours": 0.214,
	  "spread": null}]}
	EOT
}

atf_test_case report
report_head()
{
	atf_set descr "bench/report: the table, what is missed, and its place"
}
report_body()
{
	measured one.json 6.18
	atf_check -o save:out "$SBX_SRC/bench/report" one.json
	while read -r line; do
		atf_check -o ignore grep -xF -- "$line" out
	done <<-'EOT'
	Machine: a processor, 2 processors, 1000 MiB; Linux 6.18; ext4.
	2026-01-02; 30 pairs; load before: 0.50.
	| a start, ms | 6.00 (5.50-6.50) | other 4.00 (3.50-4.50) | 1.50 | at most 1.3 times: **missed** |
	| bytes, MB/s | 900 (880-910) | pty 1000 (990-1010) | 0.90 | at least 0.8 times: reached |
	| memory, MiB | 0.21 |  |  |  |
	Targets that are not met: a start.
	EOT
	measured other.json 6.19
	atf_check -s exit:1 -e match:'different machines' \
	    "$SBX_SRC/bench/report" one.json other.json
	cp "$SBX_SRC/docs/performance.md" doc
	for i in 1 2; do
		atf_check "$SBX_SRC/bench/report" --into doc one.json
		atf_check -o inline:'1\n' grep -c '^Machine: ' doc
	done
	atf_check -o ignore grep -F '## What each row is' doc
	echo "no marks" >doc
	atf_check -s exit:1 -e match:'marks' \
	    "$SBX_SRC/bench/report" --into doc one.json
	atf_check -o inline:'no marks\n' cat doc
}

atf_init_test_cases()
{
	atf_add_test_case report
}
