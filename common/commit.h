/*
 * What a program was built from. Of sbxctl and sbxd only, so that a commit
 * links no others anew.
 */
#ifndef COMMON_COMMIT_H
#define COMMON_COMMIT_H

/* The git commit, twelve digits, with "-dirty" where files were changed. NULL:
 * not known. */
const char	*commit_built(void);

#endif
