/*
 * A session's id, and the uid that has no role.
 */
#ifndef COMMON_IDS_H
#define COMMON_IDS_H

#include <stdbool.h>

#define SID_LEN		12
/* RFC 4648's base 32, in lower case: no eye mixes two of them up. */
#define SID_CHARS	"abcdefghijklmnopqrstuvwxyz234567"

/* The kernel's overflow uid: it stands for everyone that has no id here. */
#define UID_NOROLE	65534

/* Twelve of SID_CHARS: safe as a file's name, below any folder. */
bool	sid_valid(const char *);

#endif
