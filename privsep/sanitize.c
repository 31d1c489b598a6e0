/*
 * Linked into the suite's programs, and those that tests run beside them, in
 * builds with SAN= only. At a program's end LeakSanitizer starts a thread that
 * traces it, which no allow-list has and no non-dumpable process permits;
 * sbxctl does one thing and leaves the rest to its end, as a test's helper
 * does. Addresses and undefined behaviour are checked all the same, and the
 * tests in C look for leaks in what they call.
 */
const char	*__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return ("detect_leaks=0");
}
