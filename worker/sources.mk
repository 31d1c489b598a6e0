# A session's terminal: worker outside, init inside.
worker_SRCS =	worker/worker.c worker/broker.c worker/inside.c \
		worker/client.c worker/output.c worker/input.c worker/keep.c \
		worker/end.c worker/task.c worker/turn.c worker/history.c \
		worker/pace.c
worker_LIBS =
worker_STATIC =	yes

init_SRCS =	worker/init.c worker/become.c worker/enter.c worker/writes.c \
		worker/console.c \
		worker/command.c
init_LIBS =
init_STATIC =	yes
