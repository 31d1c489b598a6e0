# The frame that all programs stand on.
frame_SRCS =	privsep/imsg.c privsep/peer.c privsep/proc.c privsep/drop.c \
		privsep/pledge.c privsep/unveil.c privsep/caps.c \
		privsep/whole.c privsep/mode.c privsep/outside.c

# Runs while building: promise sets to BPF.
mkfilter_SRCS =	privsep/mkfilter.c privsep/promises.c

sbxd_SRCS =	privsep/sbxd.c privsep/sbxd_start.c privsep/sbxd_where.c \
		privsep/sbxd_uids.c \
		privsep/sbxd_cgroup.c privsep/sbxd_outer.c privsep/sbxd_conf.c \
		privsep/sbxd_client.c privsep/sbxd_session.c \
		privsep/sbxd_new.c privsep/sbxd_life.c privsep/sbxd_ask.c privsep/sbxd_gc.c privsep/sbxd_worker.c \
		privsep/sbxd_helper.c privsep/sbxd_job.c \
		privsep/sbxd_clean.c privsep/sbxd_end.c \
		privsep/sbxd_review.c privsep/sbxd_outside.c \
		privsep/sbxd_recover.c \
		privsep/sbxd_forget.c privsep/sbxd_stream.c \
		privsep/sbxd_remove.c privsep/sbxd_full.c \
		privsep/sbxd_doctor.c privsep/sbxd_attach.c \
		privsep/sbxd_hold.c privsep/sbxd_fds.c \
		privsep/sbxd_audit.c privsep/record.c common/commit.c
sbxd_LIBS =
sbxd_STATIC =	libs

spawn_SRCS =	privsep/spawn.c privsep/spawn_clone.c privsep/spawn_session.c \
		privsep/spawn_live.c privsep/spawn_spare.c \
		privsep/spawn_become.c privsep/spawn_outer.c \
		privsep/spawn_cgroup.c privsep/spawn_stop.c \
		privsep/spawn_land.c
spawn_LIBS =
spawn_STATIC =	yes

conf_SRCS =	privsep/conf.c privsep/conf_parse.c
conf_LIBS =	jansson
conf_STATIC =	yes
