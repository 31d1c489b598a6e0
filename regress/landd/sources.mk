# The writer's tests link the writer.
landing_test_SRCS = regress/landd/landing_lib.c \
	regress/landd/landing_tree.c $(landing_SRCS)
regress/landd/landing_write_test_SRCS = $(landing_test_SRCS)
regress/landd/landing_names_test_SRCS = $(landing_test_SRCS)
regress/landd/landing_refuse_test_SRCS = $(landing_test_SRCS)
regress/landd/landing_forget_test_SRCS = $(landing_test_SRCS)
regress/landd/landing_back_test_SRCS = $(landing_test_SRCS)
regress/landd/landing_crash_test_SRCS = regress/landd/landing_crash.c \
	regress/landd/landing_owner.c \
	$(landing_test_SRCS)
regress/landd/landing_crash_long_test_SRCS = \
	$(regress/landd/landing_crash_test_SRCS)
regress/landd/landing_random_test_SRCS = regress/landd/review_gen.c \
	regress/landd/review_lib.c regress/landd/review_tree.c \
	$(landing_SRCS) $(review_SRCS)
regress/landd/landing_random_test_LIBS = libgit2 zlib

# The review's link the review.
review_test_SRCS = regress/landd/review_lib.c regress/landd/review_tree.c \
	landd/tree.c landd/blocks.c $(review_SRCS)
regress/landd/review_walk_test_SRCS = $(review_test_SRCS)
regress/landd/review_walk_test_LIBS = libgit2 zlib
review_random_SRCS = regress/landd/review_random.c \
	regress/landd/review_gen.c $(review_test_SRCS)
regress/landd/review_random_test_SRCS = $(review_random_SRCS)
regress/landd/review_random_test_LIBS = libgit2 zlib
regress/landd/review_random_long_test_SRCS = $(review_random_SRCS)
regress/landd/review_random_long_test_LIBS = libgit2 zlib
regress/landd/review_body_test_SRCS = landd/diff.c landd/collide.c \
	landd/binary.c landd/replay.c landd/buf.c
regress/landd/review_body_test_LIBS = libgit2 zlib
regress/landd/blocks_test_SRCS = landd/blocks.c
regress/landd/outside_test_SRCS = landd/outside.c landd/names.c landd/tree.c \
	landd/blocks.c
regress/landd/review_drift_test_SRCS = $(review_test_SRCS)
regress/landd/review_drift_test_LIBS = libgit2 zlib
regress/landd/review_never_test_SRCS = $(review_test_SRCS)
regress/landd/review_never_test_LIBS = libgit2 zlib
regress/landd/review_patch_test_SRCS = $(review_test_SRCS)
regress/landd/review_patch_test_LIBS = libgit2 zlib
regress/landd/review_ignore_test_SRCS = regress/landd/review_gen.c \
	$(review_test_SRCS)
regress/landd/review_ignore_test_LIBS = libgit2 zlib

# landd's and its child's talk to the real programs.
landd_test_SRCS = regress/landd/landd_lib.c regress/lib/scripted.c \
	regress/lib/sample.c
regress/landd/landd_job_test_SRCS = $(landd_test_SRCS)
regress/landd/landd_keep_test_SRCS = $(landd_test_SRCS)
regress/landd/landd_child_test_SRCS = $(landd_test_SRCS)
regress/landd/review_speed_long_test_SRCS = $(review_test_SRCS)
regress/landd/review_speed_long_test_LIBS = libgit2 zlib
regress/landd/landd_end_test_SRCS = regress/landd/mill.c \
	regress/landd/hands.c $(landd_test_SRCS) \
	regress/landd/review_lib.c regress/landd/review_tree.c \
	landd/tree.c landd/blocks.c $(review_SRCS)
regress/landd/landd_end_test_LIBS = libgit2 zlib
