/*
 * Names in a patch and in the manifest, quoted as git quotes them: what
 * `git apply` of any version reads back as exactly these bytes.
 */
#ifndef LANDD_QUOTE_H
#define LANDD_QUOTE_H

#include "buf.h"

/*
 * Appends prefix and path, in double quotes with C escapes if the path holds
 * a byte below 0x21 or above 0x7e, a quote or a backslash. A blank is quoted
 * too, which git does not: then nothing has to be said after the name, and
 * " b/" within a name is no riddle.
 */
int	quote_path(struct buf *, const char *prefix, const char *path);

#endif
