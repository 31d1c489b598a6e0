# What a session does to have land what its review did not show.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

atf_test_case modes
modes_head()
{
	atf_set descr "what others may write afterwards is said, though a \
patch has no such modes"
	atf_set require.user root
}
modes_one()
{
	echo 1 >"$P/real"
	chown --reference="$P" "$P/real"
	chmod 644 "$P/real"
	int_keep sh -c 'umask 0; echo a >new; echo b >run; chmod 777 run
	    echo c >mine; chmod 664 mine; chmod 662 real'
	atf_check -o match:'A  new .*mode 100666$' \
	    -o match:'A  run .*executable  mode 100777$' \
	    -o match:'A  mine  .1 -0$' \
	    -o match:'m  real  mode 100644 to 100662' sbxctl changes "$sid"
	atf_check -o match:'^MODE: new lands with mode 100666' \
	    -o match:'^MODE: run lands with mode 100777' \
	    -o match:'^MODE: real lands with mode 100662' \
	    -o not-match:'^MODE: mine' sbxctl diff "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
}
modes_body()
{
	int_begin
	int_both modes_one
	int_end
}

atf_test_case folders
folders_head()
{
	atf_set descr "a new folder's mode, which no digest covers, opens \
nothing after the review"
	atf_set require.user root
}
folders_one()
{
	chmod 755 "$P"
	int_live folders sh -c 'mkdir -p d/e; echo x >d/e/f; echo one
	    read l; chmod 777 d d/e; echo two; read l'
	int_wait grep -qx one folders.out
	digest=$(sbxctl changes "$sid" | sed -n 's/^digest *//p')
	echo >&9
	int_wait grep -qx two folders.out
	atf_check -o ignore sbxctl apply --digest "$digest" "$sid"
	atf_check -o inline:'755\n755\n' stat -c %a "$P/d" "$P/d/e"
	echo >&9
	exec 9>&-
	wait "$live" || atf_fail "$(cat folders.err)"
	atf_check -o ignore sbxctl rm --discard "$sid"
	# As wide as the project's own folder is.
	chmod 775 "$P"
	int_keep sh -c 'umask 0; mkdir g; echo x >g/f'
	atf_check -o ignore sbxctl apply --yes "$sid"
	atf_check -o inline:'775\n' stat -c %a "$P/g"
	atf_check -o ignore sbxctl rm --discard "$sid"
}
folders_body()
{
	int_begin
	int_both folders_one
	int_end
}

atf_init_test_cases()
{
	atf_add_test_case modes
	atf_add_test_case folders
}
