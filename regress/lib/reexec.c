/*
 * Linked into every test program in C: a case's first act is to execute the
 * program again by way of isolate. Listing the cases (-l) needs none of that.
 */
#include <err.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef SBX_SANITIZED
/* libatf-c keeps its lists of cases until the end; that is its own affair. */
const char	*__lsan_default_suppressions(void);
const char	*__lsan_default_options(void);

const char *
__lsan_default_options(void)
{
	return "print_suppressions=0";
}

const char *
__lsan_default_suppressions(void)
{
	return "leak:libatf-c\n";
}
#endif

static void reexec(int, char **) __attribute__((constructor));

static void
reexec(int argc, char **argv)
{
	char self[PATH_MAX], isolate[PATH_MAX], **args, *slash;
	ssize_t n;
	int i;

	if (getenv("SBX_ISOLATED") != NULL)
		return;
	for (i = 1; i < argc; i++)
		if (strcmp(argv[i], "-l") == 0)
			return;
	if ((n = readlink("/proc/self/exe", self, sizeof(self) - 1)) == -1)
		err(1, "/proc/self/exe");
	self[n] = '\0';
	/* BUILD/regress/FOLDER/NAME, beside it BUILD/regress/lib/isolate. */
	strlcpy(isolate, self, sizeof(isolate));
	for (i = 0; i < 2; i++)
		if ((slash = strrchr(isolate, '/')) != NULL)
			*slash = '\0';
	if (strlcat(isolate, "/lib/isolate", sizeof(isolate)) >=
	    sizeof(isolate))
		errx(1, "%s: path too long", self);
	if ((args = calloc((size_t)argc + 2, sizeof(*args))) == NULL)
		err(1, NULL);
	args[0] = isolate;
	args[1] = self;
	for (i = 1; i < argc; i++)
		args[i + 1] = argv[i];
	execv(isolate, args);
	err(1, "%s", isolate);
}
