# What new, attach, exec, stop, kill, resume, gc, du, explain and sbxd --user
# refuse: one line, the right status, nothing changed, nothing left.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# ref_tty STATUS TEXT COMMAND...: as int_refused, at a terminal.
ref_tty()
{
	int_status=$1 int_text=$2 int_got=0
	shift 2
	echo end >end.steps
	pty end.steps sh -c '"$@" 2>refused.err' - "$@" >refused.out 2>&1 ||
	    int_got=$?
	if [ "$int_got" -ne "$int_status" ] || [ -s refused.out ] ||
	    [ "$(grep -c -v '^  ' refused.err)" -ne 1 ] ||
	    ! grep -q -F -e "$int_text" refused.err; then
		cat refused.out refused.err >&2
		atf_fail "$int_got, not $int_status and a line with \
\"$int_text\": $*"
	fi
}

# ref_all TEXT SESSION: each command that takes one refuses it so.
ref_all()
{
	for c in stop kill du show; do
		int_refused 1 "$1" sbxctl $c "$2"
	done
	int_refused 1 "$1" sbxctl explain /etc "$2"
	int_refused 125 "$1" sbxctl exec "$2" true
	int_refused 125 "$1" sbxctl resume "$2"
	int_refused 125 "$1" sbxctl resume "$2" -- true
	ref_tty 125 "$1" sbxctl attach "$2"
}

# ref_new COMMAND...: a session; its id is $sid.
ref_new()
{
	# shellcheck disable=SC2086 # words
	sid=$(cd "$P" && sbxctl new $AS --repo "$P" "$@") ||
	    atf_fail "new: status $?"
}

# ref_words COMMAND...: with each of these as its last word, as they are, and
# what the line has of them.
ref_words()
{
	for w in "a
b=a<U+000A>b" "$(printf 'a\033b=a<U+001B>b')" "$(printf 'a\377=a<FF>')" \
	    "$(printf '%04096d' 1)=00000" '../x=../x' '-=-'; do
		"$@" "${w##*=}" "${w%=*}"
	done
}

atf_test_case sessions
sessions_head()
{
	atf_set descr "sessions that are not there, or several, or have ended"
	atf_set require.user root
	atf_set timeout 300
}
sessions_one()
{
	ref_new -- sleep 1000
	live=$sid
	# One of which nothing waits would not count.
	int_keep sh -c 'echo waits >waits'
	ended=$sid
	int_running_mark
	ref_all 'empty session' ''
	ref_words ref_all
	ref_all zzzzzzzzzzzz zzzzzzzzzzzz
	ref_all "${live}a" "${live}a"
	int_refused 125 'has ended' sbxctl exec "$ended" true
	ref_tty 125 'has ended' sbxctl attach "$ended"
	int_refused 125 'has not ended: stop it first' sbxctl resume "$live"
	# Left out, where there are several, or none.
	first=$live
	ref_new -- sleep 1000
	int_running_mark
	for c in stop kill; do
		int_refused 1 'name one' sh -c "cd '$P' && sbxctl $c"
		int_refused 1 'no session has this folder' sh -c \
		    "cd / && sbxctl $c"
	done
	ref_tty 125 'name one' sh -c "cd '$P' && sbxctl attach"
	ref_tty 125 'no session has this folder' sh -c 'cd / && sbxctl attach'
	live=$sid
	int_nothing_left "$first" "$live" "$ended"
	# The others here have ended, and are in the way of none of these.
	atf_check -o match:"^session $first: ended" sbxctl kill "$first"
	atf_check -o match:"^session $live: ended" sh -c \
	    "cd '$P' && sbxctl kill"
	int_refused 1 'no session of this folder runs' sh -c \
	    "cd '$P' && sbxctl kill"
	ref_tty 125 "sbxctl resume $live" sh -c "cd '$P' && sbxctl attach"
	int_keep sh -c 'echo waits too >waits'
	int_refused 125 'name one' sh -c "cd '$P' && sbxctl resume -- true"
	# One letter that is two sessions' first.
	two='' ids="$first $live $ended $sid"
	while [ -z "$two" ]; do
		int_keep true
		ids="$ids $sid"
		# shellcheck disable=SC2086 # words
		two=$(printf '%.1s\n' $ids | sort | uniq -d | head -n 1)
	done
	ref_all 'stands for several' "$two"
	for sid in $ids; do
		atf_check -o ignore sbxctl rm --discard "$sid"
	done
	int_state_check
}
sessions_body()
{
	int_begin
	int_each sessions_one
	int_end
}

atf_test_case words
words_head()
{
	atf_set descr "names, keys, ages, variables, users, commands and paths \
that are none"
	atf_set require.user root
	atf_set timeout 300
}
word_name() { [ "$2" = ../x ] || int_refused 125 "$1" run_new --name "$2" true; }
word_older() { int_refused 2 "$1" sbxctl gc --older "$2"; }
word_env() { int_refused 2 "$1" sbxctl exec --env "$2" "$live" true; }
word_as() { int_refused 125 "--as" run_new --as "$2" true; }
word_repo() { int_refused 125 "$1" sbxctl new --repo "$2" true; }
word_keys()
{
	[ "$2" = - ] || ref_tty 125 "$1" sbxctl attach --detach-keys "$2" \
	    "$live"
}
word_command()
{
	want=127
	[ "${#2}" -lt 4096 ] || want=126
	int_refused $want "$1" sbxctl exec "$live" "./$2"
	int_refused $want "$1" sbxctl resume "$ended" -- "./$2"
	int_refused $want "$1" run_new "./$2"
}
run_new()
{
	# shellcheck disable=SC2086 # words
	(cd "$P" && sbxctl new $AS --repo "$P" "$@")
}
words_one()
{
	ref_new -- sleep 1000
	live=$sid
	int_keep true
	ended=$sid
	int_running_mark
	ref_words word_name
	ref_words word_older
	ref_words word_env
	ref_words word_repo
	ref_words word_keys
	ref_words word_command
	[ -n "$AS" ] || ref_words word_as
	for w in x -1 1w 1.5h 0x10 d +1 99999999999999999999 99999999d ''; do
		word_older "$w" "$w"
	done
	for w in F1 C- 'C-[' a,,b ',' ab a,b,c,d,e,f,g,h,i none,none ''; do
		word_keys "--detach-keys \"$w\":" "$w"
		[ -z "$w" ] || ref_tty 125 "SBX_DETACH_KEYS \"$w\":" env \
		    SBX_DETACH_KEYS="$w" sbxctl attach "$live"
	done
	for w in '' =x; do
		word_env "NAME=VALUE" "$w"
	done
	[ -n "$AS" ] || word_as '' ''
	word_repo 'empty path' ''
	int_refused 125 'not empty' run_new --name '' true
	int_refused 125 'is empty' run_new ''
	int_refused 125 'is empty' sbxctl exec "$live" ''
	int_refused 125 'is empty' sbxctl resume "$ended" -- ''
	int_refused 125 LD_PRELOAD sbxctl exec --env LD_PRELOAD=x "$live" true
	# Missing, and not executable.
	printf '#!/no/such\n' >"$P/bad"
	: >"$P/plain"
	chmod 755 "$P/bad"
	chown --reference="$P" "$P/bad" "$P/plain"
	for w in nowhere ./nowhere /no/thing a.txt/x; do
		int_refused 127 "$w" sbxctl exec "$live" "$w"
		int_refused 127 "$w" sbxctl resume "$ended" -- "$w"
		int_refused 127 "$w" run_new "$w"
	done
	for w in ./src /etc ./plain ./bad; do
		int_refused 126 "$w" sbxctl exec "$live" "$w"
		int_refused 126 "$w" sbxctl resume "$ended" -- "$w"
		int_refused 126 "$w" run_new "$w"
	done
	int_nothing_left "$live" "$ended"
	atf_check -o ignore sbxctl kill "$live"
	atf_check -o ignore sbxctl rm "$live"
	atf_check -o ignore sbxctl rm "$ended"
	int_state_check
}
words_body()
{
	int_begin
	int_each words_one
	int_end
}

atf_test_case usage
usage_head()
{
	atf_set descr "wrong options and numbers of words: status 2"
	atf_set require.user root
}
usage_body()
{
	int_tools
	int_who root
	cd "$P" || atf_fail cd
	for c in new attach exec stop kill resume gc du explain; do
		int_refused 2 '--nonsense: unknown option: accepted are' \
		    sbxctl $c --nonsense
		atf_check -o match:"^usage: sbxctl $c" sbxctl $c --help
	done
	for c in 'stop a b' 'kill a b' 'du a b' 'gc a' 'attach a b' \
	    'explain a b c' 'resume a b'; do
		# shellcheck disable=SC2086 # words
		int_refused 2 'one word too many' sbxctl $c
	done
	for c in new exec 'exec a' 'exec a --' explain; do
		# shellcheck disable=SC2086 # words
		int_refused 2 'is missing' sbxctl $c
	done
	for o in 'new --name' 'new --repo' 'exec --env' 'gc --older' \
	    'attach --detach-keys' 'explain --as'; do
		# shellcheck disable=SC2086 # words
		int_refused 2 'its value is missing' sbxctl $o
	done
	for o in 'stop --json=1' 'gc --dry-run=x' 'resume --keep=' \
	    'new --keep=x'; do
		# shellcheck disable=SC2086 # words
		int_refused 2 'takes no value' sbxctl $o
	done
	int_refused 2 'given twice' sbxctl gc --older 1d --older 2d
	int_refused 2 'given twice' sbxctl attach --detach-keys a \
	    --detach-keys b x
	int_refused 2 'has its own' sbxctl explain --hide x /etc y
	# A terminal is needed, and nobody's is one.
	int_refused 125 terminal sbxctl attach x
	atf_check test ! -e "$SBX_STATE"
}

atf_test_case paths
paths_head()
{
	atf_set descr "explain: relative, missing, unreadable, too long"
	atf_set require.user root
}
# says STATE PATH [WORD...]: explain of it.
says()
{
	says=$1
	shift
	# shellcheck disable=SC2086 # words
	(cd "$P" && sbxctl explain --json $asks "$@") >said 2>says.err ||
	    atf_fail "explain $*: $(cat says.err)"
	int_json said "o['state'] == '$says'"
}
paths_one()
{
	asks=$AS
	mkdir -m 0 "$P/shut" && : >"$P/shut/f"
	int_running_mark
	says shown a.txt
	says shown ./src/../a.txt
	says shown .
	says missing no/such/file
	says missing "$P/a.txt/x"
	says missing "$(printf 'new\nline')"
	says missing "$(printf '\033\377')"
	says missing "$(printf '%0256d' 1)"
	[ "$who_user" = root ] || says denied shut/f
	# As long as one can be, and one more.
	long=/$(printf '%04094d' 1)
	says missing "$long"
	int_refused 1 'longer than 4095' sbxctl explain "${long}1"
	int_refused 1 'longer than 4095' sbxctl explain "$(printf '%04095d' 1)"
	int_refused 1 'empty path' sbxctl explain ''
	for o in --repo --hide --ro; do
		int_refused 1 'empty path' sbxctl explain $o '' /etc
		int_refused 1 00000 sbxctl explain $o "${long}1" /etc
	done
	int_refused 1 'no such user' sbxctl explain --as nobody-at-all /etc
	int_refused 1 'cannot be a project' sh -c 'cd / && sbxctl explain etc'
	int_refused 1 'change to one' sh -c 'mkdir gone && cd gone &&
	    rmdir ../gone && exec sbxctl explain x'
	int_nothing_left
	rm -r "$P/shut"
}
paths_body()
{
	int_begin
	int_both paths_one
	int_end
}

atf_test_case starting
starting_head()
{
	atf_set descr "one that is only starting"
	atf_set require.user root
}
starting_body()
{
	int_begin
	int_who user
	int_running_mark
	# Its spare child could mount without it.
	# shellcheck disable=SC2046 # two
	kill -STOP $(pgrep -x mountd)
	ref_new_late
	int_refused 125 'only starting: try again' sbxctl exec "$sid" true
	ref_tty 125 'only starting: try again' sbxctl attach "$sid"
	int_refused 125 'has not ended' sbxctl resume "$sid"
	int_refused 1 starting sbxctl rm "$sid"
	int_refused 1 starting sbxctl rm --discard "$sid"
	int_refused 1 "$sid" sbxctl changes "$sid"
	sbxctl kill "$sid" >kill.out 2>&1 &
	kill=$!
	int_wait sh -c "! sbxctl ls | grep -q '^$sid .*starting'"
	# shellcheck disable=SC2046 # two
	kill -CONT $(pgrep -x mountd)
	wait "$kill" || atf_fail "kill: $? $(cat kill.out)"
	status=0
	wait "$late" || status=$?
	atf_check_equal 125 "$status"
	atf_check_equal 1 "$(wc -l <late.err)"
	atf_check -o match:'killed by root .uid 0.$' cat late.err
	ids=$(sbxctl ls 2>/dev/null | awk 'NR > 1 { print $1 }')
	for sid in $ids; do
		atf_check -o ignore sbxctl rm "$sid"
	done
	int_nothing_left
	int_end
}
# A session that does not come to its end of the start; $late is its sbxctl.
ref_new_late()
{
	# shellcheck disable=SC2086 # words
	(cd "$P" && exec sbxctl new $AS --repo "$P" -- sleep 1000) \
	    >late.out 2>late.err &
	late=$!
	int_wait sh -c "sbxctl ls | grep -q ' starting '"
	sid=$(sbxctl ls | awk '/ starting / { print $1 }')
}

atf_test_case theirs
theirs_head()
{
	atf_set descr "somebody else's session is none, by every command"
	atf_set require.user root
}
theirs_body()
{
	int_begin
	chmod 0666 "$SBX_STATE/sbxd.sock"
	int_who user
	other=$int_user
	int_user=''
	sbx_user int_user
	P=$int_user_home/p
	sbx_repo "$P" "$int_user"
	live=$(sbx-as "$int_user" sh -c 'cd "$0" && exec sbxctl new sleep 1000' \
	    "$P") || atf_fail new
	ended=$(sbx-as "$int_user" sh -c 'cd "$0" && exec sbxctl new true' \
	    "$P") || atf_fail new
	int_wait sh -c "sbxctl ls | grep -q '^$ended .*ended'"
	int_running_mark
	cd / || atf_fail cd
	for s in "$live" "$ended" "$(printf %.3s "$live")"; do
		for c in stop kill du show 'explain /etc'; do
			# shellcheck disable=SC2086 # words
			int_refused_in 1 "no session's id" sbx-as "$other" \
			    sbxctl $c "$s"
		done
		int_refused_in 125 "no session's id" sbx-as "$other" sbxctl \
		    exec "$s" true
		int_refused_in 125 "no session's id" sbx-as "$other" sbxctl \
		    resume "$s"
	done
	cd "$OLDPWD" || atf_fail cd
	# Who does not ask sbxctl hears the same.
	for k in types life; do
		setpriv --reuid "$other" --clear-groups "$tools/client" \
		    "$SBX_STATE/sbxd.sock" $k "$live" >answers ||
		    atf_fail "client $k: $?"
		atf_check -o not-match:': [A-Z]' \
		    -o match:'session.unknown' cat answers
	done
	atf_check -o empty -e match:'no sessions' sbx-as "$other" sbxctl ls
	atf_check -o match:'^0 removed|^nothing' sbx-as "$other" sbxctl gc \
	    --older 0s
	int_nothing_left "$live" "$ended"
	atf_check_equal running "$(int_state "$live")"
	atf_check -o ignore sbxctl kill "$live"
	int_end
}
# As int_refused, for who may not write in the current folder.
int_refused_in()
{
	(cd "$OLDPWD" && int_refused "$@") || atf_fail "$*"
}

atf_test_case resumed
resumed_head()
{
	atf_set descr "resume where the project is gone, or another one: the \
session stays as it is"
	atf_set require.user root
	atf_set timeout 120
}
resumed_one()
{
	int_keep sh -c 'echo mine >f'
	mv "$P" "$P.away"
	int_running_mark
	int_refused 125 "$P" sbxctl resume "$sid"
	: >"$P"
	int_refused 125 "$P" sbxctl resume "$sid"
	rm "$P"
	ln -s "$P.away" "$P"
	int_refused 125 "$P" sbxctl resume "$sid"
	rm "$P"
	cp -a "$P.away" "$P"
	int_refused 125 'another folder' sbxctl resume "$sid"
	rm -r "$P"
	int_nothing_left "$sid"
	mv "$P.away" "$P"
	atf_check -o inline:'mine\n' -e ignore sbxctl resume "$sid" -- cat f \
	    </dev/null
	atf_check -o match:'A  f' sbxctl changes "$sid"
	atf_check -o ignore sbxctl rm --discard "$sid"
}
resumed_body()
{
	int_begin
	int_each resumed_one
	int_end
}

atf_test_case own
own_head()
{
	atf_set descr "sbxd --user: what it does not take, and a state that is \
none"
	atf_set require.user root
}
own_body()
{
	int_tools
	int_clean_mark
	sbx_user int_own
	export int_own int_own_home
	sbxd=$SBX_BUILDDIR/sbin/sbxd
	cd / || atf_fail cd
	own() { int_refused_in "$1" "$2" own_as "$3" --user -d; }
	own_as()
	{
		own_state=$1
		shift
		SBX_STATE=$own_state timeout 20 sbx-own "$sbxd" "$@"
	}
	s=$int_own_home/s
	for o in -x --nonsense --user=x; do
		int_refused_in 2 "$o: " own_as "$s" --user "$o"
	done
	int_refused_in 2 'x: one word too many' own_as "$s" --user x
	int_refused_in 2 '-f: its value is missing' own_as "$s" --user -f
	for f in '' relative "/$(printf '%04096d' 1)"; do
		int_refused_in 1 'absolute path' own_as "$s" --user -f "$f"
	done
	int_refused_in 1 /no/such own_as "$s" --user -f /no/such
	atf_check test ! -e "$s"
	own 1 relative relative
	own 1 'cannot be /' /
	own 1 'longer than' "/$(printf '%04096d' 1)"
	own 1 doubled "$s/../t"
	: >"$s"
	own 1 "$s" "$s"
	rm "$s"
	ln -s /tmp "$s"
	own 1 "$s" "$s"
	rm "$s"
	own 1 /no/such /no/such/folder
	own 1 /proc /proc/x
	own 1 "$SBX_SCRATCH/new" "$SBX_SCRATCH/new"
	atf_check -o empty find "$int_own_home" -mindepth 1
	int_clean_check
}

atf_test_case repos
repos_head()
{
	atf_set descr "new and explain: what cannot be a project"
	atf_set require.user root
	atf_set timeout 120
}
# repo_not TEXT DIR
# shellcheck disable=SC2086 # words
repo_not()
{
	int_refused 125 "$1" sbxctl new $AS --repo "$2" true
	int_refused 1 "$1" sbxctl explain $AS --repo "$2" /etc
}
repos_one()
{
	int_running_mark
	repo_not /no/such /no/such
	repo_not 'not a folder' "$P/a.txt"
	for d in / // /..; do
		repo_not 'the whole machine' "$d"
	done
	repo_not 'empty path' ''
	for d in /proc/self /proc/1/root/var /sys/kernel /dev/shm \
	    "$SBX_SCRATCH/loop" "$SBX_STATE" "$SBX_STATE/s"; do
		repo_not "$d" "$d"
	done
	# Somebody else's: who is said to whom that one is not closed.
	[ "$who_user" = "${int_own-}" ] || repo_not "--as $owner" "$theirs"
	[ "$who_user" = root ] || repo_not "$roots" "$roots"
	install -d -m 0300 -o "$who_user" "$who_home/unreadable"
	int_refused 125 "$who_home/unreadable" run_new \
	    --repo "$who_home/unreadable" true
	int_refused 125 'is, or contains' run_new --hide "$P" true
	rmdir "$who_home/unreadable"
	int_nothing_left
}
repos_body()
{
	int_begin
	ln -s loop "$SBX_SCRATCH/loop"
	int_who root
	roots=$P
	sbx_user owner
	theirs=$SBX_SCRATCH/theirs
	sbx_repo "$theirs" "$owner"
	int_each repos_one
	int_end
}

atf_test_case full
full_head()
{
	atf_set descr "where the state is full: what needs room says so in one \
line, all others work, and what sessions have stays"
	atf_set require.user root
	atf_set timeout 120
}
# full_one DIR: where the state's filesystem is mounted.
full_one()
{
	int_keep sh -c 'echo kept >f'
	ended=$sid
	ref_new -- sh -c 'echo x >g; exec sleep 1000'
	live=$sid
	int_wait sh -c "sbxctl changes $live | grep -q 'A  g'"
	head -c 20000000 /dev/zero >"$1/fill" 2>/dev/null
	cat "$SBX_SRC"/man/* >>"$1/fill" 2>/dev/null
	text="the filesystem of the state, $SBX_STATE, is full: make room"
	int_refused 125 "$text" run_new true
	int_refused 125 "$text" sbxctl resume "$ended"
	atf_check -s exit:1 -o inline:'on\n' -e not-empty \
	    sbxctl exec "$live" sh -c 'echo on; echo x >big'
	atf_check -o match:' all$' sbxctl du
	atf_check -o match:'from its layer' sbxctl explain "$P/f" "$ended"
	atf_check -o match:"^session $ended: kept" sbxctl gc --older 0
	atf_check -o match:'^0 changes' sbxctl changes --outside "$ended"
	atf_check -o match:'ended 1(29|43): stopped' sbxctl stop "$live"
	int_refused 125 "$text" sbxctl resume "$live"
	rm "$1/fill"
	for sid in "$ended" "$live"; do
		atf_check -o match:'^(kept|x)$' -e ignore sbxctl resume \
		    "$sid" -- sh -c 'cat [fg]' </dev/null
		atf_check -o ignore sbxctl rm --discard "$sid"
	done
	int_state_check
}
full_body()
{
	int_tools
	sbx_fresh_fs ext4 "$SBX_SCRATCH/small" 8M
	sbx_fresh_fs ext4 "$SBX_SCRATCH/own" 8M
	SBX_STATE=$SBX_SCRATCH/small/state int_root_state=$SBX_SCRATCH/small/state
	int_clean_mark
	int_suite
	int_who user
	full_one "$SBX_SCRATCH/small"
	int_who own
	full_one "$SBX_SCRATCH/own"
	int_end
}

atf_init_test_cases()
{
	for c in sessions words usage paths starting theirs resumed own repos \
	    full; do
		atf_add_test_case "$c"
	done
}
