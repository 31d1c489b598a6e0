regress/privsep/imsg_test_SRCS = regress/lib/scripted.c regress/lib/sample.c
regress/privsep/parts_test_SRCS = regress/lib/scripted.c regress/lib/sample.c
regress/privsep/spawn_test_SRCS = regress/lib/scripted.c regress/lib/sample.c
regress/privsep/peer_test_SRCS = regress/lib/scripted.c regress/lib/sample.c
regress/privsep/conf_test_SRCS = regress/lib/scripted.c regress/lib/sample.c
regress/privsep/refuse_test_SRCS = regress/lib/scripted.c regress/lib/sample.c
