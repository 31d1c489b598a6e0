/*
 * A terminal with somebody at it: pty [-a] [-r N] [-c N] [-w N] SCRIPT CMD...
 * runs the command on a new terminal and does what the script's lines say:
 *	expect TEXT	wait for it in what came since the last expect
 *	never TEXT	it has not come at all so far
 *	forget		from here on only the end of what is shown is kept
 *	amount N	so many bytes have been shown, at least
 *	send TEXT	type it
 *	echoes N	type N letters, each after the echo of the one before;
 *			on stderr "p99 N", the microseconds of all but a
 *			hundredth of them
 *	resize R C	a new size, as a window gives it
 *	sleep MS
 *	signal N	to the command
 *	touch FILE	for another terminal's script
 *	await FILE	of another's
 *	hangup		the terminal goes away
 *	end		wait for the command's end
 * With -a it answers CSI 5 n by itself, as terminals do.
 * TEXT has C's escapes (\n \r \t \e \\ \xHH). All that was shown is written to
 * stdout. The status is the command's, 128+n by signal n; 99 with a line on
 * stderr where the script was not followed.
 */
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define NOT_FOLLOWED	99
/* Kept after "forget": longer than a line of a script. */
#define TAIL_MOST	16384
#define TAIL		4096
#define ECHOES_MAX	1000

static int	 master;
static long	 patience_ms = 20000;	/* -w, in seconds */
static pid_t	 child;
static char	*shown;
static size_t	 nshown, room, seen, total;
static bool	 forget, answers;
static size_t	 answered;		/* up to here in shown */

static long
now_us(void)
{
	struct timespec	ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (ts.tv_sec * 1000000 + ts.tv_nsec / 1000);
}

static long
now_ms(void)
{
	return (now_us() / 1000);
}

static void
shorten(void)
{
	size_t	drop = nshown - TAIL;

	memmove(shown, shown + drop, TAIL);
	nshown = TAIL;
	seen = seen > drop ? seen - drop : 0;
	answered = answered > drop ? answered - drop : 0;
}

static void
answer(void)
{
	static const char	query[] = "\033[5n";
	char			*at;

	while (answers && nshown > answered && (at = memmem(shown + answered,
	    nshown - answered, query, sizeof(query) - 1)) != NULL) {
		answered = (size_t)(at - shown) + sizeof(query) - 1;
		if (write(master, "\033[0n", 4) != 4)
			err(NOT_FOLLOWED, "an answer");
	}
	/* A half of one at the end may go on. */
	if (nshown - answered > sizeof(query))
		answered = nshown - sizeof(query);
}

/* Reads what is there, waiting up to ms for it; false at the end. */
static bool
take(int ms)
{
	struct pollfd	pfd = { .fd = master, .events = POLLIN };
	char		*grown;
	ssize_t		n;

	if (master == -1)
		return (false);
	if (poll(&pfd, 1, ms) <= 0)
		return (true);
	if (forget && nshown > TAIL_MOST)
		shorten();
	if (nshown + 65536 > room) {
		room = 2 * room + 65536;
		if ((grown = realloc(shown, room)) == NULL)
			err(NOT_FOLLOWED, "realloc");
		shown = grown;
	}
	n = read(master, shown + nshown, 65536);
	if (n == -1 && errno == EINTR)
		return (true);
	if (n <= 0) {
		close(master);
		master = -1;
		return (false);
	}
	nshown += (size_t)n;
	total += (size_t)n;
	answer();
	return (true);
}

static void
show(void)
{
	if (fwrite(shown, 1, nshown, stdout) != nshown || fflush(stdout) != 0)
		err(NOT_FOLLOWED, "stdout");
}

static void __attribute__((noreturn))
wrong(const char *line, const char *why)
{
	show();
	warnx("%s: %s", line, why);
	if (child > 0)
		kill(child, SIGKILL);
	exit(NOT_FOLLOWED);
}

/* In place; the length of what is left. */
static size_t
unescape(char *text)
{
	static const char	from[] = "nrte", to[] = "\n\r\t\033";
	const char		*known;
	char			*in = text, *out = text;

	for (; *in != '\0'; in++) {
		if (*in != '\\') {
			*out++ = *in;
			continue;
		}
		in++;
		if (*in == 'x' && in[1] != '\0' && in[2] != '\0') {
			*out++ = (char)strtol((char[]){ in[1], in[2], 0 },
			    NULL, 16);
			in += 2;
		} else if (*in != '\0' && (known = strchr(from, *in)) != NULL)
			*out++ = to[known - from];
		else
			*out++ = *in;
	}
	return ((size_t)(out - text));
}

static void
expect(const char *line, const char *text, size_t len)
{
	long	deadline = now_ms() + patience_ms;
	char	*at;
	bool	more = true;

	for (;;) {
		at = seen == nshown ? NULL : memmem(shown + seen,
		    nshown - seen, text, len);
		if (at != NULL) {
			seen = (size_t)(at - shown) + len;
			return;
		}
		if (!more)
			wrong(line, "the terminal ended before it came");
		if (now_ms() > deadline)
			wrong(line, "it did not come");
		more = take(100);
	}
}

/* Typed as it is taken: what comes meanwhile is read. */
static void
send(const char *line, const char *text, size_t len)
{
	long	deadline = now_ms() + patience_ms;
	ssize_t	n;

	while (len > 0) {
		n = master == -1 ? -1 : write(master, text, len);
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		} else if (n == -1 && errno != EAGAIN && errno != EINTR)
			wrong(line, "the terminal takes nothing");
		if (now_ms() > deadline)
			wrong(line, "the terminal takes no more");
		take(len > 0 ? 10 : 0);
	}
}

static int
compare(const void *a, const void *b)
{
	const long	*x = a, *y = b;

	return ((*x > *y) - (*x < *y));
}

static void
echoes(const char *line, int n)
{
	static long	us[ECHOES_MAX];
	char		key;
	int		i;

	if (n < 1 || n > ECHOES_MAX)
		wrong(line, "so many are not counted");
	for (i = 0; i < n; i++) {
		key = (char)('a' + i % 26);
		us[i] = now_us();
		send(line, &key, 1);
		expect(line, &key, 1);
		us[i] = now_us() - us[i];
		usleep(2000);
	}
	qsort(us, (size_t)n, sizeof(us[0]), compare);
	fprintf(stderr, "p99 %ld\n", us[(n - 1) * 99 / 100]);
}

static void
size_set(const char *words)
{
	struct winsize	ws = { 0 };

	if (sscanf(words, "%hu %hu", &ws.ws_row, &ws.ws_col) != 2 ||
	    ioctl(master, TIOCSWINSZ, &ws) == -1)
		wrong("resize", words);
}

static void
pause_ms(long ms)
{
	long	deadline = now_ms() + ms, left;

	while ((left = deadline - now_ms()) > 0)
		if (!take((int)left))
			usleep((useconds_t)left * 1000);
}

/* What is shown meanwhile is read. */
static void
await(const char *line, const char *file)
{
	long	deadline = now_ms() + patience_ms;

	while (access(file, F_OK) == -1) {
		if (now_ms() > deadline)
			wrong(line, "it is not there");
		pause_ms(20);
	}
}

static void
touch(const char *line, const char *file)
{
	int	fd;

	if ((fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)) == -1)
		wrong(line, strerror(errno));
	close(fd);
}

static int
end(const char *line)
{
	long	deadline = now_ms() + patience_ms;
	int	status;
	pid_t	r;

	while ((r = waitpid(child, &status, WNOHANG)) == 0) {
		if (now_ms() > deadline)
			wrong(line, "the command does not end");
		if (!take(20))
			usleep(20000);
	}
	child = 0;
	if (r == -1)
		wrong(line, strerror(errno));
	/* Whoever is left with the terminal open is not waited for. */
	for (deadline = now_ms() + 500; now_ms() < deadline && take(100);)
		;
	return (WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
	    WEXITSTATUS(status));
}

/* -1: go on. */
static int
step(const char *line, char *word, char *rest)
{
	size_t	len = unescape(rest);

	if (strcmp(word, "expect") == 0)
		expect(line, rest, len);
	else if (strcmp(word, "never") == 0) {
		if (nshown > 0 && memmem(shown, nshown, rest, len) != NULL)
			wrong(line, "it came");
	} else if (strcmp(word, "send") == 0)
		send(line, rest, len);
	else if (strcmp(word, "forget") == 0)
		forget = true;
	else if (strcmp(word, "amount") == 0) {
		if (total < strtoul(rest, NULL, 10))
			wrong(line, "less than that");
	} else if (strcmp(word, "echoes") == 0)
		echoes(line, (int)strtol(rest, NULL, 10));
	else if (strcmp(word, "resize") == 0)
		size_set(rest);
	else if (strcmp(word, "sleep") == 0)
		pause_ms(strtol(rest, NULL, 10));
	else if (strcmp(word, "signal") == 0)
		kill(child, (int)strtol(rest, NULL, 10));
	else if (strcmp(word, "await") == 0)
		await(line, rest);
	else if (strcmp(word, "touch") == 0)
		touch(line, rest);
	else if (strcmp(word, "hangup") == 0) {
		close(master);
		master = -1;
	} else if (strcmp(word, "end") == 0)
		return (end(line));
	else
		wrong(line, "no such step");
	return (-1);
}

static int
follow(FILE *script)
{
	char	*line = NULL, *word, *rest;
	char	 copy[4096];
	size_t	 size = 0;
	int	 status = -1;

	while (status == -1 && getline(&line, &size, script) != -1) {
		line[strcspn(line, "\n")] = '\0';
		for (word = line; *word == ' ' || *word == '\t'; word++)
			;
		if (*word == '\0' || *word == '#')
			continue;
		snprintf(copy, sizeof(copy), "%s", word);
		rest = word + strcspn(word, " ");
		if (*rest != '\0')
			*rest++ = '\0';
		status = step(copy, word, rest);
	}
	free(line);
	return (status == -1 ? end("the script's end") : status);
}

static void
start(char **argv, const struct winsize *ws)
{
	int	slave;

	master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (master == -1 || grantpt(master) == -1 || unlockpt(master) == -1)
		err(NOT_FOLLOWED, "a terminal");
	slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave == -1 || ioctl(slave, TIOCSWINSZ, ws) == -1)
		err(NOT_FOLLOWED, "%s", ptsname(master));
	if ((child = fork()) == -1)
		err(NOT_FOLLOWED, "fork");
	if (child == 0) {
		setsid();
		if (ioctl(slave, TIOCSCTTY, 0) == -1 || dup2(slave, 0) == -1 ||
		    dup2(slave, 1) == -1 || dup2(slave, 2) == -1)
			err(NOT_FOLLOWED, "the terminal");
		execvp(argv[0], argv);
		err(127, "%s", argv[0]);
	}
	close(slave);
}

int
main(int argc, char **argv)
{
	struct winsize	 ws = { .ws_row = 24, .ws_col = 80 };
	FILE		*script;
	int		 c, status;

	while ((c = getopt(argc, argv, "+ar:c:w:")) != -1)
		switch (c) {
		case 'a':
			answers = true;
			break;
		case 'r':
			ws.ws_row = (unsigned short)strtol(optarg, NULL, 10);
			break;
		case 'c':
			ws.ws_col = (unsigned short)strtol(optarg, NULL, 10);
			break;
		case 'w':
			patience_ms = 1000 * strtol(optarg, NULL, 10);
			break;
		default:
			return (NOT_FOLLOWED);
		}
	if (argc - optind < 2)
		errx(NOT_FOLLOWED, "usage: pty [-a] [-r N] [-c N] [-w N] "
		    "script command");
	if ((script = fopen(argv[optind], "re")) == NULL)
		err(NOT_FOLLOWED, "%s", argv[optind]);
	start(argv + optind + 1, &ws);
	status = follow(script);
	show();
	return (status);
}
