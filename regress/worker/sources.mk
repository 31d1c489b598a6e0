regress/worker/terminal_test_SRCS = regress/worker/session.c
