regress/netd/helper_test_SRCS = regress/lib/scripted.c regress/lib/sample.c
