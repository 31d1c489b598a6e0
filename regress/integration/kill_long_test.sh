# The same as kill_test, more often.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/kill.sh"

atf_test_case landings
landings_head()
{
	atf_set descr "40 landings, each with a program killed at another moment"
	atf_set require.user root
	atf_set timeout 900
}
landings_body()
{
	int_tools
	int_who user
	int_clean_mark
	set --
	for i in 1 2 3 4 5 6 7 8; do
		set -- "$@" land sbxd landd land mountd
	done
	landing_rounds 200 "$@"
}

atf_init_test_cases()
{
	atf_add_test_case landings
}
