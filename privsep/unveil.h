/*
 * Landlock, by the ABI found at run time. A right that the kernel does not
 * know is left out and said by unveil_abi; a rule that cannot be made is
 * fatal. Descriptors, never paths, where the caller has one.
 */
#ifndef PRIVSEP_UNVEIL_H
#define PRIVSEP_UNVEIL_H

#include <stdbool.h>

struct unveil;

#define UNVEIL_READ	0x1	/* read files, list folders */
#define UNVEIL_WRITE	0x2	/* write, truncate, create, remove, rename */
#define UNVEIL_SOCK	0x4	/* make sockets */
#define UNVEIL_REFER	0x8	/* rename and link across folders */
#define UNVEIL_LIST	0x10	/* list folders, read no file */

int		 unveil_abi(void);	/* 0: no Landlock in this kernel */
struct unveil	*unveil_begin(void);	/* handles every filesystem right */
void		 unveil_fd(struct unveil *, int fd, int rights);
void		 unveil_path(struct unveil *, const char *, int rights);
/* Applies and frees it. With no rule before it: no file at all. */
void		 unveil_end(struct unveil *);
/* A session's, ended by unveil_end: scopes (ABI 6), and where writes is true
 * what is written to, by rules (ABI 2; below that renames would fail). */
struct unveil	*unveil_session(bool writes);

#endif
