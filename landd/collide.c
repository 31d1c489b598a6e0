/*
 * A guard for the differ. It puts the distinct lines of a file into a hash
 * table with chains and a hash that anyone can make collide; 100,000 lines in
 * one chain take minutes. A clock that stops it would make the patch, and so
 * its digest, depend on how busy the machine is: so what would be slow is
 * found beforehand, by the same hash, and gets the one-hunk form. Should the
 * library change its hash this guards nothing, and nothing breaks.
 */
#include <stdlib.h>
#include <string.h>

#include "diff.h"

#define COLLIDE_LINES	4096		/* fewer cannot take long */
#define COLLIDE_COST	(UINT64_C(200) << 20)	/* steps along chains */

struct line {
	const uint8_t	*p;
	size_t		 len;
	unsigned long	 hash;
};

/* xdiff's, over bytes as plain char. */
static unsigned long
line_hash(const uint8_t *p, size_t len)
{
	unsigned long	h = 5381;

	for (; len > 0; len--, p++) {
		h += h << 5;
		h ^= (unsigned long)(char)*p;
	}
	return (h);
}

static int
line_compare(const void *a, const void *b)
{
	const struct line	*x = a, *y = b;

	if (x->hash != y->hash)
		return (x->hash < y->hash ? -1 : 1);
	if (x->len != y->len)
		return (x->len < y->len ? -1 : 1);
	return (memcmp(x->p, y->p, x->len));
}

/* The distinct lines of s, sorted by hash; their number. */
static size_t
lines_distinct(const struct side *s, struct line *v)
{
	const uint8_t	*p = s->p, *end = s->p + s->len, *nl;
	size_t		 n = 0, i, m = 0;

	for (; p < end; p = nl + 1) {
		if ((nl = memchr(p, '\n', (size_t)(end - p))) == NULL)
			nl = end;
		v[n].p = p;
		v[n].len = (size_t)(nl - p);
		v[n].hash = line_hash(p, v[n].len);
		n++;
	}
	qsort(v, n, sizeof(*v), line_compare);
	for (i = 0; i < n; i++)
		if (m == 0 || line_compare(&v[i], &v[m - 1]) != 0)
			v[m++] = v[i];
	return (m);
}

/* Steps that n distinct lines take in a table of 1 << bits chains. */
static uint64_t
lines_cost(const struct line *v, size_t n, unsigned int bits, uint32_t *table)
{
	uint64_t	cost = 0;
	size_t		i;

	memset(table, 0, sizeof(*table) << bits);
	for (i = 0; i < n; i++)
		cost += table[(v[i].hash + (v[i].hash >> bits)) &
		    ((1UL << bits) - 1)]++;
	return (cost);
}

bool
diff_collides(const struct side *s)
{
	struct line	*v = NULL;
	uint32_t	*table = NULL;
	size_t		 n = diff_lines(s);
	unsigned int	 bits;
	bool		 bad = false;

	if (n < COLLIDE_LINES)
		return (false);
	v = calloc(n, sizeof(*v));
	table = malloc(sizeof(*table) << 20);
	if (v == NULL || table == NULL)
		bad = true;		/* the plain form takes less */
	else {
		n = lines_distinct(s, v);
		/* It guesses the number of lines, and so the table's size. */
		for (bits = 12; bits <= 20 && !bad; bits++)
			bad = lines_cost(v, n, bits, table) > COLLIDE_COST;
	}
	free(v);
	free(table);
	return (bad);
}
