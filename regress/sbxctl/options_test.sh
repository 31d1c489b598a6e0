# Words and options: whatever is wrong is one line that says what was given
# and what would have been accepted, exit 2, and nothing is started.

# usage LINE-PATTERN WORD...
usage() {
	usage_want=$1
	shift
	atf_check -s exit:2 -o empty -e save:err sbxctl "$@"
	[ "$(wc -l <err)" -eq 1 ] || atf_fail "$*: not one line: $(cat err)"
	grep -q -e "^sbxctl: $usage_want" err ||
	    atf_fail "$*: $(cat err), not: $usage_want"
	[ ! -e "$SBX_STATE" ] || atf_fail "$*: something was started"
}

atf_test_case command
command_body() {
	usage 'nosuchcmd: unknown command: "sbxctl help" lists them; to run it in a session: sbxctl run nosuchcmd$' nosuchcmd
	usage 'an empty command: name one, "sbxctl help" lists them$' ''
	usage '-x: unknown option: .*--help and --version.*"sbxctl help"' -x
	usage 'a<U+000A>b<U+001B>: unknown command' "$(printf 'a\nb\033')"
	# A slip names what was meant, anything else does not.
	for w in aply:apply appyl:apply change:changes dif:diff rn:run \
	    explian:explain attatch:attach dis:discard; do
		usage "${w%:*}: unknown command: is \"sbxctl ${w#*:}\" meant? \"sbxctl help\" lists them\$" "${w%:*}"
	done
	for w in make bash x list vim; do
		usage "$w: unknown command: \"sbxctl help\" lists" $w
	done
	usage 'aply: unknown command: is "sbxctl apply" meant' help aply
	atf_check -s exit:2 -o empty -e match:'usage: sbxctl run' sbxctl
	atf_check -o match:'usage: sbxctl run .*--repo DIR' sbxctl help
	atf_check -o match:'usage: sbxctl run' sbxctl --help
	atf_check -o match:'usage: sbxctl apply .*--digest DIGEST' \
	    sbxctl apply --help
}

atf_test_case unknown_option
unknown_option_body() {
	usage 'run: --hid: unknown option: is --hide meant? accepted are --repo DIR, --name NAME, --hide PATH, --ro PATH, --no-network, --env NAME=VALUE, --as USER, --keep, --raw$' run --hid x -- true
	usage 'run: -k: unknown option: accepted' run -k true
	usage 'gc: --all: unknown option: accepted are --older AGE, --dry-run, --discard, --json$' gc --all
	usage 'explain: PATH .SESSION. is missing' explain
	usage 'explain: a: a session that is there has its own' \
	    explain --hide x y a
	usage 'resume: --hide: unknown option: accepted are --keep, --raw$' \
	    resume --hide x
	usage 'resume: true: one word too many: a command comes after "--"' \
	    resume a true
	usage 'changes: --foo: unknown option: accepted are --repo DIR, --outside, --json$' \
	    changes --foo
	usage 'diff: --foo: unknown option: accepted are --repo DIR, --json$' \
	    diff --foo
	for c in ls show stop kill du doctor version; do
		usage "$c: --foo: unknown option: accepted are --json\$" \
		    $c --foo
	done
	usage 'patch: --out: unknown option: accepted are --repo DIR, -o FILE, --json$' \
	    patch --out x
	usage 'apply: --force: unknown option: accepted are --repo DIR, --digest DIGEST, --yes, --json$' apply --force
	usage 'discard: --all: unknown option: accepted are --repo DIR, --yes, --json$' \
	    discard --all
	usage 'rm: -f: unknown option: accepted are --discard, --json$' rm -f
	usage 'help: --json: unknown option: it takes none: sbxctl help .COMMAND.$' \
	    help --json
}

atf_test_case values
values_body() {
	usage 'run: --repo: its value is missing: give --repo DIR$' run --repo
	usage 'patch: -o: its value is missing: give -o FILE$' patch -o
	usage 'run: --keep=yes: takes no value: give --keep alone$' \
	    run --keep=yes true
	usage 'diff: --repo: given twice (a, b): give it once$' \
	    diff --repo a --repo=b
	usage 'run: --env FOO: no value: give --env FOO=VALUE$' \
	    run --env FOO true
	usage 'exec: --env FOO: no value: give --env FOO=VALUE$' \
	    exec --env FOO x true
	usage 'run: --env : no value: give --env NAME=VALUE$' run --env '' true
	usage 'run: --env =x: no name before the "=": give --env NAME=VALUE$' \
	    run --env =x true
	usage 'patch: -o FILE is missing' patch
	usage 'apply: --yes and --digest 00: give one' apply --yes --digest 00
	usage 'apply: --digest xyz: not 64 hexadecimal digits' \
	    apply --digest xyz
}

atf_test_case words
words_body() {
	usage 'run: .*COMMAND .* is missing: sbxctl run ' run
	usage 'run: .*COMMAND .* is missing' run --
	usage 'run: .*COMMAND .* is missing' run --keep --
	usage 'ls: x: one word too many: sbxctl ls' ls x
	usage 'show: b: one word too many: sbxctl show .--json. .SESSION.$' \
	    show a b
	usage 'rm: b: one word too many' rm --discard a b
	usage 'version: --: one word too many' version -- --
}

# 125 from run, 1 elsewhere: what is no usage.
atf_test_case statuses
statuses_body() {
	atf_check -s exit:125 -o empty -e match:'^sbxctl: --repo /no/such: ' \
	    sbxctl run --repo /no/such true
	atf_check -s exit:125 -o empty -e match:'^sbxctl: the command is empty' \
	    sbxctl run ''
	atf_check -s exit:1 -o empty -e match:'^sbxctl: discard: .*--yes' \
	    sbxctl discard
	atf_check -s exit:1 -o empty -e match:'^sbxctl: apply: there is no terminal' \
	    sbxctl apply
	[ ! -e "$SBX_STATE" ] || atf_fail "something was started"
	SBX_SESSION=abcdefghijkl
	export SBX_SESSION
	atf_check -s exit:125 -o empty \
	    -e match:'^sbxctl: run: this is the inside of session abcdefghijkl' \
	    sbxctl run true
	atf_check -s exit:1 -o empty -e match:'^sbxctl: ls: this is the inside' \
	    sbxctl ls
	atf_check -o match:'^sbxctl ' -e empty sbxctl version
}

# helped COMMAND: the options that help explains, one a line.
helped() {
	sbxctl help "$1" | sed -nE 's/^\t(-[a-z-]+)( [A-Z=]+)?(\.\.\.)? +[^ ].*/\1/p'
}

# Help explains each option that a command takes, in a line of a terminal's,
# and no other.
atf_test_case help
help_body() {
	sbxctl help | sed -nE 's/^(usage:|      ) sbxctl //p' >usage
	while read -r c rest; do
		echo "$rest" | tr -s '] [' '\n' | sed -n '/^--*[a-z]/p' >want
		helped "$c" >have
		diff want have || atf_fail "$c: other options"
		sbxctl help "$c" >text
		atf_check -o file:text sbxctl "$c" --help
		sed 1d text | expand | awk 'length > 79' >long
		atf_check cat long
	done <usage
	atf_check_equal 21 "$(wc -l <usage)"
	# Two of one name are not one option.
	atf_check -o match:'	--repo DIR... +the project' sbxctl help run
	atf_check -o match:'	--repo DIR  +this root' sbxctl help apply
}

# The shells' completions know every command, and no others.
atf_test_case completions
completions_body() {
	sbxctl help | sed -nE 's/^(usage:|      ) sbxctl ([a-z]+).*/\2/p' |
	    sort >commands
	for f in "$SBX_SRC"/etc/completions/*; do
		sed -n 's/^# commands: //p' "$f" | tr ' ' '\n' | sort >have
		diff commands have || atf_fail "$f: other commands"
		sed 's/^#.*//' "$f" >text
		while read -r w; do
			grep -q -w -e "$w" text || atf_fail "$f: no $w"
		done <commands
	done
	for f in "$SBX_SRC"/etc/completions/*.bash; do
		atf_check bash -n "$f"
	done
}

# What is asked for, and what is to be offered: three lines each.
wanted() {
	cat <<-EOT
		sbxctl d|diff discard doctor du
		sbxctl run --h|--help --hide
		sbxctl patch -|--help --json --repo -o
		sbxctl rm --d|--discard
		sbxctl help ve|version
		sbxctl show |aaaabbbbcccc aaaaddddeeee one zzzz22223333
		sbxctl rm --discard z|zzzz22223333
		sbxctl patch -o /x a|aaaabbbbcccc aaaaddddeeee
		sbxctl exec --env A=1 o|one
		sbxctl explain /etc z|zzzz22223333
		sbxctl show one |
		sbxctl show '$|
		sbxctl gc |
		sbxctl run --env A=|
		sbxctl run --env A=b|
		sbxctl run --as $user|$user
		sbxctl diff --repo $PWD/tree/|$PWD/tree/a b $PWD/tree/sub
		sbxctl diff --repo=$PWD/tree/s|$PWD/tree/sub
		sbxctl run -- sbxct|sbxctl
		sbxctl run -- ls $PWD/tree/f|$PWD/tree/file
		sbxctl exec one sbxct|sbxctl
	EOT
}
# offers SHELL: it does.
offers() {
	wanted | while IFS='|' read -r line want; do
		got=$("offer_$1" "$line" | sort -u | xargs) || exit 1
		[ "$got" = "$want" ] || echo "$line: $got, not $want"
	done >wrong
	atf_check cat wrong
	for c in $(sbxctl help | sed -nE 's/^(usage:|      ) sbxctl ([a-z]+).*/\2/p'); do
		want=$({ echo --help; helped "$c"; } | sort -u | xargs)
		got=$("offer_$1" "sbxctl $c -" | sort -u | xargs)
		[ "$got" = "$want" ] || echo "$c: $got, not $want"
	done >wrong
	atf_check cat wrong
	[ ! -e evaluated ] || atf_fail "a session's name was executed"
}
offer_bash() {
	bash -c '. "$0"
		words=${1//=/ = }
		read -r -a COMP_WORDS <<<"$words"
		case $1 in *" ") COMP_WORDS+=("") ;; esac
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
		_sbxctl
		printf "%s\n" "${COMPREPLY[@]}"
	' "$SBX_SRC/etc/completions/sbxctl.bash" "$1"
}
# With what it is found by, and not a tab and what it says about it. A folder
# has a slash at its end here, a space in it its backslash or not.
offer_fish() {
	HOME=$PWD fish --no-config -c 'source $argv[1]; complete -C $argv[2]' \
	    "$SBX_SRC/etc/completions/sbxctl.fish" "$1" |
	    sed -e 's/	.*//' -e 's,/$,,' -e 's/^--repo=//' -e 's/\\ / /'
}
offer_begin() {
	mkdir -p tree/sub "tree/a b"
	: >tree/file
	sbx_user user
	FAKE=names sbx_fake suite
}
# offer_alone SHELL: without a suite nothing, and none is started.
offer_alone() {
	kill "$fake"
	wait "$fake" 2>/dev/null
	rm -r "$SBX_STATE"
	[ -z "$("offer_$1" 'sbxctl show ')" ] || atf_fail "out of nothing"
	[ ! -e "$SBX_STATE" ] || atf_fail "something was started"
}

atf_test_case completions_bash
completions_bash_body() {
	offer_begin
	offers bash
	offer_alone bash
}

atf_test_case completions_fish
completions_fish_body() {
	offer_begin
	offers fish
	offer_alone fish
}

atf_init_test_cases() {
	atf_add_test_case command
	atf_add_test_case unknown_option
	atf_add_test_case values
	atf_add_test_case words
	atf_add_test_case statuses
	atf_add_test_case help
	atf_add_test_case completions
	atf_add_test_case completions_bash
	atf_add_test_case completions_fish
}
