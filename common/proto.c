#include <stddef.h>

#include "fields.h"
#include "proto.h"

#define REQ	true
#define OPT	false

/*
 * A field list does not know the struct it is in, so each table is made in a
 * function of its own where the name "self" stands for that struct.
 */
#define FIELD_ROW(t, n, need, m)					\
	{ #n, FIELD_##t, need, offsetof(self, n), m },

#define X(name)								\
static const struct field *						\
fields_##name(size_t *n)						\
{									\
	typedef struct m_##name self;					\
	static const struct field table[] = {				\
		PROTO_FIELDS_##name(FIELD_ROW)				\
	};								\
									\
	*n = sizeof(table) / sizeof(table[0]);				\
	return (table);							\
}
PROTO_BODIES(X)
#undef X

struct m_NONE {
	char	unused;
};

static const struct field *
fields_NONE(size_t *n)
{
	*n = 0;
	return (NULL);
}

static struct proto_row proto_rows[MSG_COUNT] = {
#define X(msg, body, from_, to_, fd_, max_)				\
	[MSG_##msg] = { .name = #msg, .from = (from_), .to = (to_),	\
	    .fd = (fd_), .max = (max_), .size = sizeof(struct m_##body) },
	PROTO_MESSAGES(X)
#undef X
};

const struct proto_row *
proto_row(uint32_t type)
{
	struct proto_row	*row;

	if (type == MSG_INVALID || type >= MSG_COUNT)
		return (NULL);
	row = &proto_rows[type];
	if (row->fields != NULL)
		return (row);
	switch (type) {
#define X(msg, body, from_, to_, fd_, max_)				\
	case MSG_##msg:							\
		row->fields = fields_##body(&row->nfields);		\
		break;
	PROTO_MESSAGES(X)
#undef X
	}
	return (row);
}

const char *
proto_name(uint32_t type)
{
	if (type == MSG_INVALID || type >= MSG_COUNT)
		return ("unknown");
	return (proto_rows[type].name);
}

bool
proto_may(uint32_t type, enum role from, enum role to)
{
	if (type == MSG_INVALID || type >= MSG_COUNT)
		return (false);
	return ((proto_rows[type].from & (unsigned int)from) != 0 &&
	    (proto_rows[type].to & (unsigned int)to) != 0);
}

const char *
role_name(enum role role)
{
	switch (role) {
	case ROLE_CLIENT:
		return ("client");
	case ROLE_SBXD:
		return ("sbxd");
	case ROLE_SPAWN:
		return ("spawn");
	case ROLE_NETD:
		return ("netd");
	case ROLE_MOUNTD:
		return ("mountd");
	case ROLE_LANDD:
		return ("landd");
	case ROLE_LAND:
		return ("land");
	case ROLE_WORKER:
		return ("worker");
	case ROLE_INIT:
		return ("init");
	case ROLE_CONF:
		return ("conf");
	}
	return ("unknown");
}
