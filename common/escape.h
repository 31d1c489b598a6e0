/*
 * What people see is escaped: C0, DEL and C1 control bytes, bidirectional and
 * zero-width code points, invalid UTF-8, as <U+202E> or <9B>.
 */
#ifndef COMMON_ESCAPE_H
#define COMMON_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

/* Appends the escaped form of in[0..len) to a malloc'ed, NUL-terminated
 * string that is returned (caller frees), NULL: ENOMEM. keep: bytes of this
 * string ("\n\t") go through as they are. */
char	*escape_text(const char *in, size_t len, const char *keep);
/* The same of a path: blanks too that nobody would see, as at the end of each
 * name in it, or would take for the usual one. */
char	*escape_name(const char *path);
/* The same of what is no path, as a word of a command: a slash ends nothing. */
char	*escape_label(const char *label);
/* A text that may have been cut, in place: escaped where it is not UTF-8, so
 * that it can go into a message, and then cut at a character's end. */
void	 escape_fit(char *text, size_t size);
/* True if escape_text would change something. */
bool	 escape_needed(const char *in, size_t len, const char *keep);

#endif
