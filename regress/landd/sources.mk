# The writer's tests link the writer.
regress/landd/landing_crash_test_SRCS = regress/landd/landing_crash.c \
	regress/landd/landing_lib.c regress/landd/landing_tree.c \
	$(landing_SRCS)
regress/landd/landing_crash_long_test_SRCS = \
	$(regress/landd/landing_crash_test_SRCS)
