/*
 * The fuzzers' first inputs: "seeds DIR NAME..." makes DIR/NAME. Those of
 * messages come from the list in proto.h.
 */
#include <sys/stat.h>

#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fields.h"
#include "common/proto.h"
#include "fuzz.h"
#include "privsep/imsg.h"
#include "regress/lib/sample.h"

static const char	*dir;

static void
put(const char *fuzzer, const char *name, const void *p, size_t len)
{
	char	path[PATH_MAX];
	int	fd;

	snprintf(path, sizeof(path), "%s/%s/%s", dir, fuzzer, name);
	if ((fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644)) == -1 ||
	    write(fd, p, len) != (ssize_t)len || close(fd) == -1)
		err(1, "%s", path);
}

/* The number of the first role in a row's set. */
static uint8_t
role_number(unsigned int set)
{
	return ((uint8_t)__builtin_ctz(set));
}

static void
message(uint32_t type, enum sample_size size, struct sample_rng *r)
{
	const struct proto_row	*row = proto_row(type);
	struct imsg_hdr		 hdr = { .type = type, .peerid = 7 };
	size_t			 len, all;
	uint8_t			*body = sample_encoded(type, size, r, &len);
	uint8_t			*out = malloc(2 + FUZZ_PIECE + sizeof(hdr) +
				    len);
	char			 name[64];

	if (out == NULL)
		err(1, "seed");
	snprintf(name, sizeof(name), "%s-%d", row->name, (int)size);
	out[0] = (uint8_t)type;
	memcpy(out + 1, body, len);
	put("fields", name, out, 1 + len);
	all = sizeof(hdr) + len;
	hdr.len = (uint32_t)all | (row->fd == FD_ONE ? IMSG_FD_MARK : 0);
	out[0] = role_number(row->from);
	/* Not to itself, where there is another. */
	out[1] = role_number(row->to & ~(1U << out[0]) ?
	    row->to & ~(1U << out[0]) : row->to);
	out[2] = (uint8_t)(all & 0xff);
	out[3] = (uint8_t)(all >> 8);
	out[4] = row->fd == FD_ONE;
	memcpy(out + 5, &hdr, sizeof(hdr));
	memcpy(out + 5 + sizeof(hdr), body, len);
	if (all <= LIMIT_FRAME)
		put("imsg", name, out, 5 + all);
	free(out);
	free(body);
}

static void
messages(void)
{
	struct sample_rng	r = { 12 };
	uint32_t		type;

	for (type = MSG_INVALID + 1; type < MSG_COUNT; type++) {
		message(type, SAMPLE_LEAST, &r);
		message(type, SAMPLE_SOME, &r);
	}
}

static void
texts(void)
{
	static const char *const	conf[] = {
		"{}", "{ // x\n}", "[[[[[[1]]]]]]",
		"{ \"state\": \"/var/lib/sbx\", \"socket\": \"/run/s\" }",
		"{ \"socketGroup\": \"sbx\", \"roles\": { \"user\": [1001] } }",
		"{ \"roles\": { \"admin\": [0, \"root\"], \"user\": [] } }",
		"{\"state\":\"/a/../b\"}", "{\"roles\":{\"user\":[-1,1.5]}}"
	};
	static const char *const	text[] = {
		"plain", "a\nb\tc", "\033[31m", "\xc2\x9b", "\xe2\x80\xae",
		"\xf3\xa0\x80\x81", "\xff\xfe", "/a/../b/./c//d", "../x"
	};
	char				name[16];
	size_t				i;

	for (i = 0; i < sizeof(conf) / sizeof(conf[0]); i++) {
		snprintf(name, sizeof(name), "%zu", i);
		put("conf", name, conf[i], strlen(conf[i]));
	}
	for (i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		snprintf(name, sizeof(name), "%zu", i);
		put("escape", name, text[i], strlen(text[i]));
	}
}

int
main(int argc, char **argv)
{
	char	path[PATH_MAX];
	int	i;

	if (argc < 3)
		errx(2, "usage: seeds folder fuzzer ...");
	dir = argv[1];
	if (mkdir(dir, 0755) == -1)
		err(1, "%s", dir);
	for (i = 2; i < argc; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, argv[i]);
		if (mkdir(path, 0755) == -1)
			err(1, "%s", path);
	}
	messages();
	texts();
	return (0);
}
