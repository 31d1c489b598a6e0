worker_SRCS =	worker/worker.c
worker_LIBS =
worker_STATIC =	yes

init_SRCS =	worker/init.c
init_LIBS =
init_STATIC =	yes
