# A session that edits and rebuilds the very tree from which the suite runs.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

atf_test_case rebuilt
rebuilt_head()
{
	atf_set descr "the running suite's own tree is edited, rebuilt and \
landed: its programs stay, it goes on"
	atf_set require.user root
	atf_set timeout 400
}
rebuilt_body()
{
	int_tools
	# The tree with its sources and what was built of it.
	P=$HOME/tree
	git clone -q --no-hardlinks "$SBX_SRC" "$P" || atf_fail "no clone"
	(cd "$SBX_SRC" && cp GNUmakefile config.mk "$P" && tar cf - common \
	    privsep netd mountd landd worker sbxctl) |
	    tar xf - --no-same-owner -C "$P"
	mkdir "$P/build"
	(cd "$SBX_BUILDDIR" && tar cf - bin sbin libexec obj lib gen tools \
	    .flags .place 2>/dev/null) | tar xf - --no-same-owner -C "$P/build"
	find "$P" -name '*.d' -path '*/obj/*' -exec sed -i \
	    "s|$SBX_BUILDDIR|build|g" {} +
	git -C "$P" add -A . && git -C "$P" commit -qm tree
	AS=''
	PATH=$P/build/bin:$P/build/sbin:$PATH
	atf_check -o inline:"$P/build/sbin/sbxd\n" sh -c 'command -v sbxd'
	int_clean_mark
	int_suite
	atf_check_equal "$P/build/sbin/sbxd" "$(readlink "/proc/$sbx_suite/exe")"
	programs=$(cd "$P/build" && sha256sum bin/* sbin/* libexec/sbx/*)
	before=$(sbx_tree "$P")
	# Another build of every program, from an edited source.
	run --keep -- sh -exc '
		sed -i "s/\"sbxctl %s/\"sbxctl edited %s/" sbxctl/out_text.c
		echo "/* edited inside */" >>common/digest.c
		make -j2 all >build.log 2>&1 || { tail -n 20 build.log; exit 1; }
		build/bin/sbxctl version; rm build.log; rm -f NEWS; echo n >NEWS' \
	    >out 2>err || atf_fail "$(tail -n 5 out err)"
	sid=$(sed -n 's/.*session \([a-z2-7]*\) is kept.*/\1/p' err)
	atf_check -o match:'^sbxctl edited ' cat out
	int_same "$programs" \
	    "$(cd "$P/build" && sha256sum bin/* sbin/* libexec/sbx/*)"
	int_same "$before" "$(sbx_tree "$P")" "the real tree was touched"
	# The suite is alive and does what it did.
	atf_check -o inline:'alive\n' run -- echo alive
	atf_check -o match:'M  common/digest.c' -o match:'M  sbxctl/out_text.c' \
	    -o match:'A  NEWS' -o not-match:'build/' sbxctl changes "$sid"
	atf_check -o match:'3 files landed' sbxctl apply --yes "$sid"
	int_same "$programs" \
	    "$(cd "$P/build" && sha256sum bin/* sbin/* libexec/sbx/*)"
	atf_check -o inline:'alive\n' run -- echo alive
	# Rebuilt outside too, under the running suite: it goes on.
	(cd "$P" && make -j2 build/bin/sbxctl >/dev/null 2>&1) ||
	    atf_fail "does not build after the landing"
	atf_check -o match:'^sbxctl edited ' sbxctl version
	atf_check -o match:'^0 files changed' sbxctl changes "$sid"
	int_end
}

atf_init_test_cases()
{
	atf_add_test_case rebuilt
}
