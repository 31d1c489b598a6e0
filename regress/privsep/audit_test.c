/*
 * The audit log's lines, whatever a landing's child says that it landed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "privsep/sbxd.h"
#include "regress/lib/test.h"

struct sbxd	sbxd;

/* One line about these paths, as it is in the log; the caller frees. */
static char *
line_of(const struct strv *paths)
{
	struct session	 s = { .rec.r.session = "abcdefghijkl" };
	char		*line = NULL;
	size_t		 size = 0;
	FILE		*f;

	ATF_REQUIRE((sbxd.audit = open("audit", O_RDWR | O_CREAT | O_TRUNC |
	    O_APPEND, 0600)) != -1);
	ATF_REQUIRE_EQ(0, audit("apply", &s, NULL, 1000, paths, "result=%s",
	    "ok"));
	ATF_REQUIRE((f = fdopen(sbxd.audit, "r")) != NULL);
	rewind(f);
	ATF_REQUIRE(getline(&line, &size, f) > 0);
	ATF_REQUIRE_EQ(-1, getc(f));
	fclose(f);
	return (line);
}

static void
line_has(const struct strv *paths, const char *text)
{
	char	*line = line_of(paths);

	if (strstr(line, text) == NULL)
		atf_tc_fail("no \"%s\" in: %.300s", text, line);
	free(line);
}

ATF_TC_WITHOUT_HEAD(names);
ATF_TC_BODY(names, tc)
{
	const char	*few[] = { "a b", "c,d", "e%\n", "f" };

	line_has(&(struct strv){ 4, few },
	    " paths=a%20b,c%2Cd,e%25%0A,f result=ok\n");
}

/* What a client says looks like no other word of the line. */
ATF_TC_WITHOUT_HEAD(words);
ATF_TC_BODY(words, tc)
{
	char	x[1000], z[1000];

	ATF_REQUIRE_STREQ("x%20uid=0%0Alanded%C3%A9%25", audit_word(
	    "x uid=0\nlanded\xc3\xa9%").s);
	ATF_REQUIRE_STREQ("uid:1000", audit_word("uid:1000").s);
	/* Whole bytes, as many as there is room for. */
	memset(x, ' ', sizeof(x) - 1);
	memset(z, 'z', sizeof(z) - 1);
	x[sizeof(x) - 1] = z[sizeof(z) - 1] = '\0';
	ATF_REQUIRE_EQ(510, strlen(audit_word(x).s));
	ATF_REQUIRE_EQ(509, strlen(audit_word(z).s));
}

/* What does not fit is counted, and none of it in half. */
ATF_TC_WITHOUT_HEAD(too_much);
ATF_TC_BODY(too_much, tc)
{
	static char	 word[200001], large[30001];
	const char	*one[] = { "first", word, "last" };
	const char	*many[600];
	size_t		 i;
	char		*line;

	memset(word, '\1', sizeof(word) - 1);
	line_has(&(struct strv){ 1, one }, " paths=first result");
	line_has(&(struct strv){ 3, one }, " paths=first,+2 result=ok\n");
	line_has(&(struct strv){ 2, one + 1 }, " paths=,+2 result=ok\n");
	/* Of each length that may be the last to fit. */
	memset(large, '\1', sizeof(large) - 1);
	for (i = 21840; i < 21850; i++) {
		many[0] = large + sizeof(large) - 1 - i;
		line = line_of(&(struct strv){ 1, many });
		ATF_REQUIRE(strlen(line) < 65536 + 256);
		free(line);
	}
	for (i = 0; i < 600; i++)
		many[i] = word + sizeof(word) - 1 - 60;
	line_has(&(struct strv){ 600, many }, "%01,+238 result=ok\n");
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, names);
	ATF_TP_ADD_TC(tp, words);
	ATF_TP_ADD_TC(tp, too_much);
	return (atf_no_error());
}
