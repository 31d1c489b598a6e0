/*
 * Parts of JSON, over jansson; what there is no memory for fails.
 */
#ifndef SBXCTL_JSON_H
#define SBXCTL_JSON_H

#include <jansson.h>

#include "sbxctl.h"

void	json_put(json_t *, const char *key, json_t *);
void	json_number(json_t *, const char *key, uint64_t);
/* Any bytes but NUL; NULL is left out. */
void	json_bytes(json_t *, const char *key, const char *);
/* A list of any bytes; KEY_b64 holds all of them where one is not UTF-8. */
void	json_list(json_t *, const char *key, const struct strv *);
/* In octal; 0 is null. */
void	json_mode(json_t *, const char *key, uint64_t);
/* To standard output, and frees it. */
void	json_print(json_t *);

#endif
