/*
 * The patterns of .gitignore: * ? [set] \x, and ** between slashes.
 */
#ifndef LANDD_WILDMATCH_H
#define LANDD_WILDMATCH_H

#include <stdbool.h>

/* slashes: as in a pattern with a slash, where * ? and [set] match none. */
bool	wildmatch(const char *pattern, const char *text, bool slashes);

#endif
