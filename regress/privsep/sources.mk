regress/privsep/imsg_test_SRCS = regress/lib/scripted.c regress/lib/sample.c
regress/privsep/parts_test_SRCS = regress/lib/scripted.c regress/lib/sample.c
regress/privsep/spawn_test_SRCS = regress/lib/scripted.c regress/lib/sample.c \
	regress/privsep/spawned.c
regress/privsep/spare_test_SRCS = regress/lib/scripted.c regress/lib/sample.c \
	regress/privsep/spawned.c
regress/privsep/peer_test_SRCS = regress/lib/scripted.c regress/lib/sample.c
regress/privsep/conf_test_SRCS = regress/lib/scripted.c regress/lib/sample.c
regress/privsep/refuse_test_SRCS = regress/lib/scripted.c regress/lib/sample.c
regress/privsep/broker_test_SRCS = regress/lib/scripted.c regress/lib/sample.c \
	regress/privsep/broker.c
regress/privsep/fake_helper_SRCS = regress/lib/sample.c
REGRESS_HELPERS += regress/privsep/fake_helper
regress/privsep/live_test_SRCS = regress/lib/scripted.c regress/lib/sample.c \
	regress/lib/inject.c regress/privsep/broker.c
regress/privsep/audit_test_SRCS = privsep/sbxd_audit.c
regress/privsep/outside_test_SRCS = privsep/outside.c
regress/privsep/outside_test_LIBS = libseccomp
regress/privsep/room_test_SRCS = regress/lib/scripted.c regress/lib/sample.c \
	regress/lib/inject.c regress/privsep/broker.c
