#include <sys/prctl.h>
#include <sys/syscall.h>
#include <linux/capability.h>
#include <unistd.h>

#include "caps.h"

int
caps_set(uint64_t effective, uint64_t permitted, uint64_t inheritable)
{
	struct __user_cap_header_struct	hdr = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct	data[2] = {
		{ (uint32_t)effective, (uint32_t)permitted,
		    (uint32_t)inheritable },
		{ (uint32_t)(effective >> 32), (uint32_t)(permitted >> 32),
		    (uint32_t)(inheritable >> 32) }
	};

	return (syscall(SYS_capset, &hdr, data) == -1 ? -1 : 0);
}

bool
caps_none(bool bounding)
{
	struct __user_cap_header_struct	hdr = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct	data[2];
	int				cap, r;

	if (syscall(SYS_capget, &hdr, data) == -1 ||
	    (data[0].effective | data[0].permitted | data[0].inheritable |
	    data[1].effective | data[1].permitted | data[1].inheritable) != 0)
		return (false);
	/* The kernel answers EINVAL for the first one that it does not know. */
	for (cap = 0; (r = prctl(PR_CAPBSET_READ, cap, 0, 0, 0)) != -1; cap++)
		if ((r != 0 && bounding) || prctl(PR_CAP_AMBIENT,
		    PR_CAP_AMBIENT_IS_SET, cap, 0, 0) != 0)
			return (false);
	return (true);
}
