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
	# The synopsis of each command has the options that its help explains.
	sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESC/p' "$page" >synopsis
	while read -r word; do
		sbxctl help "$word" | sed -nE 's/^\t(-[a-z-]+) .*/\1/p' |
		    sort >want
		awk -v w="$word" '$1 == ".Nm" { on = 0 }
		    $1 == ".Cm" { on = index(" " $0 " ", " " w " ") }
		    on { while (match($0, /Fl -?[a-z][a-z-]*/)) {
			print "-" substr($0, RSTART + 3, RLENGTH - 3)
			$0 = substr($0, RSTART + RLENGTH) } }' synopsis |
		    sort >have
		diff want have || atf_fail "$page: the synopsis of $word"
	done <words
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

atf_test_case accounts
accounts_head()
{
	atf_set require.user root
	atf_set descr "sbxd.8 makes the accounts that sbxd looks for, both ways"
}
accounts_body()
{
	sed -n '/^\.Sh ACCOUNTS/,/^\.Sh ENV/p' "$SBX_SRC/man/sbxd.8" |
	    sed -n '/^\.Bd/,/^\.Ed/{/^\.[BE]d/d; s/\\e$/\\/; p;}' >page
	sed -n '/static const char .const.accounts/,/^};/p' \
	    "$SBX_SRC/privsep/sbxd_uids.c" | grep -o '_sbx[a-z]*' | sort >want
	test "$(wc -l <want)" -ge 7 || atf_fail "no accounts in sbxd_uids.c"
	# What is to be typed, with nobody made.
	cat >typed <<-'EOT'
		groupadd() { test "$*" = '--system sbx' || echo "group $*"; }
		useradd() { for last; do :; done; echo "$last"; }
	EOT
	sed -n '/groupadd/,/done/p' page >>typed
	sh typed >have || atf_fail "what is to be typed"
	sort -o have have
	atf_check diff want have
	awk '$1 == "u" && $3 == "-" { print $2 }' page | sort >have
	atf_check diff want have
	# Names and options that the tool knows, in a passwd of this case's.
	mkdir -p root/etc
	touch root/etc/passwd root/etc/group root/etc/shadow root/etc/gshadow
	cp /etc/login.defs root/etc 2>/dev/null || :
	sed -e '/^groupadd() /d; /^useradd() /d' \
	    -e "s|useradd |useradd --prefix $PWD/root |" \
	    -e "s|groupadd |groupadd --prefix $PWD/root |" typed >real
	sh -e real >out 2>&1 || atf_fail "$(cat out)"
	cut -d: -f1 root/etc/passwd | sort >have
	atf_check diff want have
	echo sbx >>want
	sort -o want want
	cut -d: -f1 root/etc/group | sort >have
	atf_check diff want have
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
	atf_add_test_case accounts
	atf_add_test_case programs
}
