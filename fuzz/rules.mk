# Fuzzers: make fuzz builds them by clang, with their first inputs, into
# $(BUILD)/fuzz. Each runs by itself, for as long as one likes:
#	build/fuzz/imsg build/fuzz/seeds.d/imsg
FUZZ_CC ?=	clang
FUZZERS =	fields imsg escape conf
FUZZ_FLAGS =	$(STD) -O1 -g -fno-omit-frame-pointer $(WARN) -I. \
		-fsanitize=address,undefined -fno-sanitize-recover=all
FUZZ_LIBS =	$(BASE_LIBS) jansson
FUZZ_COMMON =	$(common_SRCS) regress/lib/sample.c
imsg_fuzz_SRCS = privsep/imsg.c
conf_fuzz_SRCS = privsep/conf_parse.c

$(FUZZERS:%=$(BUILD)/fuzz/%): $(BUILD)/fuzz/%: fuzz/%.c fuzz/fuzz.h \
    $(FUZZ_COMMON) privsep/imsg.c privsep/conf_parse.c \
    $(wildcard common/*.h privsep/*.h regress/lib/sample.h) $(BUILD)/.flags
	@mkdir -p $(@D)
	@$(call say,fuzz,$@)
	$(Q)$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer $(call \
	    pkg_cflags,$(FUZZ_LIBS)) -o $@ $< $(FUZZ_COMMON) \
	    $($*_fuzz_SRCS) $(call pkg_libs,$(FUZZ_LIBS))

$(BUILD)/fuzz/seeds: fuzz/seeds.c fuzz/fuzz.h $(FUZZ_COMMON) \
    $(wildcard common/*.h privsep/*.h regress/lib/sample.h) $(BUILD)/.flags
	@mkdir -p $(@D)
	@$(call say,fuzz,$@)
	$(Q)$(FUZZ_CC) $(FUZZ_FLAGS) $(call pkg_cflags,$(FUZZ_LIBS)) -o $@ $< \
	    $(FUZZ_COMMON) $(call pkg_libs,$(FUZZ_LIBS))

fuzz: $(FUZZERS:%=$(BUILD)/fuzz/%) $(BUILD)/fuzz/seeds
	$(Q)rm -rf $(BUILD)/fuzz/seeds.d
	$(Q)$(BUILD)/fuzz/seeds $(BUILD)/fuzz/seeds.d $(FUZZERS)

.PHONY: fuzz
