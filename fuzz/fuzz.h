/*
 * What the fuzzers' inputs look like, for them and for what makes the first
 * ones.
 *
 * fields: a byte, the message's number; then a body.
 * imsg:   a byte, the sender's role (its bit's number), a byte, the
 *         receiver's; then pieces: two bytes length (low first), a byte with
 *         how many descriptors come along, and that many bytes.
 * escape, conf: the text.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#define FUZZ_ROLES	10
#define FUZZ_PIECE	3	/* a piece's header */
#define FUZZ_FDS	4	/* at most, with one piece */

/* An invariant: the fuzzer reports the input. */
#define MUST(x)	do { if (!(x)) __builtin_trap(); } while (0)

#endif
