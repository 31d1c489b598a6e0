#include <sys/socket.h>
#include <sys/un.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "escape.h"
#include "log.h"

static const char	*log_name = "sbx";
static int		 log_verbose;
static bool		 log_timed;
static int		 log_fatal_fd = -1;
static void		(*log_fatal_call)(void);

void
log_init(const char *name, int verbose)
{
	log_name = name;
	log_verbose = verbose;
}

/*
 * By whom it listens to, not by JOURNAL_STREAM: helpers have no environment.
 * A journal's namespace has a folder beside the journal's, with its name after
 * a dot.
 */
static bool
log_is_journal(void)
{
	static const char	journal[] = "/run/systemd/journal";
	struct sockaddr_un	sun = { .sun_family = AF_UNSPEC };
	socklen_t		len = sizeof(sun);
	size_t			n = sizeof(journal) - 1;

	return (getpeername(STDERR_FILENO, (struct sockaddr *)&sun, &len) ==
	    0 && sun.sun_family == AF_UNIX && len <= sizeof(sun) &&
	    strncmp(sun.sun_path, journal, n) == 0 &&
	    (sun.sun_path[n] == '/' || sun.sun_path[n] == '.'));
}

void
log_times(void)
{
	int	saved = errno;

	log_timed = !isatty(STDERR_FILENO) && !log_is_journal();
	errno = saved;
}

void
log_fatal_to(int fd)
{
	log_fatal_fd = fd;
}

void
log_fatal_hook(void (*call)(void))
{
	log_fatal_call = call;
}

/* What fails in it does not come here twice. */
static void __attribute__((noreturn))
log_end(void)
{
	void	(*call)(void) = log_fatal_call;

	log_fatal_call = NULL;
	if (call != NULL)
		call();
	_exit(1);
}

static void __attribute__((format(printf, 4, 0)))
log_line(int fd, const char *level, int errnum, const char *fmt, va_list ap)
{
	char	text[2048], line[4400], when[CLOCK_UTC + 1] = "", *seen;
	int	n;

	if (log_timed && fd == STDERR_FILENO) {
		clock_now(when);
		strlcat(when, " ", sizeof(when));
	}
	vsnprintf(text, sizeof(text), fmt, ap);
	/* A log line is read on a terminal: nothing in it may drive that. */
	seen = escape_text(text, strlen(text), "");
	if (errnum != 0)
		n = snprintf(line, sizeof(line), "%s%s: %s%s: %s\n", when,
		    log_name, level, seen != NULL ? seen : "",
		    strerror(errnum));
	else
		n = snprintf(line, sizeof(line), "%s%s: %s%s\n", when,
		    log_name, level, seen != NULL ? seen : "out of memory");
	free(seen);
	if (n < 0)
		return;
	if ((size_t)n >= sizeof(line)) {
		n = sizeof(line) - 1;
		line[n - 1] = '\n';
	}
	/* One write a line, so that lines of several processes do not mix. */
	if (write(fd, line, (size_t)n) == -1)
		return;
}

#define LOG_TO(fd, level, errnum) do {					\
	va_list	 ap;							\
	int	 saved = errno;						\
									\
	va_start(ap, fmt);						\
	log_line(fd, level, errnum, fmt, ap);				\
	va_end(ap);							\
	errno = saved;							\
} while (0)
#define LOG_BODY(level, errnum)	LOG_TO(STDERR_FILENO, level, errnum)

void
log_warn(const char *fmt, ...)
{
	LOG_BODY("warning: ", saved);
}

void
log_warnx(const char *fmt, ...)
{
	LOG_BODY("warning: ", 0);
}

void
log_info(const char *fmt, ...)
{
	LOG_BODY("", 0);
}

void
log_debug(const char *fmt, ...)
{
	if (log_verbose > 0)
		LOG_BODY("debug: ", 0);
}

void
fatal(const char *fmt, ...)
{
	LOG_BODY("fatal: ", saved);
	if (log_fatal_fd != -1)
		LOG_TO(log_fatal_fd, "", saved);
	log_end();
}

void
fatalx(const char *fmt, ...)
{
	LOG_BODY("fatal: ", 0);
	if (log_fatal_fd != -1)
		LOG_TO(log_fatal_fd, "", 0);
	log_end();
}
