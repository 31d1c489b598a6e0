# libmnl has no static library in Debian, so netd is linked dynamically.
netd_SRCS = netd/netd.c netd/link.c
netd_LIBS = libmnl
netd_STATIC = base
