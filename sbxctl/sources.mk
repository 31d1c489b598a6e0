sbxctl_SRCS =	sbxctl/sbxctl.c sbxctl/options.c sbxctl/say.c sbxctl/progress.c \
		sbxctl/connect.c sbxctl/suite.c sbxctl/left.c sbxctl/who.c \
		sbxctl/project.c sbxctl/run.c sbxctl/early.c sbxctl/life.c sbxctl/store.c \
		sbxctl/explain.c sbxctl/text_life.c sbxctl/relay.c sbxctl/sink.c \
		sbxctl/terminal.c sbxctl/filter.c sbxctl/plain.c sbxctl/csi.c \
		sbxctl/answers.c sbxctl/strings.c sbxctl/allow.c sbxctl/choice.c \
		sbxctl/session.c sbxctl/pick.c sbxctl/review.c sbxctl/outside.c \
		sbxctl/text_outside.c sbxctl/landing.c sbxctl/doctor.c \
		sbxctl/out_text.c sbxctl/text_session.c sbxctl/column.c \
		sbxctl/out_json.c sbxctl/json.c sbxctl/pager.c \
		sbxctl/attach.c sbxctl/exec.c sbxctl/keys.c common/commit.c
# The password file's users come through NSS, which a static program lacks:
# libc is linked dynamically. The others would cost 0.4 ms at each start.
sbxctl_STATIC =	libs
sbxctl_LIBS =	jansson
