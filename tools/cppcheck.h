/* What cppcheck has to know of queue.h, whose real text it takes wrongly. */
#define TAILQ_HEAD(name, type) \
	struct name { struct type *tqh_first; struct type **tqh_last; }
#define LIST_HEAD(name, type)	struct name { struct type *lh_first; }
#define RB_HEAD(name, type)	struct name { struct type *rbh_root; }
