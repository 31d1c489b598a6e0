landd_SRCS =	landd/landd.c landd/seal.c landd/job.c landd/job_child.c \
		landd/keep.c landd/key.c
landd_LIBS =
landd_STATIC =	yes

# The writer, which tests link too.
landing_SRCS =	landd/write.c landd/recover.c landd/plan.c landd/plan_dirs.c \
		landd/check.c landd/folder.c landd/stage_target.c \
		landd/sight.c landd/forward.c landd/back.c landd/finish.c \
		landd/forget.c landd/journal.c landd/baseline.c \
		landd/records.c landd/tree.c landd/blocks.c
# What makes the change set, the patch and the manifest, likewise.
review_SRCS =	landd/changeset.c landd/walk.c landd/fail.c landd/item.c landd/entry.c \
		landd/unit.c landd/drift.c landd/settle.c landd/rename.c \
		landd/names.c landd/origins.c landd/content.c landd/xattr.c \
		landd/hide.c landd/ignore.c landd/wildmatch.c landd/tracked.c \
		landd/patch.c landd/diff.c landd/collide.c landd/binary.c \
		landd/replay.c landd/quote.c landd/buf.c landd/manifest.c

land_SRCS =	landd/land.c landd/land_io.c landd/land_items.c \
		landd/land_write.c landd/land_outside.c landd/outside.c \
		$(landing_SRCS) $(review_SRCS)
# zlib comes with libgit2, whose package depends on its headers too.
land_LIBS =	libgit2 zlib
