/*
 * Why the request at hand cannot be served: one code, one line. A child
 * serves one request, so there is one of it a process; the first reason
 * counts, what follows from it does not overwrite it.
 */
#ifndef MOUNTD_FAULT_H
#define MOUNTD_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#define FAULT_FMT(a, b)	__attribute__((format(printf, a, b)))

/* Both return -1, so that "return (fault(...))" reads well; the second adds
 * what errno says. */
int	fault(const char *code, const char *fmt, ...) FAULT_FMT(2, 3);
int	fault_errno(const char *code, const char *fmt, ...) FAULT_FMT(2, 3);
bool	fault_is(void);
const char *fault_code(void);
const char *fault_text(void);
int	fault_err(void);	/* errno at the time, 0: it was no call's */
/* What came of the first reason and is worse: it is added to that one, under
 * its own code. */
int	fault_also(const char *code, const char *fmt, ...) FAULT_FMT(2, 3);
/* Forgets it: for a step whose failure has another way round. */
void	fault_clear(void);

/* A path for a message: escaped, a long one shortened in its middle. One of
 * four static buffers. */
const char *shown(const char *path);

#endif
