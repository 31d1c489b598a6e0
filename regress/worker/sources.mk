# inside is what the tests run in their sessions.
REGRESS_HELPERS += regress/worker/inside

worker_SESSION := regress/worker/session.c regress/worker/session_start.c
worker_SCRIPTED := $(worker_SESSION) regress/lib/scripted.c \
	regress/lib/sample.c
regress/worker/pace_test_SRCS = worker/pace.c
regress/worker/terminal_test_SRCS = $(worker_SESSION)
regress/worker/command_test_SRCS = $(worker_SESSION)
regress/worker/confine_test_SRCS = $(worker_SESSION) regress/lib/inject.c
regress/worker/hostile_test_SRCS = $(worker_SCRIPTED)
regress/worker/client_test_SRCS = $(worker_SCRIPTED)
regress/worker/lifeline_test_SRCS = $(worker_SCRIPTED)
regress/worker/attach_test_SRCS = $(worker_SESSION) regress/worker/viewer.c
regress/worker/exec_test_SRCS = $(worker_SCRIPTED) regress/worker/viewer.c
regress/worker/attach_long_test_SRCS = $(worker_SESSION) \
	regress/worker/viewer.c
