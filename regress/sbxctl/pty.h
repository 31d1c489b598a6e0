/*
 * A program on a terminal of its own, with the test as who sits before it.
 * Failures end the case.
 */
#ifndef REGRESS_SBXCTL_PTY_H
#define REGRESS_SBXCTL_PTY_H

#include <sys/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct pty {
	int		 master, slave;	/* the slave stays open here too */
	pid_t		 pid;
	struct termios	 before;
	char		*out;		/* all it has shown, NUL-ended */
	size_t		 len, room;
	size_t		 mark;		/* pty_expect looks from here on */
	bool		 answers;	/* CSI 5 n, as terminals do */
	size_t		 answered;	/* up to here */
};

/* argv's first word is a path. The terminal is its controlling one. */
void	pty_start(struct pty *, unsigned short rows, unsigned short cols,
	    const char *const *argv);
/* Until it has shown this text, at most ten seconds; sets the mark. */
void	pty_expect(struct pty *, const char *text);
/* Reads what it shows for so long. */
void	pty_read(struct pty *, int ms);
/* Types, and takes in what is shown meanwhile. */
void	pty_type(struct pty *, const void *, size_t);
void	pty_say(struct pty *, const char *);
void	pty_resize(struct pty *, unsigned short rows, unsigned short cols);
/* Reads until it has ended (at most ms), then its wait status. */
int	pty_wait(struct pty *, int ms);
/* Nobody sits there any more. */
void	pty_hangup(struct pty *);
/* What was typed and nobody has read: for the shell that comes next. */
size_t	pty_left(struct pty *, char *buf, size_t size);
/* The terminal is as it was before. */
void	pty_sane(struct pty *);
void	pty_free(struct pty *);

#endif
