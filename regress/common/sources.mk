regress/common/fields_test_SRCS = regress/lib/sample.c
