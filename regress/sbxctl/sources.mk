regress/sbxctl/filter_test_SRCS = sbxctl/filter.c sbxctl/csi.c sbxctl/answers.c
