landd_SRCS =	landd/landd.c landd/seal.c landd/job.c landd/job_child.c \
		landd/keep.c landd/key.c
landd_LIBS =
landd_STATIC =	yes

# The writer, which tests link too.
landing_SRCS =	landd/write.c landd/recover.c landd/plan.c landd/plan_dirs.c \
		landd/check.c landd/folder.c landd/stage_target.c \
		landd/sight.c landd/forward.c landd/back.c landd/finish.c \
		landd/journal.c landd/baseline.c landd/records.c landd/tree.c
# What makes the change set, likewise.
review_SRCS =	landd/buf.c landd/content.c landd/hide.c landd/ignore.c \
		landd/names.c landd/quote.c landd/tracked.c landd/wildmatch.c

land_SRCS =	landd/land.c landd/land_io.c landd/land_items.c \
		$(landing_SRCS) $(review_SRCS)
land_LIBS =	libgit2
