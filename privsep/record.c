#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <msgpack.h>

#include "record.h"

#define REQ	true
#define OPT	false
#define RECORD_MAX	(2 * LIMIT_LARGE)

typedef struct m_RECORD self;
#define FIELD_ROW(t, n, need, m)					\
	{ #n, FIELD_##t, need, offsetof(self, n), m },
static const struct field record_fields[] = {
	PROTO_FIELDS_RECORD(FIELD_ROW)
};
#define NFIELDS	(sizeof(record_fields) / sizeof(record_fields[0]))

static int
record_decode(struct record *rec, uint8_t *raw, size_t len, const char **why)
{
	memset(rec, 0, sizeof(*rec));
	rec->raw = raw;
	rec->len = len;
	if ((rec->zone = msgpack_zone_new(8192)) == NULL) {
		*why = "out of memory";
		return (-1);
	}
	return (fields_decode(record_fields, NFIELDS, raw, len, false, &rec->r,
	    rec->zone, why));
}

int
record_copy(struct record *rec, const struct m_RECORD *from)
{
	const char	*why;
	uint8_t		*raw;
	size_t		 len;

	memset(rec, 0, sizeof(*rec));
	if (fields_encode(record_fields, NFIELDS, from, &raw, &len) == -1)
		return (-1);
	if (record_decode(rec, raw, len, &why) == -1) {
		record_free(rec);
		errno = EINVAL;
		return (-1);
	}
	return (0);
}

void
record_free(struct record *rec)
{
	if (rec->zone != NULL)
		msgpack_zone_free(rec->zone);
	free(rec->raw);
	memset(rec, 0, sizeof(*rec));
}

const char *
record_string(struct record *rec, const char *s)
{
	size_t	 len = strlen(s) + 1;
	char	*copy;

	if ((copy = msgpack_zone_malloc(rec->zone, len)) != NULL)
		memcpy(copy, s, len);
	return (copy);
}

static int
write_all(int fd, const uint8_t *p, size_t len)
{
	ssize_t	n;

	for (; len > 0; p += n, len -= (size_t)n)
		if ((n = write(fd, p, len)) == -1)
			return (-1);
	return (0);
}

int
record_save(const struct record *rec, int dir)
{
	uint8_t	*raw;
	size_t	 len;
	int	 fd, saved, r = -1;

	if (fields_encode(record_fields, NFIELDS, &rec->r, &raw, &len) == -1)
		return (-1);
	fd = openat(dir, "record.new", O_WRONLY | O_CREAT | O_TRUNC |
	    O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd != -1 && write_all(fd, raw, len) == 0 &&
	    renameat(dir, "record.new", dir, "record") == 0)
		r = 0;
	saved = errno;
	if (fd != -1)
		close(fd);
	if (r == -1)
		unlinkat(dir, "record.new", 0);
	free(raw);
	errno = saved;
	return (r);
}

static uint8_t *
read_all(int fd, size_t *len, const char **why)
{
	struct stat	 st;
	uint8_t		*raw;
	ssize_t		 n;

	if (fstat(fd, &st) == -1 || st.st_size > RECORD_MAX) {
		*why = "not a record's size";
		return (NULL);
	}
	if ((raw = malloc((size_t)st.st_size + 1)) == NULL) {
		*why = "out of memory";
		return (NULL);
	}
	for (*len = 0; *len < (size_t)st.st_size; *len += (size_t)n) {
		n = read(fd, raw + *len, (size_t)st.st_size - *len);
		if (n <= 0) {
			*why = n == 0 ? "cut short" : strerror(errno);
			free(raw);
			return (NULL);
		}
	}
	return (raw);
}

int
record_load(struct record *rec, int dir, const char **why)
{
	uint8_t	*raw;
	size_t	 len;
	int	 fd;

	memset(rec, 0, sizeof(*rec));
	fd = openat(dir, "record", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd == -1) {
		*why = errno == ENOENT ? "none" : strerror(errno);
		return (-1);
	}
	raw = read_all(fd, &len, why);
	close(fd);
	if (raw == NULL)
		return (-1);
	if (record_decode(rec, raw, len, why) == -1)
		return (-1);
	if (rec->r.version != RECORD_VERSION) {
		*why = "of another version of this program";
		return (-1);
	}
	return (0);
}
