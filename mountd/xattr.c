#include "../privsep/mode.h"
#include "xattr.h"

#define BOTH(n)	{ "trusted." n, "user." n }

const char *
xattr_name(enum xattr which)
{
	static const char *const	names[][2] = {
		[XATTR_OPAQUE] = BOTH("overlay.opaque"),
		[XATTR_REDIRECT] = BOTH("overlay.redirect"),
		[XATTR_ORIGIN] = BOTH("overlay.origin"),
		[XATTR_TRY] = BOTH("overlay.sbx"),
		[XATTR_AT] = BOTH("sbx.at"),
		[XATTR_PROJECT] = BOTH("sbx.project"),
		[XATTR_ROOT] = BOTH("sbx.root"),
		[XATTR_GIT] = BOTH("sbx.git"),
		[XATTR_MADE] = BOTH("sbx.made"),
		[XATTR_HIDDEN] = BOTH("sbx.hidden"),
		[XATTR_REAL] = BOTH("sbx.real"),
		[XATTR_TRIAL] = BOTH("overlay.sbx.trial"),
	};

	return (names[which][mode_user() ? 1 : 0]);
}
