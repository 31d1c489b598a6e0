#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../privsep/pledge.h"
#include "../privsep/unveil.h"
#include "land.h"
#include "outside.h"

/*
 * The job that lists a layer which is no root's: three folders come by
 * descriptor, no path is opened, and no file's content can be.
 */
static void
outside_tell(void *arg, const struct m_FOUND *m)
{
	land_send(arg, MSG_FOUND, -1, m);
}

void
land_outside(struct land *l)
{
	struct outside	 o = {
		.top = l->work->project, .own = l->work->paths.v,
		.listed = LIMIT_LISTED, .looked = LIMIT_LOOKED,
		.tell = outside_tell, .arg = l
	};
	struct unveil	*u;
	struct m_COUNTED sum = { 0 };

	o.view = land_receive_fd(l, "view");
	o.layer = land_receive_fd(l, "layer");
	o.real = land_receive_fd(l, "real");
	u = unveil_begin();
	unveil_fd(u, o.view, UNVEIL_LIST);
	unveil_fd(u, o.layer, UNVEIL_LIST);
	unveil_fd(u, o.real, UNVEIL_LIST);
	unveil_end(u);
	pledge(PLEDGE_LAND);
	if (outside_walk(&o, &sum) == -1)
		land_fail(l, "land.failed", "%s: %s",
		    l->work->project, strerror(errno));
	/* The view of a stopped session may have the layer as its upper one:
	 * whoever resumes it next must not find it in use. */
	close(o.view);
	close(o.layer);
	close(o.real);
	land_send(l, MSG_COUNTED, -1, &sum);
	land_send(l, MSG_END, -1, NULL);
	land_end(l);
}
