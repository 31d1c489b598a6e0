mountd_SRCS =	mountd/mountd.c
mountd_LIBS =
mountd_STATIC =	yes
