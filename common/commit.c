#include <stddef.h>

#include "commit.h"

const char *
commit_built(void)
{
	static const char	commit[] = SBX_COMMIT;

	return (commit[0] != '\0' ? commit : NULL);
}
