#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/ptrace.h>

#include "landd/blocks.h"
#include "landing_lib.h"

/*
 * A tree as text
 */
static int
by_name(const FTSENT **a, const FTSENT **b)
{
	return (strcmp((*a)->fts_name, (*b)->fts_name));
}

static void
print_attributes(FILE *f, const char *path)
{
	char	names[4096], value[4096], *p;
	ssize_t	n, len, i;

	if ((n = llistxattr(path, names, sizeof(names))) <= 0)
		return;
	for (p = names; p < names + n; p += strlen(p) + 1) {
		len = lgetxattr(path, p, value, sizeof(value));
		fprintf(f, " %s=", p);
		for (i = 0; i < len; i++)
			fprintf(f, "%02x", (unsigned char)value[i]);
	}
}

static void
print_entry(FILE *f, const FTSENT *e, const char *rel, bool exact)
{
	const struct stat	*st = e->fts_statp;
	char			 text[PATH_MAX], hex[2 * DIGEST_LEN + 1];
	uint8_t			 sha[DIGEST_LEN];
	ssize_t			 n;
	int			 fd;

	fprintf(f, "%06o %s", (unsigned int)st->st_mode, rel);
	if (exact) {
		fprintf(f, " %u:%u i%lu", st->st_uid, st->st_gid,
		    (unsigned long)st->st_ino);
		print_attributes(f, e->fts_accpath);
	}
	if (S_ISLNK(st->st_mode)) {
		n = readlink(e->fts_accpath, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = '\0';
		fprintf(f, " -> %s", text);
	} else if (S_ISREG(st->st_mode)) {
		if ((fd = open(e->fts_accpath, O_RDONLY)) != -1) {
			ATF_REQUIRE(blocks_digest(fd, sha, NULL) == 0);
			digest_hex(sha, hex);
			fprintf(f, " %.16s", hex);
			close(fd);
		}
	}
	fputc('\n', f);
}

char *
world_tree(const struct world *w, const char *which, bool exact)
{
	/* A case ends with its comparison: what it does not free by then is
	 * no leak of what is tested. */
	static char	*last[16];
	static size_t	 n;
	char	 root[2 * PATH_MAX], *argv[] = { root, NULL }, *out;
	size_t	 len;
	FILE	*f;
	FTS	*fts;
	FTSENT	*e;

	snprintf(root, sizeof(root), "%s/%s", w->dir, which);
	ATF_REQUIRE((f = open_memstream(&out, &len)) != NULL);
	ATF_REQUIRE((fts = fts_open(argv, FTS_PHYSICAL | FTS_NOCHDIR,
	    by_name)) != NULL);
	while ((e = fts_read(fts)) != NULL) {
		const char *rel = e->fts_path + strlen(root);

		rel += *rel == '/';
		if (e->fts_info == FTS_DP)
			continue;
		if (strcmp(rel, ".git") == 0 ||
		    strncmp(rel, ".sbx-land-", 10) == 0) {
			fts_set(fts, e, FTS_SKIP);
			continue;
		}
		/* The root's own times and link count are no matter. */
		if (*rel != '\0')
			print_entry(f, e, rel, exact);
	}
	fts_close(fts);
	fclose(f);
	last[n++ % (sizeof(last) / sizeof(last[0]))] = out;
	return (out);
}

/*
 * One system call of a child
 */
#if defined(__x86_64__)
static void
call_fail(pid_t pid, int err, bool entry)
{
	struct user_regs_struct	r;

	ATF_REQUIRE(ptrace(PTRACE_GETREGS, pid, NULL, &r) == 0);
	if (entry)
		r.orig_rax = (unsigned long long)-1;
	else
		r.rax = (unsigned long long)-err;
	ATF_REQUIRE(ptrace(PTRACE_SETREGS, pid, NULL, &r) == 0);
}
#elif defined(__aarch64__)
static void
call_fail(pid_t pid, int err, bool entry)
{
	struct user_regs_struct	r;
	struct iovec		iov = { &r, sizeof(r) };
	int			none = -1;

	if (entry) {
		iov = (struct iovec){ &none, sizeof(none) };
		ATF_REQUIRE(ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL,
		    &iov) == 0);
		return;
	}
	ATF_REQUIRE(ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &iov) == 0);
	r.regs[0] = (unsigned long long)-err;
	ATF_REQUIRE(ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &iov) == 0);
}
#else
#error "how is a system call made to fail on this architecture?"
#endif

/* brk is none that fails with an errno: the C library would take that for an
 * address. */
static bool
call_counts(pid_t pid)
{
	struct __ptrace_syscall_info	info;

	ATF_REQUIRE(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) >
	    0);
	return (info.entry.nr != SYS_brk);
}

/* The child runs to the next stop at a system call; false: it has ended. */
static bool
trace_step(pid_t pid, int *status)
{
	int	sig = 0;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(intptr_t)sig) ==
		    -1)
			atf_tc_fail("ptrace: %s", strerror(errno));
		ATF_REQUIRE(waitpid(pid, status, 0) == pid);
		if (WIFEXITED(*status) || WIFSIGNALED(*status))
			return (false);
		if (WSTOPSIG(*status) == (SIGTRAP | 0x80))
			return (true);
		sig = WSTOPSIG(*status);
	}
}

static pid_t
trace_start(struct world *w, int (*fn)(struct world *))
{
	pid_t	pid;
	int	status;

	fflush(NULL);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(fn(w) == 0 ? 0 : 1);
	}
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	ATF_REQUIRE(ptrace(PTRACE_SETOPTIONS, pid, NULL,
	    PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) == 0);
	return (pid);
}

int
world_trace(struct world *w, int (*fn)(struct world *), int n,
    enum world_at what, int err, void (*hook)(struct world *), int *status)
{
	pid_t	pid = trace_start(w, fn);
	int	calls = 0;

	while (trace_step(pid, status)) {	/* at an entry */
		if (!call_counts(pid)) {
			if (!trace_step(pid, status))
				break;
			continue;
		}
		calls++;
		if (calls == n && what == WORLD_KILL) {
			kill(pid, SIGKILL);
			ATF_REQUIRE(waitpid(pid, status, 0) == pid);
			return (calls);
		}
		if (calls == n && what == WORLD_HOOK)
			hook(w);
		if (calls == n && what == WORLD_FAIL)
			call_fail(pid, err, true);
		if (!trace_step(pid, status))	/* at its exit */
			break;
		if (calls == n && what == WORLD_FAIL)
			call_fail(pid, err, false);
	}
	return (calls);
}

/*
 * Filesystems
 */
void
world_fs(const char *dir, const char *type, int mib)
{
	if (mkdir(dir, 0755) == -1 && errno != EEXIST)
		atf_tc_fail("mkdir %s: %s", dir, strerror(errno));
	if (strcmp(type, "tmpfs") == 0)
		ATF_REQUIRE(test_sh("mount -t tmpfs -o size=%dm,mode=755 "
		    "world '%s'", mib, dir) == 0);
	else
		ATF_REQUIRE(test_sh("truncate -s %dM '%s.img' && "
		    "mkfs.%s -q -F -m 0 '%s.img' && "
		    "mount -o loop '%s.img' '%s' && "
		    "rm -rf '%s/lost+found'", mib, dir, type, dir, dir, dir,
		    dir) == 0);
}
