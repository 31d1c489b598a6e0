/*
 * The patch: forms, bounds, bytes; that git reads it, whatever the owner's
 * configuration says.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "review_lib.h"

static void
run(struct review *r)
{
	ATF_REQUIRE_MSG(review_run(r) == 0, "%s", r->why);
}

/* In a repository and outside git makes the session's tree of it. */
static void
gives_tree(struct review *r)
{
	char		 v[PATH_MAX], c[PATH_MAX];
	const char	*said, *differ;
	int		 repo;

	snprintf(v, sizeof(v), "%s/V", r->dir);
	snprintf(c, sizeof(c), "%s/C", r->dir);
	for (repo = 0; repo < 2; repo++) {
		ATF_REQUIRE_MSG(review_git(r, repo, &said) == 0, "%s", said);
		differ = review_differ(v, c);
		ATF_REQUIRE_MSG(differ == NULL, "%s", differ);
	}
}

static void
has(struct review *r, const char *text)
{
	if (strstr(review_patch(r), text) == NULL) {
		fprintf(stderr, "%s", review_patch(r));
		atf_tc_fail("not in the patch: %s", text);
	}
}

static const struct change *
change(const struct review *r, const char *path)
{
	const struct change	*c;

	TAILQ_FOREACH(c, &r->set.changes, entry)
		if (strcmp(c->path, path) == 0)
			return (c);
	atf_tc_fail("no change of %s", path);
}

/* The whole of a small patch, byte by byte. */
ATF_TC_WITHOUT_HEAD(forms);
ATF_TC_BODY(forms, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/del", "x\n");
	review_file(&r, "R/empty", "");
	review_file(&r, "R/mod", "a\nb\n");
	review_file(&r, "R/move it", "m\n");
	review_file(&r, "R/run", "#!\n");
	review_link(&r, "R/type", "mod");
	review_start(&r);
	review_sh(&r, "cd V; rm del empty; printf 'a\\nc' >mod; "
	    "mv 'move it' 'moved\"'; chmod +x run 'moved\"'; rm type; "
	    "echo t >type; : >void");
	run(&r);
	ATF_REQUIRE_STREQ(review_patch(&r),
	    "diff --git a/del b/del\n"
	    "deleted file mode 100644\n"
	    "index 587be6b4c3f93f93c489c0111bba5596147a26cb.."
	    "0000000000000000000000000000000000000000\n"
	    "--- a/del\n"
	    "+++ /dev/null\n"
	    "@@ -1,1 +0,0 @@\n"
	    "-x\n"
	    "diff --git a/empty b/empty\n"
	    "deleted file mode 100644\n"
	    "index e69de29bb2d1d6434b8b29ae775ad8c2e48c5391.."
	    "0000000000000000000000000000000000000000\n"
	    "diff --git a/mod b/mod\n"
	    "index 422c2b7ab3b3c668038da977e4e93a5fc623169c.."
	    "817f660e4423f7df2dfc7d4bff0e01b2092a8ce9 100644\n"
	    "--- a/mod\n"
	    "+++ b/mod\n"
	    "@@ -1,2 +1,2 @@\n"
	    " a\n"
	    "-b\n"
	    "+c\n"
	    "\\ No newline at end of file\n"
	    "diff --git \"a/move it\" \"b/moved\\\"\"\n"
	    "old mode 100644\n"
	    "new mode 100755\n"
	    "similarity index 100%\n"
	    "rename from \"move it\"\n"
	    "rename to \"moved\\\"\"\n"
	    "diff --git a/run b/run\n"
	    "old mode 100644\n"
	    "new mode 100755\n"
	    "diff --git a/type b/type\n"
	    "deleted file mode 120000\n"
	    "index e7cb5c333ed43b338bce83c61dbe33f82e967898.."
	    "0000000000000000000000000000000000000000\n"
	    "--- a/type\n"
	    "+++ /dev/null\n"
	    "@@ -1,1 +0,0 @@\n"
	    "-mod\n"
	    "\\ No newline at end of file\n"
	    "diff --git a/type b/type\n"
	    "new file mode 100644\n"
	    "index 0000000000000000000000000000000000000000.."
	    "718f4d2ff533cf8ead8d3556cf43912bd245fbc4\n"
	    "--- /dev/null\n"
	    "+++ b/type\n"
	    "@@ -0,0 +1,1 @@\n"
	    "+t\n"
	    "diff --git a/void b/void\n"
	    "new file mode 100644\n"
	    "index 0000000000000000000000000000000000000000.."
	    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n");
	ATF_REQUIRE_EQ(r.set.insertions, 2);
	ATF_REQUIRE_EQ(r.set.deletions, 3);
	gives_tree(&r);
	review_free(&r);
}

/* G105: the last line with and without its newline, on either side, in one
 * hunk and in several. */
ATF_TC_WITHOUT_HEAD(last_lines);
ATF_TC_BODY(last_lines, tc)
{
	static const char *const	ends[] = { "end\n", "end", "other\n",
	    "other", "", "\n", "end\n\n", "end\r\n", "end\r" };
	const size_t			n = sizeof(ends) / sizeof(*ends);
	struct review			r;
	char				path[64], text[4096];
	size_t				i, j, k, len;

	review_begin(&r);
	for (i = 0; i < n * n * 2; i++) {
		len = 0;
		text[0] = '\0';
		for (k = 0; k < (i < n * n ? 0 : 40); k++)
			len += (size_t)snprintf(text + len,
			    sizeof(text) - len, "line %zu\n", k);
		snprintf(path, sizeof(path), "R/%zu", i);
		strlcat(text, ends[i % n], sizeof(text));
		review_file(&r, path, text);
	}
	review_start_fast(&r);
	for (i = 0; i < n * n * 2; i++) {
		len = 0;
		text[0] = '\0';
		j = i / n % n;
		for (k = 0; k < (i < n * n ? 0 : 40); k++)
			len += (size_t)snprintf(text + len,
			    sizeof(text) - len, k == 5 || k == 20 ?
			    "edited %zu\n" : "line %zu\n", k);
		snprintf(path, sizeof(path), "V/%zu", i);
		strlcat(text, ends[j], sizeof(text));
		review_file(&r, path, text);
	}
	run(&r);
	gives_tree(&r);
	review_free(&r);
}

/* G108: carriage returns, marks, UTF-16, NULs, and a .gitattributes that came
 * with them. Ours are the bytes; git outside a repository obeys none either. */
ATF_TC_WITHOUT_HEAD(bytes);
ATF_TC_BODY(bytes, tc)
{
	static const struct {
		const char	*name, *before, *after;
		size_t		 alen, blen;
	}		 files[] = {
#define F(n, a, b)	{ n, a, b, sizeof(a) - 1, sizeof(b) - 1 }
		F("crlf.txt", "a\r\nb\r\n", "a\r\nc\r\n"),
		F("mixed.txt", "a\r\nb\nc\r\n", "a\nb\r\nc\n"),
		F("cr.txt", "a\rb\rc", "a\rB\rc"),
		F("bom.txt", "\xef\xbb\xbfx\n", "x\n"),
		F("utf16.txt", "\xff\xfeh\0i\0\n\0", "\xff\xfeh\0o\0\n\0"),
		F("nul.bin", "\0", "\0\0"),
		F("crlf2lf", "a\r\nb\r\n", "a\nb\n"),
		F("latin1", "caf\xe9\n", "caf\xe9s\n"),
	};
	struct review	 r;
	char		 path[64], v[PATH_MAX], c[PATH_MAX];
	const char	*said, *differ;
	size_t		 i;

	review_begin(&r);
	for (i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "R/%s", files[i].name);
		review_bytes(&r, path, files[i].before, files[i].alen);
	}
	review_start(&r);
	for (i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "V/%s", files[i].name);
		review_bytes(&r, path, files[i].after, files[i].blen);
	}
	review_file(&r, "V/.gitattributes", "* text=auto eol=crlf filter=x\n"
	    "*.bin diff=x\n");
	run(&r);
	ATF_CHECK(change(&r, "utf16.txt")->binary);
	ATF_CHECK(change(&r, "nul.bin")->binary);
	ATF_CHECK(!change(&r, "cr.txt")->binary);
	has(&r, "-caf\xe9\n+caf\xe9s\n");
	ATF_REQUIRE_MSG(review_git(&r, false, &said) == 0, "%s", said);
	snprintf(v, sizeof(v), "%s/V", r.dir);
	snprintf(c, sizeof(c), "%s/C", r.dir);
	differ = review_differ(v, c);
	ATF_REQUIRE_MSG(differ == NULL, "%s", differ);
	review_free(&r);
}

/* G109: names; quoted, so that no terminal and no git takes them amiss. */
ATF_TC_WITHOUT_HEAD(names);
ATF_TC_BODY(names, tc)
{
	static const char *const	odd[] = { "tab\there", "new\nline",
	    "quo\"te", "back\\slash", "lat\xedn", "x b", " b", " leading",
	    "trailing ", "-rf", "--help", "\xf0\x9f\x98\x80", "\x1b[31mred",
	    "\x7f", "\x01\x02\a\b\v\f\r", "a b/b b", "b/a", "\xe2\x80\xae",
	    "'", "$(reboot)", "%n", "*", "...", "a\"b\\c d" };
	struct review			r;
	char				path[600], wide[256];
	const char			*p;
	size_t				i;

	review_begin(&r);
	for (i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		snprintf(path, sizeof(path), "R/%s", odd[i]);
		review_file(&r, path, "x\n");
		snprintf(path, sizeof(path), "R/m/%s", odd[i]);
		snprintf(wide, sizeof(wide), "to be moved %zu\n", i);
		review_file(&r, path, wide);
	}
	review_start(&r);
	for (i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		snprintf(path, sizeof(path), "V/%s", odd[i]);
		review_file(&r, path, "y\n");
		snprintf(path, sizeof(path), "V/new/%s", odd[i]);
		review_file(&r, path, "z\n");
	}
	memset(wide, '\n', 255);
	wide[255] = '\0';
	snprintf(path, sizeof(path), "V/%s", wide);
	review_file(&r, path, "y\n");
	review_sh(&r, "mv V/m V/n");
	run(&r);
	for (p = review_patch(&r); *p != '\0'; p++)
		ATF_REQUIRE((*p >= ' ' && *p <= '~') || *p == '\n');
	gives_tree(&r);
	review_free(&r);
}

/* C62: the owner's configuration changes not a byte of it. */
ATF_TC_WITHOUT_HEAD(owner_configuration);
ATF_TC_BODY(owner_configuration, tc)
{
	struct review	 r;
	char		*first;
	uint8_t		 digest[DIGEST_LEN];

	review_begin(&r);
	review_file(&r, "R/a.c", "int a;\r\n  int b;  \n");
	review_file(&r, "R/\xc3\xa9", "x\n");
	review_sh(&r, "cd R; git init -q --template= .");
	review_start(&r);
	review_sh(&r, "cd V; echo 'int c;  ' >>a.c; echo y >\xc3\xa9");
	run(&r);
	ATF_REQUIRE((first = strdup(review_patch(&r))) != NULL);
	memcpy(digest, r.set.digest, sizeof(digest));
	review_sh(&r, "cd R; git config diff.external difftastic; "
	    "git config diff.noprefix true; git config color.ui always; "
	    "git config diff.mnemonicPrefix true; "
	    "git config core.quotePath false; git config core.autocrlf true; "
	    "git config apply.whitespace error; git config diff.context 9; "
	    "git config core.attributesFile /dev/zero; "
	    "git config diff.algorithm patience; mkdir -p .git/info; "
	    "echo '* -text diff=evil' >.git/info/attributes");
	review_refresh(&r);
	run(&r);
	ATF_CHECK_STREQ(review_patch(&r), first);
	ATF_CHECK(memcmp(r.set.digest, digest, sizeof(digest)) == 0);
	free(first);
	review_free(&r);
}

/* Text and binary files by their size; what is left out is said first. */
ATF_TC(bounds);
ATF_TC_HEAD(bounds, tc)
{
	atf_tc_set_md_var(tc, "timeout", "300");
}
ATF_TC_BODY(bounds, tc)
{
	struct review	r;
	const char	*said, *p;

	review_begin(&r);
	review_sh(&r, "cd R; yes 'a line of some text' | head -c 5000000 >mid; "
	    "yes '' | head -n 100002 >lines; seq 1 3000000 >large; "
	    "head -c 34000000 /dev/zero | tr '\\0' x >over; "
	    "head -c 8388608 /dev/urandom >bin; "
	    "head -c 8388609 /dev/urandom >binover; echo small >small");
	review_start(&r);
	review_sh(&r, "cd V; for f in mid lines large over bin binover small; "
	    "do echo more >>$f; done; truncate -s 8388608 bin; "
	    "printf x | dd of=bin bs=1 seek=4000 conv=notrunc 2>/dev/null");
	run(&r);
	ATF_CHECK(!change(&r, "mid")->opaque && !change(&r, "lines")->opaque);
	ATF_CHECK(!change(&r, "large")->opaque);
	ATF_CHECK(!change(&r, "bin")->opaque && change(&r, "bin")->binary);
	ATF_CHECK(change(&r, "binover")->opaque);
	ATF_CHECK(change(&r, "binover")->binary);
	ATF_CHECK(change(&r, "over")->opaque && !change(&r, "over")->binary);
	ATF_CHECK(r.set.incomplete);
	/* Beyond the differ's bounds all goes and all comes. */
	ATF_CHECK_EQ(change(&r, "lines")->deletions, 100002);
	ATF_CHECK_EQ(change(&r, "lines")->insertions, 100003);
	ATF_CHECK_EQ(change(&r, "small")->insertions, 1);
	p = review_patch(&r);
	ATF_CHECK(strncmp(p, "sbx: git apply alone does not give the whole",
	    44) == 0);
	ATF_CHECK(strstr(p, "\nsbx: binover is 8388614 bytes, SHA-256 ") !=
	    NULL);
	ATF_CHECK(strstr(p, "\nsbx: over is 34000005 bytes, SHA-256 ") != NULL);
	/* The rest of it git takes. */
	ATF_REQUIRE_MSG(review_git(&r, false, &said) == 0, "%s", said);
	ATF_REQUIRE(test_sh("cd '%s' && for f in mid lines large bin small; do "
	    "cmp V/$f C/$f || exit 1; done; cmp R/over C/over && "
	    "cmp R/binover C/binover", r.dir) == 0);
	review_free(&r);
}

/* The whole of it is bounded: 64 MiB; smaller entries still get in. */
ATF_TC(whole);
ATF_TC_HEAD(whole, tc)
{
	atf_tc_set_md_var(tc, "timeout", "300");
}
ATF_TC_BODY(whole, tc)
{
	struct review		 r;
	const struct change	*c;
	int			 opaque = 0;

	review_begin(&r);
	review_file(&r, "R/a", "a\n");
	review_start(&r);
	review_sh(&r, "cd V; for i in 1 2 3 4; do seq 1 3000000 >$i; done; "
	    "echo z >z");
	run(&r);
	TAILQ_FOREACH(c, &r.set.changes, entry)
		opaque += c->opaque;
	ATF_CHECK_EQ(opaque, 2);
	ATF_CHECK(!change(&r, "z")->opaque);
	ATF_CHECK(change(&r, "4")->opaque);
	ATF_CHECK(r.set.patchsize < (65 << 20));
	review_free(&r);
}

/* A hole is not filled in the stage, and stays quick. */
ATF_TC_WITHOUT_HEAD(sparse);
ATF_TC_BODY(sparse, tc)
{
	struct review	r;
	struct stat	st;
	char		path[PATH_MAX];

	review_begin(&r);
	review_file(&r, "R/a", "a\n");
	review_start(&r);
	review_sh(&r, "cd V; truncate -s 96M hole; printf end >>hole");
	run(&r);
	ATF_CHECK(change(&r, "hole")->opaque);
	snprintf(path, sizeof(path), "%s/G/%llu", r.dir,
	    (unsigned long long)change(&r, "hole")->stage);
	ATF_REQUIRE(stat(path, &st) == 0);
	ATF_CHECK_EQ(st.st_size, (96 << 20) + 3);
	ATF_CHECK_MSG(st.st_blocks < 2048, "%lld blocks",
	    (long long)st.st_blocks);
	review_free(&r);
}

/* Of holes alone, but larger than any filesystem of ours. */
ATF_TC_WITHOUT_HEAD(too_sparse);
ATF_TC_BODY(too_sparse, tc)
{
	struct review	r;
	char		layer[PATH_MAX];

	review_begin(&r);
	snprintf(layer, sizeof(layer), "%s/S", r.dir);
	ATF_REQUIRE(mount("tmpfs", layer, "tmpfs", 0, "mode=755") == 0);
	ATF_REQUIRE(test_sh("mkdir '%s/u' '%s/w'; chown %u '%s/u' '%s/w'",
	    layer, layer, (unsigned int)r.uid, layer, layer) == 0);
	review_start(&r);
	review_sh(&r, "cd V; truncate -s 1T most; truncate -s 2P more");
	run(&r);
	review_expect(&r, "added 0 100644 most\nskipped special more\n");
	review_free(&r);
	ATF_REQUIRE(umount2(layer, 0) == 0);
}

/* What is staged is what the session had, a link as its text; the digest
 * stands for manifest and patch. */
ATF_TC_WITHOUT_HEAD(stage);
ATF_TC_BODY(stage, tc)
{
	struct review	r;
	struct digest	d;
	uint8_t		sha[DIGEST_LEN], first[DIGEST_LEN];
	char		path[PATH_MAX], buf[4096];
	FILE		*f;
	size_t		n;
	int		i;

	review_begin(&r);
	review_file(&r, "R/a", "a\n");
	review_start(&r);
	review_sh(&r, "cd V; echo b >>a; ln -s text link; echo c >c; "
	    "yes | head -c 65536 >last; yes | head -c 65537 >first");
	run(&r);
	/* Small ones lie one behind the other, the others by number. */
	ATF_REQUIRE(test_sh("cd '%s/G' && part() { "
	    "tail -c +$1 pack | head -c $2; } && "
	    "[ \"$(part %d 4)\" = \"$(printf 'a\\nb')\" ] && "
	    "[ \"$(part %d 4)\" = text ] && [ \"$(part %d 2)\" = c ] && "
	    "part %d 65536 | cmp - '%s/V/last' && "
	    "[ $(wc -c <pack) = %d ] && cmp %d '%s/V/first' && "
	    "[ \"$(ls | wc -l)\" = 4 ]", r.dir, (int)change(&r, "a")->pack,
	    (int)change(&r, "link")->pack, (int)change(&r, "c")->pack,
	    (int)change(&r, "last")->pack, r.dir, 4 + 4 + 2 + 65536,
	    (int)change(&r, "first")->stage, r.dir) == 0);
	digest_init(&d);
	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/G/%s", r.dir,
		    i == 0 ? "manifest" : "patch");
		ATF_REQUIRE((f = fopen(path, "re")) != NULL);
		while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
			digest_add(&d, buf, n);
		fclose(f);
	}
	digest_end(&d, sha);
	ATF_CHECK(memcmp(sha, r.set.digest, sizeof(sha)) == 0);
	memcpy(first, sha, sizeof(first));
	run(&r);
	ATF_CHECK(memcmp(first, r.set.digest, sizeof(first)) == 0);
	ATF_REQUIRE(test_sh("[ \"$(ls '%s/G' | wc -l)\" = 4 ]", r.dir) == 0);
	/* Bits that git does not keep count too. */
	review_sh(&r, "chmod 600 V/c");
	run(&r);
	ATF_CHECK(memcmp(first, r.set.digest, sizeof(first)) != 0);
	review_free(&r);
}

/* All of it as the landing's child does it: nothing but its descriptors, and
 * under its filter; many entries, large and small, hidden and ignored. */
ATF_TC_WITHOUT_HEAD(confined);
ATF_TC_BODY(confined, tc)
{
	struct review	r;
	char		hide[PATH_MAX];
	char		*free_one, *confined_one;

	review_begin(&r);
	review_file(&r, "R/.gitignore", "*.o\n");
	review_file(&r, "R/d/key", "secret\n");
	review_file(&r, "R/d/a", "a\n");
	review_file(&r, "R/a.o", "a\n");
	review_sh(&r, "cd R; git init -q --template= .; git add .; "
	    "seq 1 200000 >large; head -c 3000000 /dev/urandom >bin");
	snprintf(hide, sizeof(hide), "%s/R/d/key", r.dir);
	r.hide[0] = hide;
	review_mask_file(&r, "d/key");
	review_start(&r);
	review_sh(&r, "cd V; for i in $(seq 1 400); do echo $i >new$i; done; "
	    "mv d e; echo more >>large; echo more >>bin; echo more >>a.o; "
	    "ln -s /etc/shadow link; mkfifo p; git add -A");
	run(&r);
	free_one = strdup(review_patch(&r));
	ATF_REQUIRE_EQ(review_confined(&r), 0);
	confined_one = strdup(review_patch(&r));
	ATF_CHECK_STREQ(free_one, confined_one);
	free(free_one);
	free(confined_one);
	review_free(&r);
}

/* The real file is read again for the patch: another one is noticed. */
ATF_TC_WITHOUT_HEAD(changed_meanwhile);
ATF_TC_BODY(changed_meanwhile, tc)
{
	struct review	r;
	struct job	job = { .project = -1 };
	char		path[PATH_MAX];

	review_begin(&r);
	review_file(&r, "R/a\033", "a\n");
	review_start(&r);
	review_sh(&r, "echo b >>V/a\033");
	ATF_REQUIRE(review_walk(&r) == 0);
	review_sh(&r, "echo o >R/a\033");
	snprintf(path, sizeof(path), "%s/R", r.dir);
	job.project = open(path, O_PATH | O_DIRECTORY);
	snprintf(path, sizeof(path), "%s/G", r.dir);
	job.stage = open(path, O_RDONLY | O_DIRECTORY);
	ATF_CHECK_EQ(changeset_patch(&job, &r.set, r.why, sizeof(r.why)), -1);
	ATF_CHECK_EQ(errno, EBUSY);
	ATF_CHECK_STREQ(r.why,
	    "a<U+001B>: changed while it was reviewed; review again");
	close(job.project);
	close(job.stage);
	review_free(&r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, forms);
	ATF_TP_ADD_TC(tp, last_lines);
	ATF_TP_ADD_TC(tp, bytes);
	ATF_TP_ADD_TC(tp, names);
	ATF_TP_ADD_TC(tp, owner_configuration);
	ATF_TP_ADD_TC(tp, bounds);
	ATF_TP_ADD_TC(tp, whole);
	ATF_TP_ADD_TC(tp, sparse);
	ATF_TP_ADD_TC(tp, too_sparse);
	ATF_TP_ADD_TC(tp, stage);
	ATF_TP_ADD_TC(tp, confined);
	ATF_TP_ADD_TC(tp, changed_meanwhile);
	return (atf_no_error());
}
