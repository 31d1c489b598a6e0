/*
 * sbxd: the broker. Starts as root, starts and tells the helpers, and gives
 * everything up before the first client is heard. With --user it starts as an
 * ordinary user and is that one's own: mode.h.
 */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "../common/path.h"
#include "../common/state.h"
#include "mode.h"
#include "sbxd.h"

#define STATE_DEFAULT	"/var/lib/sbx"
#define SOCKET_DEFAULT	"/run/sbx/sbxd.sock"
#define READY_FD	3

struct sbxd	sbxd;

static const char	usage[] = "usage: sbxd [-denv] [--user] [-f file]";

static void __attribute__((noreturn))
usage_wrong(const char *word, const char *why)
{
	log_info("%s: %s: %s", word, why, usage);
	exit(2);
}

/* What getopt_long has found fault with; bad: its '?' or ':'. */
static void __attribute__((noreturn))
option_wrong(int bad, char **argv)
{
	const char	*word = argv[optind - 1];
	char		 letter[3] = { '-', (char)optopt, '\0' };

	if (bad == ':')
		usage_wrong(letter, "its value is missing");
	if (strncmp(word, "--", 2) == 0 && optopt == 0)
		usage_wrong(word, "unknown option");
	if (strncmp(word, "--", 2) == 0 && strchr("uh", optopt) != NULL)
		usage_wrong(word, "takes no value");
	usage_wrong(letter, "unknown option");
}

static void
path_set(char *out, const char *value, const char *what)
{
	if (!path_is_canonical(value))
		fatalx("%s is %s: give an absolute path without . .. and "
		    "doubled slashes", what, value);
	if (strlcpy(out, value, LIMIT_PATH + 1) > LIMIT_PATH)
		fatalx("%s is longer than %d bytes", what, LIMIT_PATH);
}

static void
path_make(char *path)
{
	char	*p;

	for (p = path + 1; (p = strchr(p, '/')) != NULL; *p++ = '/') {
		*p = '\0';
		if (mkdir(path, 0700) == -1 && errno != EEXIST)
			fatal("making the folder %s", path);
	}
	if (mkdir(path, 0700) == -1 && errno != EEXIST)
		fatal("making the folder %s", path);
}

/* A folder of the user's, by its real name: mountd follows no link. */
static void
path_real(char *path, size_t size, bool make)
{
	char	real[PATH_MAX];

	if (make)
		path_make(path);
	if (realpath(path, real) == NULL)
		fatal("%s", path);
	if (strlcpy(path, real, size) >= size)
		fatalx("%s is longer than %zu bytes", real, size - 1);
}

/* The defaults of a user's own suite. Without a runtime folder the socket is
 * where an embedded suite's is. */
static void
paths_user(bool make)
{
	char	*state = sbxd.conf.state, dir[LIMIT_PATH + 1];

	if (state[0] == '\0' && state_user(state, LIMIT_PATH + 1) == -1)
		fatalx("neither XDG_STATE_HOME nor HOME names a folder for "
		    "the state: set SBX_STATE");
	path_real(state, LIMIT_PATH + 1, make);
	if (sbxd.conf.embedded || sbxd.conf.socket[0] != '\0')
		return;
	if (state_runtime(dir, sizeof(dir)) == -1 ||
	    strlen(dir) > LIMIT_PATH - sizeof("/sbxd.sock")) {
		sbxd.conf.socket_in_state = true;
		return;
	}
	path_real(dir, sizeof(dir), make);
	strlcpy(sbxd.conf.runtime, dir, sizeof(sbxd.conf.runtime));
	strlcpy(sbxd.conf.socket, dir, sizeof(sbxd.conf.socket));
	strlcat(sbxd.conf.socket, "/sbxd.sock", sizeof(sbxd.conf.socket));
}

/* SBX_STATE names state and socket; else conf does; else the defaults. */
static void
paths_find(bool make)
{
	const char	*state = getenv("SBX_STATE");
	char		 sock[LIMIT_PATH + 16];

	if (state != NULL && *state != '\0') {
		path_set(sbxd.conf.state, state, "SBX_STATE");
		sbxd.conf.socket_in_state = true;
	} else if (mode_user())
		paths_user(make);
	else if (sbxd.conf.state[0] == '\0')
		path_set(sbxd.conf.state, STATE_DEFAULT, "the state");
	if (strcmp(sbxd.conf.state, "/") == 0)
		fatalx("the state cannot be /: give a folder of its own");
	if (sbxd.conf.socket_in_state || sbxd.conf.embedded) {
		snprintf(sock, sizeof(sock), "%s/sbxd.sock", sbxd.conf.state);
		path_set(sbxd.conf.socket, sock, "the socket");
	} else if (sbxd.conf.socket[0] == '\0')
		path_set(sbxd.conf.socket, SOCKET_DEFAULT, "the socket");
}

/* In a build tree as installed: ../libexec/sbx from where sbxd lies. */
static void
libexec_find(void)
{
	char		 self[LIMIT_PATH + 1], path[LIMIT_PATH + 32];
	struct stat	 st;
	ssize_t		 n;

	if ((n = readlink("/proc/self/exe", self, sizeof(self) - 1)) == -1)
		fatal("/proc/self/exe");
	self[n] = '\0';
	snprintf(path, sizeof(path), "%s/../libexec/sbx", dirname(self));
	if (stat(path, &st) == -1 || !S_ISDIR(st.st_mode))
		strlcpy(path, SBX_LIBEXEC, sizeof(path));
	if (realpath(path, sbxd.conf.libexec) == NULL)
		fatal("%s: the suite is not installed whole", path);
}

static void
on_signal(evutil_socket_t sig, short what, void *arg)
{
	(void)what;
	(void)arg;
	log_info("%s: ending", strsignal(sig));
	sessions_stop();
}

static void
signals_watch(void)
{
	static const int	sigs[] = { SIGTERM, SIGINT, SIGHUP };
	struct event		*ev;
	size_t			 i;

	for (i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++) {
		ev = evsignal_new(sbxd.base, sigs[i], on_signal, NULL);
		if (ev == NULL || event_add(ev, NULL) == -1)
			fatalx("cannot watch signal %d", sigs[i]);
	}
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		fatal("signal");
}

static void
boot_read(void)
{
	int	fd;

	fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	if (fd == -1 || read(fd, sbxd.boot, sizeof(sbxd.boot) - 1) <= 0)
		fatal("/proc/sys/kernel/random/boot_id");
	sbxd.boot[strcspn(sbxd.boot, "\n")] = '\0';
	close(fd);
}

static void
options(int argc, char **argv, bool *check, int *verbose)
{
	static const struct option	words[] = {
		{ "user", no_argument, NULL, 'u' },
		{ "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 }
	};
	int				c;

	while ((c = getopt_long(argc, argv, ":def:nv", words, NULL)) != -1)
		switch (c) {
		case 'u':
			sbxd.conf.user = true;
			break;
		case 'd':	/* stays in front as always, logs to stderr */
			break;
		case 'e':
			sbxd.conf.embedded = true;
			break;
		case 'f':
			sbxd.conf.file = optarg;
			break;
		case 'n':
			*check = true;
			break;
		case 'v':
			(*verbose)++;
			break;
		case 'h':
			puts(usage);
			exit(0);
		default:
			option_wrong(c, argv);
		}
	if (optind != argc)
		usage_wrong(argv[optind], "one word too many");
}

/* Descriptors 0, 1, 2 are there, whatever the starter closed. */
static void
stdio_fill(void)
{
	int	fd;

	do {
		if ((fd = open("/dev/null", O_RDWR)) == -1)
			exit(1);
	} while (fd < 3);
	close(fd);
}

/* A NUL, which begins no error's line, and where to. */
void
ready_tell(const char *path)
{
	char	line[LIMIT_PATH + 3];
	int	n;

	log_fatal_to(-1);
	if (sbxd.ready != -1) {
		n = snprintf(line, sizeof(line), "%c%s\n", '\0', path);
		if (write(sbxd.ready, line, (size_t)n) != n)
			log_warn("the starter is gone");
		close(sbxd.ready);
		sbxd.ready = -1;
	}
}

/* Whose suite it is to be has to be said: a service that lost its root by
 * mistake must not quietly become somebody's own. */
static void
owner_check(void)
{
	mode_begin();
	if (mode_user() && !sbxd.conf.user)
		fatalx("started as uid %u: start it as root, or with --user "
		    "for a suite of your own", (unsigned int)mode_owner());
	if (!mode_user() && sbxd.conf.user)
		fatalx("--user is for an ordinary user's own suite: leave it "
		    "out as root");
	if (mode_user() && (getuid() != geteuid() || getgid() != getegid()))
		fatalx("started with another effective uid or gid than the "
		    "real one: start it as yourself");
}

int
main(int argc, char **argv)
{
	bool	check = false;
	int	verbose = 0;

	log_init("sbxd", 0);
	options(argc, argv, &check, &verbose);
	log_init("sbxd", check ? 0 : verbose);
	/* What -n says is for who asks, and no log. */
	if (!check)
		log_times();
	sbxd.conf.verbose = verbose;
	sbxd.ready = -1;
	if (sbxd.conf.embedded) {
		if (fcntl(READY_FD, F_SETFD, FD_CLOEXEC) == -1)
			fatalx("-e is for sbxctl, which passes descriptor %d",
			    READY_FD);
		sbxd.ready = READY_FD;
		log_fatal_to(READY_FD);
	} else
		stdio_fill();
	/* A starter's other descriptors are none of a broker's. */
	if (syscall(SYS_close_range, sbxd.conf.embedded ? READY_FD + 1U : 3U,
	    ~0U, 0) == -1)
		fatal("close_range");
	owner_check();
	TAILQ_INIT(&sbxd.sessions);
	TAILQ_INIT(&sbxd.clients);
	TAILQ_INIT(&sbxd.jobs);
	umask(077);
	libexec_find();
	conf_run(check && verbose > 0);
	if (check && sbxd.conf.embedded) {
		paths_find(false);
		start_none();
	}
	if (check)
		return (0);
	start_powers();
	paths_find(true);
	boot_read();
	start_state();
	start_uids();
	start_cgroup();
	start_outer();
	if ((sbxd.base = event_base_new()) == NULL)
		fatalx("event_base_new");
	start_socket();
	start_helpers();
	signals_watch();
	start_confine();
	session_load_all();
	clients_listen();
	jobs_recover();
	ready_tell(sbxd.conf.socket);
	log_info("ready on %s", sbxd.conf.socket);
	idle_check();
	event_base_dispatch(sbxd.base);
	helpers_end();
	return (0);
}
