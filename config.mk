# What a builder may change, here or on make's command line.

VERSION =	0.1.0

PREFIX ?=	/usr/local
BINDIR =	$(PREFIX)/bin
SBINDIR =	$(PREFIX)/sbin
LIBEXECDIR =	$(PREFIX)/libexec/sbx
MANDIR =	$(PREFIX)/share/man
DOCDIR =	$(PREFIX)/share/doc/sbx
# Where the shells look for completions by themselves.
BASHCOMP =	$(PREFIX)/share/bash-completion/completions/sbxctl
FISHCOMP =	$(PREFIX)/share/fish/vendor_completions.d/sbxctl.fish
ZSHCOMP =	$(PREFIX)/share/zsh/site-functions/_sbxctl

# Where everything that is made goes. A sanitized build has its own, so that
# the two never mix.
ifdef SAN
BUILD ?=	build-san
else
BUILD ?=	build
endif

comma :=	,

ifeq ($(origin CC),default)
CC =		gcc
endif
PKG_CONFIG ?=	pkg-config
INSTALL ?=	install

MACHINE :=	$(shell $(CC) -dumpmachine 2>/dev/null)

WARN =		-Wall -Wextra -Wshadow -Wstrict-prototypes \
		-Wmissing-prototypes -Wcast-qual -Wformat=2 -Wvla -Wundef \
		-Wwrite-strings
# 1 makes warnings errors: in make check and make lint unless it is 0.
ifeq ($(WERROR),1)
WARN +=		-Werror
endif

ifdef SAN
# A sanitizer cannot be linked statically, wants to write where it likes, and
# does not go with FORTIFY_SOURCE.
OPT ?=		-O1 -g -fno-omit-frame-pointer
HARDEN =	-fPIE -fsanitize=$(SAN) -fno-sanitize-recover=all \
		-DSBX_SANITIZED=1
HARDEN_LD =	-fsanitize=$(SAN) -pie -Wl,-z,relro,-z,now,-z,noexecstack
STATIC_LD =
else
OPT ?=		-O2 -g
HARDEN =	-fPIE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 \
		-fstack-protector-strong -fstack-clash-protection
HARDEN_LD =	-pie -Wl,--as-needed -Wl,-z,relro,-z,now,-z,noexecstack
# Executing a dynamic program costs a millisecond, and a session's start
# executes two of them; a static one takes half of it.
STATIC_LD =	-static-pie -Wl,-z,relro,-z,now,-z,noexecstack $(QUIET_LD)
# libevent's static archive mentions getaddrinfo, which no program calls; the
# linker warns of it each time.
QUIET_LD :=	$(if $(shell $(CC) -Wl,--help 2>/dev/null | \
		    grep -e --no-warnings),-Wl$(comma)--no-warnings)
endif
ifneq ($(filter x86_64-% i%86-%,$(MACHINE)),)
HARDEN +=	-fcf-protection
endif
ifneq ($(filter aarch64-%,$(MACHINE)),)
HARDEN +=	-mbranch-protection=standard
endif
