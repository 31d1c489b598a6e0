#include <sys/random.h>

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/escape.h"
#include "../common/limits.h"
#include "../common/path.h"
#include "conf_parse.h"

#define CONF_ROLES	1024		/* members of one role */
#define CONF_USERNAME	64		/* of a user or group */

/* One setting as it is sent; a list has one for each element. */
struct conf_value {
	const char	*key;
	char		*value;
};

struct conf {
	json_t			*tree;	/* normal form */
	struct conf_value	*v;
	size_t			 n, size;
};

/* Where in the tree a value stands, for errors. */
struct place {
	char	path[128];
	char	*why;
};

static int	conf_take_path(struct conf *, const struct place *,
		    const char *, json_t *, json_t **);
static int	conf_take_name(struct conf *, const struct place *,
		    const char *, json_t *, json_t **);
static int	conf_take_members(struct conf *, const struct place *,
		    const char *, json_t *, json_t **);
static int	conf_take_roles(struct conf *, const struct place *,
		    const char *, json_t *, json_t **);

/* Checks a value, adds its settings, and gives its normal form. */
struct conf_rule {
	const char	*key;
	const char	*setting;
	int		(*take)(struct conf *, const struct place *,
			    const char *setting, json_t *, json_t **);
};

static const struct conf_rule conf_top[] = {
	{ "state",	"state",	conf_take_path },
	{ "socket",	"socket",	conf_take_path },
	{ "socketGroup", "socketGroup",	conf_take_name },
	{ "roles",	NULL,		conf_take_roles },
	{ NULL, NULL, NULL }
};

static const struct conf_rule conf_roles[] = {
	{ "admin",	"roles.admin",	conf_take_members },
	{ "user",	"roles.user",	conf_take_members },
	{ NULL, NULL, NULL }
};

void
conf_seed(void)
{
	uint32_t	seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed) || seed == 0)
		seed = 1;
	json_object_seed(seed);
}

/* The value as it stands in the file, short and fit for a terminal. */
static void
conf_show(const json_t *value, char *out, size_t size)
{
	char	*text, *seen;

	text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	seen = text == NULL ? NULL : escape_text(text, strlen(text), "");
	if (seen == NULL)
		snprintf(out, size, "the value");
	else if (strlen(seen) >= size)
		snprintf(out, size, "%.*s...", (int)(size - 4), seen);
	else
		snprintf(out, size, "%s", seen);
	free(seen);
	free(text);
}

static int
conf_fail(const struct place *at, const json_t *value, const char *allowed)
{
	char	seen[128];

	conf_show(value, seen, sizeof(seen));
	snprintf(at->why, CONF_ERROR, "%s: is %s, must be %s",
	    at->path[0] == '\0' ? "the file" : at->path, seen, allowed);
	return (-1);
}

static int
conf_memory(const struct place *at)
{
	snprintf(at->why, CONF_ERROR, "out of memory");
	return (-1);
}

static int
conf_add(struct conf *c, const struct place *at, const char *key,
    const char *value)
{
	struct conf_value	*v;

	if (c->n == c->size) {
		v = reallocarray(c->v, c->size + 64, sizeof(*v));
		if (v == NULL)
			return (conf_memory(at));
		c->v = v;
		c->size += 64;
	}
	v = &c->v[c->n];
	v->key = key;
	if ((v->value = strdup(value)) == NULL)
		return (conf_memory(at));
	c->n++;
	return (0);
}

static bool
path_has_dotdot(const char *p)
{
	for (; *p != '\0'; p += strcspn(p, "/")) {
		p += strspn(p, "/");
		if (p[0] == '.' && p[1] == '.' && (p[2] == '/' ||
		    p[2] == '\0'))
			return (true);
	}
	return (false);
}

static int
conf_take_path(struct conf *c, const struct place *at, const char *setting,
    json_t *value, json_t **normal)
{
	static const char	allowed[] = "an absolute path without \"..\", "
				    "at most 4095 bytes";
	const char		*path = json_string_value(value);
	char			 clean[LIMIT_PATH + 1];

	if (path == NULL || path[0] != '/' || path_has_dotdot(path) ||
	    path_clean("/", path, clean, sizeof(clean)) == -1)
		return (conf_fail(at, value, allowed));
	if (strcmp(clean, "/") == 0)
		return (conf_fail(at, value, "a path below the root"));
	if ((*normal = json_string(clean)) == NULL)
		return (conf_memory(at));
	return (conf_add(c, at, setting, clean));
}

/* A name that getpwnam or getgrnam may know; digits alone would be a uid. */
static bool
conf_is_name(const char *s)
{
	size_t	len = s == NULL ? 0 : strlen(s);

	return (len > 0 && len <= CONF_USERNAME && s[0] != '-' &&
	    strspn(s, "0123456789") != len &&
	    strpbrk(s, " :/,\\\"'\t\n") == NULL && !escape_needed(s, len, ""));
}

static int
conf_take_name(struct conf *c, const struct place *at, const char *setting,
    json_t *value, json_t **normal)
{
	const char	*name = json_string_value(value);

	if (!conf_is_name(name))
		return (conf_fail(at, value, "the name of a group"));
	*normal = json_incref(value);
	return (conf_add(c, at, setting, name));
}

static int
conf_take_member(struct conf *c, const struct place *at, const char *setting,
    const json_t *value)
{
	const char	*name = json_string_value(value);
	char		 number[24];
	json_int_t	 uid;

	if (conf_is_name(name))
		return (conf_add(c, at, setting, name));
	uid = json_is_integer(value) ? json_integer_value(value) : -1;
	/* 65534 stands for everyone that has no id here. */
	if (uid < 0 || uid > UINT32_MAX - 1 || uid == 65534)
		return (conf_fail(at, value, "a uid as a number, or the name "
		    "of a user; 65534 has no role"));
	snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, uid);
	return (conf_add(c, at, setting, number));
}

static int
conf_take_members(struct conf *c, const struct place *at, const char *setting,
    json_t *value, json_t **normal)
{
	struct place	sub = { .why = at->why };
	json_t		*e;
	size_t		 i;

	if (!json_is_array(value) || json_array_size(value) > CONF_ROLES)
		return (conf_fail(at, value, "a list of uids and names of "
		    "users, at most 1024"));
	json_array_foreach(value, i, e) {
		snprintf(sub.path, sizeof(sub.path), "%.90s[%zu]", at->path,
		    i);
		if (conf_take_member(c, &sub, setting, e) == -1)
			return (-1);
	}
	*normal = json_incref(value);
	return (0);
}

/* What a table's keys are, for an error. */
static void
conf_keys(const struct conf_rule *rules, char *out, size_t size)
{
	size_t	n = 0;

	out[0] = '\0';
	for (; rules->key != NULL && n < size; rules++)
		n += (size_t)snprintf(out + n, size - n, "%s\"%s\"",
		    n == 0 ? "" : ", ", rules->key);
}

static const struct conf_rule *
conf_find(const struct conf_rule *rules, const char *key)
{
	for (; rules->key != NULL; rules++)
		if (strcmp(rules->key, key) == 0)
			return (rules);
	return (NULL);
}

static int
conf_check_keys(const struct place *at, const struct conf_rule *rules,
    json_t *value)
{
	char		 keys[128], *seen;
	const char	*key;
	json_t		*e;

	conf_keys(rules, keys, sizeof(keys));
	if (!json_is_object(value)) {
		char	allowed[192];

		snprintf(allowed, sizeof(allowed), "an object with %s", keys);
		return (conf_fail(at, value, allowed));
	}
	json_object_foreach(value, key, e) {
		if (conf_find(rules, key) != NULL)
			continue;
		if ((seen = escape_text(key, strnlen(key, 64), "")) == NULL)
			return (conf_memory(at));
		snprintf(at->why, CONF_ERROR, "%s%s\"%s\" is no key: %s are "
		    "allowed", at->path, at->path[0] == '\0' ? "" : ": ",
		    seen, keys);
		free(seen);
		return (-1);
	}
	return (0);
}

/* In the order of the table, which makes the normal form one. */
static int
conf_take_object(struct conf *c, const struct place *at,
    const struct conf_rule *rules, json_t *value, json_t **normal)
{
	const struct conf_rule	*r;
	struct place		 sub = { .why = at->why };
	json_t			*e, *n;

	if (conf_check_keys(at, rules, value) == -1)
		return (-1);
	if ((*normal = json_object()) == NULL)
		return (conf_memory(at));
	for (r = rules; r->key != NULL; r++) {
		if ((e = json_object_get(value, r->key)) == NULL)
			continue;
		snprintf(sub.path, sizeof(sub.path), "%.60s%s%.60s", at->path,
		    at->path[0] == '\0' ? "" : ".", r->key);
		n = NULL;
		if (r->take(c, &sub, r->setting, e, &n) == -1) {
			json_decref(n);
			return (-1);
		}
		if (json_object_set_new(*normal, r->key, n) == -1)
			return (conf_memory(at));
	}
	return (0);
}

static int
conf_take_roles(struct conf *c, const struct place *at, const char *setting,
    json_t *value, json_t **normal)
{
	(void)setting;
	return (conf_take_object(c, at, conf_roles, value, normal));
}

/* jansson's own words, with the place; a comment is told from other slips. */
static void
conf_syntax(const char *text, size_t len, const json_error_t *e,
    char why[CONF_ERROR])
{
	size_t	 at = e->position > 0 ? (size_t)e->position - 1 : 0;
	char	*seen;

	if (at < len && (text[at] == '/' || text[at] == '#') &&
	    json_error_code(e) == json_error_invalid_syntax) {
		snprintf(why, CONF_ERROR, "line %d, column %d: a comment; "
		    "this file is JSON, which has none", e->line, e->column);
		return;
	}
	if (json_error_code(e) == json_error_null_character ||
	    json_error_code(e) == json_error_null_byte_in_key) {
		snprintf(why, CONF_ERROR, "line %d, column %d: a NUL in a "
		    "string", e->line, e->column);
		return;
	}
	seen = escape_text(e->text, strlen(e->text), "");
	snprintf(why, CONF_ERROR, "line %d, column %d: %s", e->line,
	    e->column, seen == NULL ? "not JSON" : seen);
	free(seen);
}

struct conf *
conf_parse(const char *text, size_t len, char why[CONF_ERROR])
{
	struct place	 at = { .why = why };
	struct conf	*c;
	json_error_t	 e;
	json_t		*root;

	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);
	if (root == NULL) {
		conf_syntax(text, len, &e, why);
		return (NULL);
	}
	if ((c = calloc(1, sizeof(*c))) == NULL)
		conf_memory(&at);
	else if (conf_take_object(c, &at, conf_top, root, &c->tree) == -1) {
		conf_free(c);
		c = NULL;
	}
	json_decref(root);
	return (c);
}

int
conf_each(const struct conf *c, int (*fn)(void *, const char *, const char *),
    void *arg)
{
	size_t	i;
	int	r;

	for (i = 0; i < c->n; i++)
		if ((r = fn(arg, c->v[i].key, c->v[i].value)) != 0)
			return (r);
	return (0);
}

char *
conf_text(const struct conf *c)
{
	return (json_dumps(c->tree, JSON_INDENT(2)));
}

void
conf_free(struct conf *c)
{
	size_t	i;

	for (i = 0; i < c->n; i++)
		free(c->v[i].value);
	free(c->v);
	json_decref(c->tree);
	free(c);
}
