/*
 * The environment sieve.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <atf-c.h>

#include "common/env.h"

static const char *const never[] = {
	"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_", "GIT_DIR", "GIT_SSH_COMMAND",
	"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "TMUX", "TMUX_PANE",
	"DISPLAY", "WAYLAND_DISPLAY", "LISTEN_FDS", "LISTEN_PID",
	"NOTIFY_SOCKET", "SBX_STATE", "SBX_SESSION", "STY",
};
static const char *const not_never[] = {
	"PATH", "HOME", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "L", "LD",
	"GIT", "DISPLAYS", "SSH_AUTH_SOCKET", "MY_LD_PRELOAD", "XTMUX",
	"http_proxy", "LANG", "SBX",
};
static const char *const kept[] = {
	"HOME", "USER", "LOGNAME", "SHELL", "PATH", "TERM", "COLORTERM",
	"LANG", "LC_ALL", "LC_CTYPE", "TZ", "http_proxy", "HTTPS_PROXY",
	"no_proxy", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS",
};

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

ATF_TC_WITHOUT_HEAD(names);
ATF_TC_BODY(names, tc)
{
	char	entry[64];
	size_t	i;

	for (i = 0; i < COUNT(never); i++) {
		ATF_CHECK_MSG(env_never(never[i]), "%s", never[i]);
		strlcpy(entry, never[i], sizeof(entry));
		strlcat(entry, "=a value", sizeof(entry));
		ATF_CHECK_MSG(env_never(entry), "%s", entry);
		ATF_CHECK_MSG(!env_keep(entry), "%s", entry);
	}
	for (i = 0; i < COUNT(not_never); i++)
		ATF_CHECK_MSG(!env_never(not_never[i]), "%s", not_never[i]);
	for (i = 0; i < COUNT(kept); i++) {
		ATF_CHECK_MSG(env_keep(kept[i]), "%s", kept[i]);
		ATF_CHECK_MSG(!env_never(kept[i]), "%s", kept[i]);
	}
	ATF_CHECK(!env_keep("ANTHROPIC_API_KEY=x"));
	ATF_CHECK(!env_keep("HOMER=x"));
}

ATF_TC_WITHOUT_HEAD(valid);
ATF_TC_BODY(valid, tc)
{
	ATF_CHECK(env_valid("A=b"));
	ATF_CHECK(env_valid("A="));
	ATF_CHECK(env_valid("A==b"));
	ATF_CHECK(env_valid("BASH_FUNC_f%%=() { :; }"));
	ATF_CHECK(!env_valid("A"));
	ATF_CHECK(!env_valid(""));
	ATF_CHECK(!env_valid("=A"));
}

ATF_TC_WITHOUT_HEAD(list);
ATF_TC_BODY(list, tc)
{
	struct env	env;
	char		name[16];
	int		i;

	env_init(&env);
	ATF_CHECK(env_get(&env, "A") == NULL);
	ATF_REQUIRE_EQ(env_add(&env, "A=1"), 0);
	ATF_REQUIRE_EQ(env_set(&env, "AB", "2"), 0);
	ATF_REQUIRE_EQ(env_add(&env, "A=3=4"), 0);
	ATF_CHECK_EQ(env.n, 2);
	ATF_CHECK_STREQ(env_get(&env, "A"), "3=4");
	ATF_CHECK_STREQ(env_get(&env, "AB"), "2");
	ATF_CHECK(env.v[2] == NULL);
	ATF_CHECK_EQ(env_add(&env, "novalue"), -1);
	ATF_CHECK_EQ(errno, EINVAL);
	ATF_CHECK_EQ(env_set(&env, "", "x"), -1);
	ATF_CHECK_EQ(env_set(&env, "A=B", "x"), -1);
	env_unset(&env, "A");
	env_unset(&env, "not there");
	ATF_CHECK_EQ(env.n, 1);
	ATF_CHECK_STREQ(env.v[0], "AB=2");
	ATF_CHECK(env.v[1] == NULL);
	for (i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "N%d", i);
		ATF_REQUIRE_EQ(env_set(&env, name, name), 0);
	}
	ATF_CHECK_EQ(env.n, 501);
	ATF_CHECK_STREQ(env_get(&env, "N499"), "N499");
	ATF_CHECK(env.v[501] == NULL);
	env_free(&env);
	ATF_CHECK(env.v == NULL);
}

ATF_TC_WITHOUT_HEAD(sieve);
ATF_TC_BODY(sieve, tc)
{
	const char *const	envp[] = {
		"HOME=/h", "LD_PRELOAD=/x.so", "API_KEY=k", "broken",
		"GIT_DIR=/g", "PATH=/bin", "=odd", "HOME=/last", NULL
	};
	struct env		env;

	env_init(&env);
	ATF_REQUIRE_EQ(env_sieve(&env, envp, false), 0);
	ATF_CHECK_EQ(env.n, 3);
	ATF_CHECK_STREQ(env_get(&env, "HOME"), "/last");
	ATF_CHECK_STREQ(env_get(&env, "API_KEY"), "k");
	env_free(&env);
	ATF_REQUIRE_EQ(env_sieve(&env, envp, true), 0);
	ATF_CHECK_EQ(env.n, 2);
	ATF_CHECK(env_get(&env, "API_KEY") == NULL);
	env_free(&env);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, names);
	ATF_TP_ADD_TC(tp, valid);
	ATF_TP_ADD_TC(tp, list);
	ATF_TP_ADD_TC(tp, sieve);
	return (atf_no_error());
}
