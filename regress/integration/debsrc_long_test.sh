# The main job on a larger C project, taken as a Debian source package.
# needs: network
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# source_get PACKAGE: unpacked below the current folder, from this machine's
# own package sources, read now, with deb-src beside each deb; apt's lists are
# in a scratch folder.
source_get()
{
	mkdir -p apt/lists/partial apt/cache/archives/partial apt/parts
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ ! -s "$f" ] || sed -n 's/^deb[[:space:]]/deb-src /p' "$f"
	done >apt/sources.list
	for f in /etc/apt/sources.list.d/*.sources; do
		[ ! -s "$f" ] || sed 's/^Types:.*/Types: deb-src/' "$f" \
		    >"apt/parts/${f##*/}"
	done
	cat >apt/conf <<-EOT
		Dir::Etc::SourceList "$PWD/apt/sources.list";
		Dir::Etc::SourceParts "$PWD/apt/parts";
		Dir::State::Lists "$PWD/apt/lists";
		Dir::Cache "$PWD/apt/cache";
		APT::Sandbox::User "root";
	EOT
	APT_CONFIG=$PWD/apt/conf apt-get -q update >apt/log 2>&1 ||
	    atf_fail "apt-get update: $(tail -n 3 apt/log)"
	APT_CONFIG=$PWD/apt/conf apt-get -q source --download-only "$1" \
	    >apt/log 2>&1 || atf_fail "apt-get source: $(tail -n 3 apt/log)"
	mkdir "$1"
	for f in "$1"_*.orig.tar.*; do
		case $f in
		*.asc) ;;
		*) tar xf "$f" -C "$1" --strip-components=1 ;;
		esac
	done
}

atf_test_case built
built_head()
{
	atf_set descr "a C library of 2,500 files: configured, built, edited, \
rebuilt, committed inside; reviewed and landed"
	atf_set require.user root
	atf_set timeout 1500
}
built_body()
{
	int_begin
	int_who user
	# It builds with a compiler and make alone.
	source_get musl
	rm -rf "$P"
	mv musl "$P"
	cd "$P" || atf_fail cd
	printf '/obj/\n/lib/*.[ao]\n/lib/*.so\n/config.mak\n' >.gitignore
	git init -q && git add -A -f . && git commit -qm upstream
	files=$(git ls-files | wc -l)
	[ "$files" -gt 2000 ] || atf_fail "only $files files"
	chown -Rh "$int_user:" "$P"
	cd "$SBX_SCRATCH" || atf_fail cd
	before=$(sbx_tree "$P")
	cat >"$tools/work" <<-'EOT'
		set -ex
		./configure --disable-shared >/dev/null
		make -j2 lib/libc.a >/dev/null
		test "$(ar t lib/libc.a | wc -l)" -gt 1000
		printf '/* edited */\n' >>src/string/strlen.c
		make lib/libc.a
		git mv src/regex src/regexp
		rm -r src/crypt
		for f in src/math/*.c; do sed -i '1i /* math */' "$f"; done
		mkdir new && cp src/string/*.c new
		printf '#!/bin/sh\n' >run && chmod 755 run
		git add -A .
		git commit -qm inside
		git status --porcelain | head
	EOT
	run --keep -- sh "$tools/work" >out 2>err ||
	    atf_fail "$(tail -n 5 out err)"
	sid=$(sed -n 's/.*session \([a-z2-7]*\) is kept.*/\1/p' err)
	# After the edit one file was compiled, not all of them.
	atf_check_equal 1 "$(grep -c -- ' -c -o obj/src' out)"
	int_same "$before" "$(sbx_tree "$P")" "the real files were touched"
	rm -rf "$SBX_SCRATCH/copy"
	cp -a "$P" "$SBX_SCRATCH/copy"
	start=$(date +%s)
	atf_check -o save:list sbxctl changes "$sid"
	atf_check -o match:'R  src/regexp/regcomp.c' \
	    -o match:'D  src/crypt/crypt.c' -o match:'A  new/strlen.c' \
	    -o match:'M  src/math/sin.c' -o match:'A  run.*executable' \
	    -o match:'ignored by' -o match:'     obj' cat list
	atf_check -o ignore sbxctl patch -o the.patch "$sid"
	git -C "$SBX_SCRATCH/copy" apply --whitespace=nowarn \
	    "$SBX_SCRATCH/the.patch" || atf_fail "git apply"
	atf_check -o match:landed sbxctl apply --yes "$sid"
	[ $(($(date +%s) - start)) -lt 120 ] || atf_fail "it takes too long"
	int_same "$(int_content "$P")" "$(int_content "$SBX_SCRATCH/copy")" \
	    "git apply gives another tree"
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	atf_check test ! -e "$P/obj" -a ! -e "$P/config.mak"
	atf_check_equal "1 upstream" \
	    "$(git -C "$P" log --format=%s | wc -l) $(git -C "$P" log \
	    --format=%s)"
	int_end
}

atf_init_test_cases()
{
	atf_add_test_case built
}
