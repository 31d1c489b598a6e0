#ifndef MOUNTD_PROBE_H
#define MOUNTD_PROBE_H

/* Why the state's filesystem can carry no layer, malloc'ed; NULL: it can. */
char	*probe_state(void);

#endif
