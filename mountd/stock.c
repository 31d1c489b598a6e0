/*
 * Folders of layers made beforehand, by a spare child: six new folders of a
 * journalled filesystem are as slow as an overlay, a rename is not.
 */
#include <sys/stat.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "../common/log.h"
#include "layer.h"
#include "mountd.h"
#include "rm.h"

/* Of home, of the project, and of the filesystem that has both. */
#define STOCK	3

/* The next of this process's own, and how many there were. */
static unsigned int	next, made;

/* No session has such an id: see early.c, which takes away what is left of an
 * earlier suite's. */
static void
stock_name(pid_t pid, unsigned int n, char *name, size_t size)
{
	snprintf(name, size, ".stock.%d.%u", (int)pid, n);
}

void
stock_make(void)
{
	char	name[40];

	for (made = 0; made < STOCK; made++) {
		stock_name(getpid(), made, name, sizeof(name));
		/* A start makes what is missing. */
		if (layer_halves(mountd.store, name) == -1)
			return;
	}
}

void
stock_give(int store, const char *layer)
{
	char	name[40];

	if (next == made)
		return;
	stock_name(getpid(), next++, name, sizeof(name));
	/* Or else it is made, as without a stock. */
	(void)renameat2(mountd.store, name, store, layer, RENAME_NOREPLACE);
}

void
stock_sweep(pid_t pid)
{
	char		name[32];
	unsigned int	n;

	for (n = 0; n < STOCK; n++) {
		stock_name(pid, n, name, sizeof(name));
		if (rm_all(mountd.store, name) == -1)
			log_warn("%s/s/%s, a layer of no session",
			    mountd.state, name);
	}
}
