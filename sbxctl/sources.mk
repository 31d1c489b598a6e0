sbxctl_SRCS =	sbxctl/sbxctl.c
sbxctl_LIBS =	jansson
