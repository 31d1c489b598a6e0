#include <string.h>

#include "ids.h"

bool
sid_valid(const char *sid)
{
	return (strlen(sid) == SID_LEN && strspn(sid, SID_CHARS) == SID_LEN);
}
