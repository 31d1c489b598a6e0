# Files that are large by their holes: seconds, and the holes stay.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# 100 GiB read or hashed byte by byte would take minutes.
quick() {
	quick_from=$(date +%s)
	atf_check "$@"
	quick_took=$(($(date +%s) - quick_from))
	[ "$quick_took" -le 10 ] || atf_fail "$quick_took s: $*"
}

# is_sparse FILE OFFSET=TEXT...: 100 GiB of holes with just these pieces.
is_sparse() {
	python3 - "$@" <<-'EOT' || atf_fail "$1 is another file"
		import os, sys
		fd = os.open(sys.argv[1], os.O_RDONLY)
		st = os.fstat(fd)
		assert st.st_size == 100 << 30, st.st_size
		assert st.st_blocks * 512 < 1 << 20, st.st_blocks
		want = {}
		for w in sys.argv[2:]:
		    off, text = w.split("=")
		    want[int(off)] = text.encode()
		at, got = 0, {}
		while True:
		    try:
		        at = os.lseek(fd, at, os.SEEK_DATA)
		    except OSError:
		        break
		    end = os.lseek(fd, at, os.SEEK_HOLE)
		    data = os.pread(fd, end - at, at)
		    left = data.lstrip(b"\0")
		    if left:
		        got[at + len(data) - len(left)] = left.rstrip(b"\0")
		    at = end
		assert got == want, (got, want)
	EOT
}

make_inside='truncate -s 100G big
    printf first | dd of=big bs=1 seek=5000000000 conv=notrunc status=none
    printf last | dd of=big bs=1 seek=107374182396 conv=notrunc status=none'
edit_inside='printf FIRST | dd of=big bs=1 seek=5000000000 conv=notrunc \
    status=none; printf more | dd of=big bs=1 seek=70000000000 conv=notrunc \
    status=none'

atf_test_case stopped
stopped_head()
{
	atf_set descr "100 GiB with two pieces of data: seen, landed, changed, \
discarded"
	atf_set require.user root
	atf_set timeout 120
}
stopped_body()
{
	int_begin
	int_who user
	int_keep sh -c "$make_inside"
	quick -o match:'A  big' -o match:'^1 file changed' sbxctl changes "$sid"
	atf_check -o ignore sbxctl patch -o p "$sid"
	atf_check -o match:'big is 107374182400 bytes, SHA-256 by blocks' \
	    head -n 2 p
	quick -o match:'1 file landed' sbxctl apply --yes "$sid"
	is_sparse "$P/big" 5000000000=first 107374182396=last
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm "$sid"
	# A landed one, edited: the review compares the two.
	int_keep sh -c "$edit_inside"
	quick -o match:'M  big' sbxctl changes "$sid"
	quick -o match:discarded sbxctl discard --yes "$sid"
	is_sparse "$P/big" 5000000000=first 107374182396=last
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm "$sid"
	int_keep sh -c "$edit_inside"
	quick -o match:'1 file landed' sbxctl apply --yes "$sid"
	is_sparse "$P/big" 5000000000=FIRST 70000000000=more 107374182396=last
	atf_check -o ignore sbxctl rm "$sid"
	# And one that is gone.
	int_keep rm big
	quick -o match:'1 file landed' sbxctl apply --yes "$sid"
	atf_check test ! -e "$P/big"
	atf_check -o ignore sbxctl rm "$sid"
	int_end
}

atf_test_case live
live_head()
{
	atf_set descr "the same while the session runs, and holds it open"
	atf_set require.user root
	atf_set timeout 120
}
live_body()
{
	int_begin
	int_who user
	int_live live sh
	printf '%s\nexec 5<>big\necho made\n' "$make_inside" >&9
	int_wait_file live.out made
	quick -o match:'1 file landed' sbxctl apply --yes "$sid"
	is_sparse "$P/big" 5000000000=first 107374182396=last
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	printf '%s\necho edited\n' "$edit_inside" >&9
	int_wait_file live.out edited
	quick -o match:'M  big' sbxctl changes "$sid"
	# Written back in place: over its data, and over nothing else.
	quick -o match:discarded sbxctl discard --yes "$sid"
	printf '%s\n' 'python3 -c "
import os
print(os.stat(\"big\").st_size, os.stat(\"big\").st_blocks < 2048,
    os.pread(5, 5, 5000000000), os.pread(5, 4, 70000000000))"' >&9
	int_wait_file live.out "^107374182400 True b'first' b'.x00.x00.x00.x00'"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	exec 9>&-
	wait "$live" || atf_fail "$(cat live.err)"
	is_sparse "$P/big" 5000000000=first 107374182396=last
	atf_check -o ignore sbxctl rm "$sid"
	int_end
}

atf_init_test_cases()
{
	atf_add_test_case stopped
	atf_add_test_case live
}
