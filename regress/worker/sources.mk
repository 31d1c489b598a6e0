# inside is what the tests run in their sessions.
REGRESS_HELPERS += regress/worker/inside
regress/worker/terminal_test_SRCS = regress/worker/session.c
regress/worker/command_test_SRCS = regress/worker/session.c
regress/worker/confine_test_SRCS = regress/worker/session.c \
	regress/lib/inject.c
regress/worker/hostile_test_SRCS = regress/worker/session.c \
	regress/lib/scripted.c regress/lib/sample.c
