mountd_SRCS =	mountd/mountd.c mountd/session.c mountd/told.c mountd/job.c \
		mountd/fault.c mountd/fs.c mountd/inside.c mountd/stage.c mountd/at.c mountd/attr.c \
		mountd/copy.c mountd/rm.c \
		mountd/mounts.c mountd/resolve.c mountd/hide.c mountd/mask.c \
		mountd/layer.c mountd/stock.c mountd/overlay.c mountd/point.c \
		mountd/fresh.c mountd/dev.c mountd/procfs.c \
		mountd/runfiles.c mountd/rest.c mountd/snap.c mountd/sockets.c mountd/xattr.c \
		mountd/twin.c \
		mountd/kind.c mountd/plan.c mountd/tree.c \
		mountd/prep.c mountd/early.c mountd/spare.c mountd/view.c \
		mountd/outside.c mountd/copies.c mountd/gitdir.c \
		mountd/clean.c mountd/aside.c mountd/kept.c \
		mountd/strip.c mountd/steps.c mountd/origins.c mountd/unfold.c \
		mountd/through.c mountd/pending.c mountd/life.c \
		mountd/probe.c mountd/sweep.c mountd/measure.c \
		mountd/access.c mountd/explain.c mountd/explain_place.c \
		mountd/explain_look.c
mountd_LIBS =
mountd_STATIC =	yes
