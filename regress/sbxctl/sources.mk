regress/sbxctl/filter_test_SRCS = sbxctl/filter.c sbxctl/plain.c \
	sbxctl/csi.c sbxctl/answers.c sbxctl/strings.c sbxctl/allow.c
regress/sbxctl/keys_test_SRCS = sbxctl/keys.c
REGRESS_HELPERS += regress/sbxctl/fake regress/sbxctl/jsonget
regress/sbxctl/fake_SRCS = regress/sbxctl/fake_suite.c \
	regress/sbxctl/fake_run.c regress/sbxctl/fake_life.c
regress/sbxctl/jsonget_LIBS = jansson
regress/sbxctl/terminal_test_SRCS = regress/sbxctl/onpty.c \
	regress/sbxctl/pty.c
regress/sbxctl/choice_test_SRCS = $(regress/sbxctl/terminal_test_SRCS)
