# The real mountd, driven: see drive.h.
mountd_DRIVE := regress/mountd/drive.c regress/mountd/drive_in.c \
	regress/lib/scripted.c \
	regress/lib/sample.c regress/lib/inject.c
$(foreach t,$(wildcard regress/mountd/*_test.c),$(eval \
    $(t:.c=)_SRCS = $(mountd_DRIVE)))
regress/mountd/clean_test_SRCS += regress/mountd/changes.c
regress/mountd/undo_test_SRCS += regress/mountd/changes.c regress/lib/trip.c
regress/mountd/clean_long_test_SRCS += regress/mountd/changes.c
# By its parts: what an open that fails leaves shows in no answer of mountd's.
regress/mountd/opendir_test_SRCS = $(filter-out mountd/mountd.c,$(mountd_SRCS))
