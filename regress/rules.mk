# Tests: every regress/FOLDER/NAME_test.c and NAME_test.sh is a program that
# kyua runs, its cases by way of regress/lib/isolate.c. NAME_long_test.* are
# check-long's. See regress/README.
#
# A regress/FOLDER/sources.mk may add, for FOLDER/NAME:
#	regress/FOLDER/NAME_SRCS	further files of the suite to link
#	regress/FOLDER/NAME_LIBS	pkg-config names
#	REGRESS_HELPERS			regress/FOLDER/NAME: programs that the
#					tests run, one C file each
-include $(wildcard regress/*/sources.mk)

test_lib_SRCS =	regress/lib/reexec.c regress/lib/test.c \
		regress/lib/clean.c regress/lib/helper.c
TEST_C :=	$(patsubst %.c,%,$(wildcard regress/*/*_test.c))
TEST_SH :=	$(patsubst %.sh,%,$(wildcard regress/*/*_test.sh))
ISOLATE =	$(BUILD)/regress/lib/isolate

# What compiles for tests only (a suite's own file is in OBJS already).
TEST_SRCS :=	$(sort $(test_lib_SRCS) \
		$(TEST_C:%=%.c) $(REGRESS_HELPERS:%=%.c) \
		$(filter-out $(OBJ_SRCS),$(foreach t,$(TEST_C) \
		$(REGRESS_HELPERS),$($(t)_SRCS))))
TEST_OBJS :=	$(call obj,$(TEST_SRCS))
$(call obj,$(test_lib_SRCS) $(TEST_C:%=%.c)): OBJ_LIBS += atf-c
$(foreach t,$(TEST_C),$(eval $(call obj,$(t).c): OBJ_LIBS += $($(t)_LIBS)))
$(foreach t,$(REGRESS_HELPERS),$(eval $(call obj,$(t).c): \
    OBJ_LIBS += $($(t)_LIBS)))

# Never sanitized: a process whose pid namespace has ended cannot be looked at
# for leaks.
$(ISOLATE): regress/lib/isolate.c $(BUILD)/.flags
	@mkdir -p $(@D)
	@$(call say,cc,$@)
	$(Q)$(HOSTCC) $(STD) -O1 $(WARN) -DSBX_SRC='"$(CURDIR)"' \
	    $(call pkg_cflags,libbsd-overlay) -o $@ $<

# $(1) test or helper, $(2) what comes with it, $(3) libraries.
define test_rule
$(BUILD)/$(1): $(call obj,$(1).c $($(1)_SRCS) $(2)) $(FRAME_ARCHIVES)
	@mkdir -p $$(@D)
	@$$(call say,link,$$@)
	$$(Q)$$(CC) $$(CFLAGS) $$(HARDEN_LD) $$(LDFLAGS) -o $$@ \
	    $$(filter %.o,$$^) $$(FRAME_ARCHIVES) \
	    $$(call pkg_libs,$(3) $$($(1)_LIBS) $$(BASE_LIBS))
endef
$(foreach t,$(TEST_C),$(eval $(call test_rule,$(t),$(test_lib_SRCS),atf-c)))
# A helper ends in the middle of its work: what it holds then is no leak.
$(foreach t,$(REGRESS_HELPERS),$(eval $(call test_rule,$(t),$(if \
    $(SAN),privsep/sanitize.c))))

# In sh: one file, with where the build is, the library and the test's text.
$(TEST_SH:%=$(BUILD)/%): $(BUILD)/%: %.sh regress/lib/test.sh
	@mkdir -p $(@D)
	$(Q){ printf '#!%s\n' "$$(command -v atf-sh)"; \
	    printf 'SBX_TEST_ISOLATE=%s SBX_SRC=%s\n' \
		'$(abspath $(ISOLATE))' '$(CURDIR)'; \
	    grep -q '^# needs: network' $< && \
		echo 'export SBX_TEST_NETWORK=yes'; \
	    cat regress/lib/test.sh $<; } >$@.new && chmod 755 $@.new && \
	    mv -f $@.new $@

# Kyuafiles, made, so that no test is forgotten in one.
TESTS =		$(sort $(TEST_C) $(TEST_SH))
TEST_DIRS =	$(sort $(patsubst %/,%,$(dir $(TESTS:regress/%=%))))
# What measures, or is measured by the second, is not run beside others.
TESTS_ALONE =	$(basename $(shell grep -lE '^(\#| \*) needs: the machine$$' \
		$(TEST_C:%=%.c) $(TEST_SH:%=%.sh)))
$(BUILD)/regress/Kyuafile: regress/rules.mk FORCE
	@mkdir -p $(@D) $(TEST_DIRS:%=$(@D)/%)
	@{ echo 'syntax(2)'; echo 'test_suite("sbx")'; \
	    for d in $(TEST_DIRS); do \
		echo "include(\"$$d/Kyuafile\")"; done; } >$@
	@for d in $(TEST_DIRS); do { echo 'syntax(2)'; \
	    echo 'test_suite("sbx")'; for t in $(TESTS:regress/%=%); do \
	    case $$t in $$d/*) case ' $(TESTS_ALONE:regress/%=%) ' in \
	    *" $$t "*) a=', is_exclusive=true' ;; *) a= ;; esac; echo \
	    "atf_test_program{name=\"$${t##*/}\"$$a}" ;; esac; done; } \
	    >$(@D)/$$d/Kyuafile; done

tests: all $(ISOLATE) $(TESTS:%=$(BUILD)/%) $(REGRESS_HELPERS:%=$(BUILD)/%) \
    $(BUILD)/regress/Kyuafile

# A warning that a developer's check lets pass would break CI's: an error in
# both, unless WERROR says otherwise. A plain make only warns, whatever a newer
# compiler finds.
check check-long check-clis lint: export WERROR ?= 1

check check-long:
	@tools/setup $@
	@+$(MAKE) --no-print-directory $(parallel) tests
	@+$(if $(filter check-long,$@),$(MAKE) --no-print-directory $(parallel) fuzz)
	@sh regress/lib/run $(BUILD) $@ $(JOBS)

# The coding CLIs from npm, some 260 MB: by itself, so that no other test hangs
# on a registry.
check-clis:
	@tools/setup check-long
	@+$(MAKE) --no-print-directory $(parallel) tests
	@tools/fetch-clis $(BUILD)/clis || :
	@sh regress/lib/run $(BUILD) $@ $(JOBS)

.PHONY: tests check check-long check-clis
