landd_SRCS =	landd/landd.c
landd_LIBS =
landd_STATIC =	yes

land_SRCS =	landd/land.c
land_LIBS =	libgit2
