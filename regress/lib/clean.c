/*
 * Leftovers of a case. The pid namespace and the mount namespace are its own,
 * so everything that is there counts, and nobody else's.
 */
#include <sys/stat.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#define STATE_MAX	65536

int	test_clean_ms = 10000;

static char marked[STATE_MAX];

static void
add(char *s, const char *what, const char *line)
{
	size_t len = strlen(s);

	if (snprintf(s + len, STATE_MAX - len, "%s %s\n", what, line) >=
	    (int)(STATE_MAX - len))
		atf_tc_fail("more than %d bytes of mounts and processes",
		    STATE_MAX);
}

static int
by_number(const struct dirent **a, const struct dirent **b)
{
	return atoi((*a)->d_name) - atoi((*b)->d_name);
}

static int
is_number(const struct dirent *de)
{
	return isdigit((unsigned char)de->d_name[0]);
}

static void
add_mounts(char *s)
{
	char line[4096];
	FILE *f;

	ATF_REQUIRE((f = fopen("/proc/self/mountinfo", "re")) != NULL);
	while (fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		add(s, "mount", line);
	}
	fclose(f);
}

static void
add_processes(char *s)
{
	char path[64], line[512];
	struct dirent **de;
	size_t got;
	FILE *f;
	int i, n;

	ATF_REQUIRE((n = scandir("/proc", &de, is_number, by_number)) != -1);
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/proc/%d/stat",
		    atoi(de[i]->d_name));
		free(de[i]);
		if ((f = fopen(path, "re")) == NULL)
			continue;
		got = fread(line, 1, sizeof(line) - 1, f);
		fclose(f);
		line[got] = '\0';
		/* pid and name; the rest of it changes by itself. */
		if (strrchr(line, ')') != NULL)
			strrchr(line, ')')[1] = '\0';
		add(s, "process", line);
	}
	free(de);
}

static void
add_descriptors(char *s)
{
	char path[64], target[PATH_MAX];
	struct dirent **de;
	ssize_t len;
	int i, n;

	ATF_REQUIRE((n = scandir("/proc/self/fd", &de, is_number,
	    by_number)) != -1);
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d",
		    atoi(de[i]->d_name));
		free(de[i]);
		len = readlink(path, target, sizeof(target) - 1);
		if (len == -1)
			continue;	/* scandir's own */
		target[len] = '\0';
		add(s, "descriptor", target);
	}
	free(de);
}

/* The case's cgroup is ours: /proc/self/cgroup, below any cgroup2 mount. */
static void
add_cgroups(char *s)
{
	char line[PATH_MAX], cmd[PATH_MAX + 64];
	FILE *f;

	snprintf(cmd, sizeof(cmd), "r=$(findmnt -rno TARGET -t cgroup2 | "
	    "head -n 1); c=$(sed -n 's/^0:://p' /proc/self/cgroup); "
	    "[ -z \"$r\" ] || find \"$r$c\" -mindepth 1 -type d | sort");
	ATF_REQUIRE((f = popen(cmd, "re")) != NULL);
	while (fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		add(s, "cgroup", line);
	}
	pclose(f);
}

static void
state_take(char *s)
{
	*s = '\0';
	add_mounts(s);
	add_processes(s);
	add_descriptors(s);
	add_cgroups(s);
}

void
test_clean_mark(void)
{
	state_take(marked);
}

/* The lines of one that the other has not. */
static void
print_lines(const char *sign, char *of, const char *other)
{
	char *line, *save = NULL, *copy;

	ATF_REQUIRE((copy = strdup(of)) != NULL);
	for (line = strtok_r(copy, "\n", &save); line != NULL;
	    line = strtok_r(NULL, "\n", &save))
		if (strstr(other, line) == NULL)
			fprintf(stderr, "%s %s\n", sign, line);
	free(copy);
}

void
test_clean_check(void)
{
	static char now[STATE_MAX];
	int ms;

	ATF_REQUIRE_MSG(*marked != '\0', "no test_clean_mark before");
	for (ms = 0; ms < test_clean_ms; ms += 20) {
		state_take(now);
		if (strcmp(now, marked) == 0)
			return;
		usleep(20000);
	}
	print_lines("gone:", marked, now);
	print_lines("left over:", now, marked);
	atf_tc_fail("not as it was; see above");
}
