/*
 * Random trees, and random work in them as a session might do it.
 */
#ifndef REGRESS_LANDD_REVIEW_GEN_H
#define REGRESS_LANDD_REVIEW_GEN_H

#include <stddef.h>
#include <stdint.h>

struct gen {
	uint64_t	s;
};
uint64_t gen_random(struct gen *);
uint64_t gen_below(struct gen *, uint64_t);

/* Fills the folder: files, links, folders with something in them. */
void	gen_tree(struct gen *, const char *dir);
/* Works in it; each thing done is a line in the log, at most size bytes. */
void	gen_work(struct gen *, const char *dir, char *log, size_t size);

/* review_random.c: so many random change sets, or fails the case. */
void	review_random(uint64_t sets);

#endif
