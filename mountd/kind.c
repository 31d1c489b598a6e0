/*
 * What becomes of a host filesystem, by its type. An allow-list: what is not
 * known is not shown.
 */
#include <sys/stat.h>
#include <string.h>

#include "../common/path.h"
#include "plan.h"

/* Those that overlayfs takes as a lower layer, as a rule. */
static const char *const types_overlay[] = {
	"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "reiserfs",
	"nilfs2", "bcachefs", "zfs", "tmpfs", "ramfs", "overlay", "fuseblk",
	"nfs", "nfs4", "9p", "virtiofs", "squashfs", "erofs", "iso9660"
};

/* Those that hold no socket and no FIFO that anybody could be behind: a
 * read-only clone of one is harmless. */
static const char *const types_plain[] = {
	"vfat", "msdos", "exfat", "ntfs", "ntfs3", "hfsplus", "udf", "cramfs",
	"romfs", "squashfs", "erofs", "iso9660"
};

/* Those that somebody answers for, who may not: they are asked first. */
static const char *const types_remote[] = {
	"fuseblk", "nfs", "nfs4", "9p", "virtiofs"
};

/* The kernel's own; nothing of a user's is in them. */
static const char *const types_kernel[] = {
	"autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs",
	"debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl", "hugetlbfs",
	"mqueue", "nsfs", "proc", "pstore", "rpc_pipefs", "securityfs",
	"selinuxfs", "smackfs", "sysfs", "tracefs"
};

/* What container engines mount for their containers is no affair of a
 * session's, and there may be hundreds. */
static const char *const engines[] = {
	"/var/lib/docker", "/var/lib/containerd", "/var/lib/containers",
	"/var/lib/kubelet", "/var/lib/rancher", "/var/lib/machines",
	"/var/lib/lxc", "/var/lib/lxd", "/var/lib/incus", "/var/lib/cni",
	"/var/snap/lxd", "/var/snap/docker"
};

static bool
among(const char *const *list, size_t n, const char *s)
{
	size_t	i;

	for (i = 0; i < n; i++)
		if (strcmp(list[i], s) == 0)
			return (true);
	return (false);
}
#define AMONG(list, s)	among(list, sizeof(list) / sizeof(list[0]), s)

static bool
engine_owns(const char *point)
{
	size_t	i;

	for (i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (path_within(engines[i], point))
			return (true);
	return (false);
}

bool
kind_is_remote(const struct mnt *m)
{
	return (AMONG(types_remote, m->type));
}

bool
kind_is_asked(const struct mnt *m)
{
	return (!AMONG(types_remote, m->type) &&
	    (AMONG(types_overlay, m->type) || AMONG(types_plain, m->type) ||
	    AMONG(types_kernel, m->type)));
}

enum place_kind
kind_of_mount(const struct mnt *m, mode_t mode, bool *plain, bool *said)
{
	/* An unknown type is worth a word; the rest is as expected. */
	*said = false;
	*plain = AMONG(types_plain, m->type);
	if (S_ISREG(mode) && !AMONG(types_kernel, m->type))
		return (PLACE_FILE);
	if (!S_ISDIR(mode) || engine_owns(m->point))
		return (PLACE_COVER);
	if (AMONG(types_overlay, m->type))
		return (m->ro ? PLACE_READ : PLACE_OVERLAY);
	if (*plain) {
		*said = !m->ro;
		return (PLACE_CLONE);
	}
	*said = !AMONG(types_kernel, m->type);
	return (PLACE_COVER);
}
