/*
 * Linked into the suite's confined programs in builds with SAN= only. At a
 * program's end LeakSanitizer starts a thread that traces it, which no
 * allow-list has and no non-dumpable process permits; addresses and undefined
 * behaviour are checked all the same. sbxctl and the tests look for leaks.
 */
const char	*__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return ("detect_leaks=0:handle_segv=1:allocator_may_return_null=1");
}
