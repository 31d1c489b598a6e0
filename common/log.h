/*
 * One line to stderr: "sbxd: level: text" or "TIME sbxd: level: text", made
 * visible as escape.h says.
 * Levels are syslog's; debug only by -v.
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#define LOG_FMT(a, b)	__attribute__((format(printf, a, b)))

void	log_init(const char *name, int verbose);
/* From here on a line begins with its time, where nobody else adds one: not on
 * a terminal, nor in the journal. Before the process confines itself. */
void	log_times(void);
/* fatal's line goes to this descriptor too, -1: no more. */
void	log_fatal_to(int fd);
/* fatal calls it before it ends the process; NULL: no more. */
void	log_fatal_hook(void (*)(void));
void	log_warn(const char *, ...) LOG_FMT(1, 2);	/* adds strerror */
void	log_warnx(const char *, ...) LOG_FMT(1, 2);
void	log_info(const char *, ...) LOG_FMT(1, 2);
void	log_debug(const char *, ...) LOG_FMT(1, 2);
/* For start-up, own invariants, a broken message from the broker. */
void	fatal(const char *, ...) LOG_FMT(1, 2) __attribute__((noreturn));
void	fatalx(const char *, ...) LOG_FMT(1, 2) __attribute__((noreturn));

#endif
