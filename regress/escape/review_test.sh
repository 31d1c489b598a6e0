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
	for f in real opened tool; do
		echo 1 >"$P/$f"
		chown --reference="$P" "$P/$f"
		chmod 644 "$P/$f"
	done
	chmod 600 "$P/opened"
	int_keep sh -c 'umask 0; echo a >new; echo b >run; chmod 777 run
	    echo c >mine; chmod 664 mine; chmod 662 real
	    for m in 620 775 654 600 640 644 700 755; do
		echo m >m$m
		chmod $m m$m
	    done
	    echo 2 >>opened; chmod 644 opened; chmod 755 tool'
	atf_check -o match:'A  new .*mode 100666$' \
	    -o match:'A  run .*executable  mode 100777$' \
	    -o match:'A  mine .*mode 100664$' -o match:'A  m620 .*mode 100620$' \
	    -o match:'A  m775 .*executable  mode 100775$' \
	    -o match:'A  m654 .*mode 100654$' -o match:'A  m6[04]0  .1 -0$' \
	    -o match:'A  m644  .1 -0$' -o match:'A  m7.*executable$' \
	    -o match:'M  opened .*mode 100600 to 100644' \
	    -o match:'m  real  mode 100644 to 100662' sbxctl changes "$sid"
	atf_check -o match:'^MODE: new lands with mode 100666' \
	    -o match:'^MODE: run lands with mode 100777' \
	    -o match:'^MODE: real lands with mode 100662, was 100644: others' \
	    -o match:'^MODE: mine lands with mode 100664: others' \
	    -o match:'^MODE: m620 lands with mode 100620: others' \
	    -o match:'^MODE: m775 lands with mode 100775: others' \
	    -o match:'^MODE: m654 lands with mode 100654$' \
	    -o match:'^MODE: opened lands with mode 100644, was 100600$' \
	    -o not-match:'^MODE: m6[04][04]' -o not-match:'^MODE: m7[05]' \
	    -o not-match:'^MODE: tool' sbxctl diff "$sid"
	# So does the patch, which git reads all the same.
	atf_check -o ignore -e ignore sbxctl patch -o p "$sid"
	atf_check_equal 8 "$(sed -n '/^diff/q; p' p | grep -c '^MODE: ')"
	atf_check -e ignore git -C "$P" apply --check "$PWD/p"
	atf_check -o match:landed sbxctl apply --yes "$sid"
	atf_check -o inline:'664\n620\n775\n654\n640\n644\n662\n' \
	    stat -c %a "$P/mine" "$P/m620" "$P/m775" "$P/m654" "$P/m640" \
	    "$P/opened" "$P/real"
	atf_check -o ignore sbxctl rm --discard "$sid"
}
modes_body()
{
	int_begin
	int_each modes_one
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
	int_each folders_one
	int_end
}

atf_init_test_cases()
{
	atf_add_test_case modes
	atf_add_test_case folders
}
