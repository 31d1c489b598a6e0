/*
 * The real project, by descriptor only: every lookup is openat2 beneath the
 * project's folder, through no link and onto no other mount, so a folder that
 * is swapped while we work is an error and never a way out.
 */
#ifndef LANDD_TREE_H
#define LANDD_TREE_H

#include <sys/stat.h>
#include <stdbool.h>
#include <stdint.h>

#include "../common/digest.h"

/* An entry's place: its folder, its name there, and what stands there now. */
struct place {
	int		 parent;	/* O_PATH; -1: no such folder */
	const char	*base;		/* in the path given */
	bool		 present;
	struct stat	 st;
};

/* openat2 beneath root, path relative; "" is root itself. -1 errno. */
int	tree_open(int root, const char *path, int flags);
/* The parent of path, O_PATH|O_DIRECTORY; *base is its last name. */
int	tree_parent(int root, const char *path, const char **base);
/*
 * Looks path up. A missing folder on the way, or one that is a link or a
 * file, is an absent entry; whatever else fails is -1 with errno (EXDEV: a
 * mount is in the way). place_close in any case.
 */
int	place_open(int root, const char *path, struct place *);
void	place_close(struct place *);

/* The digest (blocks.h) of a regular file's content, or SHA-256 of a link's
 * text; -1 errno, EINVAL for anything else. */
int	tree_hash(int dir, const char *name, uint8_t[DIGEST_LEN]);
/* The text of a link into buf, NUL-terminated; -1 errno. */
ssize_t	tree_readlink(int dir, const char *name, char *buf, size_t size);
/* chmod of exactly this inode, without reading rights on it and without
 * following a link put in its place; -1 errno, ESTALE: another inode. */
int	tree_chmod(int dir, const char *name, ino_t, mode_t);
int	tree_rename(int from, const char *, int to, const char *,
	    unsigned int flags);
/* 1: the folder has nothing in it, 0: it has, -1 errno. */
int	tree_empty(int dirfd);
/* Immutable or append-only, so that a rename would fail half way. */
bool	tree_fixed(int dir, const char *name);
/* A component that git, or a filesystem that folds case, takes for .git. */
bool	tree_gitname(const char *name, size_t len);

#endif
