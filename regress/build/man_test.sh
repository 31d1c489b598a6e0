# The pages against the programs: what help knows, the page explains.

atf_test_case commands
commands_head()
{
	atf_set descr "sbxctl.1 has every command and option of sbxctl help"
}
commands_body()
{
	sbxctl help >text || atf_fail "sbxctl help"
	page=$SBX_SRC/man/sbxctl.1
	sed -n 's/^[usage: ]*sbxctl \([a-z]*\).*/\1/p' text >words
	test "$(wc -l <words)" -ge 10 || atf_fail "help shows no commands"
	while read -r word; do
		grep -qE "^\.(It )?Cm ([a-z| ]* )?$word( |$)" "$page" ||
		    atf_fail "$page: no command $word"
	done <words
	grep -oE -e '--[a-z][a-z-]*' text | sort -u >opts
	test "$(wc -l <opts)" -ge 10 || atf_fail "help shows no options"
	while read -r option; do
		grep -q -e "Fl -${option#--}" "$page" ||
		    atf_fail "$page: no option $option"
	done <opts
	# And the other way round.
	grep -oE 'Fl -[a-z][a-z-]*' "$page" | sed 's/Fl -/--/' | sort -u |
	    comm -23 - opts >surplus
	atf_check -o empty cat surplus
}

atf_test_case options
options_head()
{
	atf_set descr "sbxd.8 has every option of sbxd's usage"
}
options_body()
{
	sbxd -Z 2>usage && atf_fail "sbxd took -Z"
	atf_check -o match:'^sbxd: -Z: unknown option: usage: sbxd \[-' cat usage
	for letter in $(sed -n 's/.*\[-\([a-z]*\)\].*/\1/p' usage | fold -w 1) \
	    f; do
		grep -q "^\.It Fl $letter" "$SBX_SRC/man/sbxd.8" ||
		    atf_fail "sbxd.8: no -$letter"
	done
}

atf_test_case programs
programs_head()
{
	atf_set descr "every program has its page, every page its program"
}
programs_body()
{
	for p in "$SBX_BUILDDIR"/libexec/sbx/*; do
		atf_check test -f "$SBX_SRC/man/sbx-${p##*/}.8"
	done
	for p in "$SBX_SRC"/man/sbx-*.8; do
		n=${p##*/sbx-}
		atf_check test -x "$SBX_BUILDDIR/libexec/sbx/${n%.8}"
	done
}

atf_init_test_cases()
{
	atf_add_test_case commands
	atf_add_test_case options
	atf_add_test_case programs
}
