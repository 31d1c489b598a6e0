# What any program may link: no event loop, no process of its own.
common_SRCS =	common/proto.c common/fields.c common/log.c common/path.c common/roots.c \
		common/escape.c common/digest.c common/env.c \
		common/ids.c common/clock.c common/slice.c common/put.c \
		common/state.c common/utf8.c common/origins.c
