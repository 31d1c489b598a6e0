# Pure functions that any program may link.
common_SRCS =	common/proto.c common/fields.c common/log.c common/path.c \
		common/escape.c common/digest.c common/env.c \
		common/ids.c common/clock.c common/put.c
