#include <fcntl.h>
#include <string.h>

#include "origins.h"

size_t
origin_of(int dir, const char *name, unsigned char attr[ORIGINS_ATTR])
{
	struct {
		struct file_handle	fh;
		unsigned char		room[MAX_HANDLE_SZ];
	}	h;
	int	mount;

	memset(&h, 0, sizeof(h));
	memset(attr, 0, ORIGIN_FID);
	h.fh.handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(dir, name, &h.fh, &mount, *name == '\0' ?
	    AT_EMPTY_PATH : 0) == -1)
		return (0);
	attr[ORIGIN_TYPE] = (unsigned char)h.fh.handle_type;
	memcpy(attr + ORIGIN_FID, h.fh.f_handle, h.fh.handle_bytes);
	return (ORIGIN_FID + h.fh.handle_bytes);
}
