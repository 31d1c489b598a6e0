regress/common/fields_test_SRCS = regress/lib/sample.c
regress/common/path_test_SRCS = regress/lib/sample.c
regress/common/escape_test_SRCS = regress/lib/sample.c
