# bash completion of sbxctl. sbxctl help is the authority: a test compares.
# commands: run ls show changes diff patch apply discard rm stop kill resume
# commands: explain du gc doctor version new attach exec help

_sbxctl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	local cmd=${COMP_WORDS[1]-} words='' i

	if [ "$COMP_CWORD" -le 1 ]; then
		words="run ls show changes diff patch apply discard rm stop
		    kill resume explain du gc doctor version new attach exec
		    help"
		COMPREPLY=($(compgen -W "$words" -- "$cur"))
		return
	fi
	case $prev in
	--repo)
		COMPREPLY=($(compgen -d -- "$cur"))
		return ;;
	--hide | --ro | -o)
		COMPREPLY=($(compgen -f -- "$cur"))
		return ;;
	--as)
		COMPREPLY=($(compgen -u -- "$cur"))
		return ;;
	--name | --env | --digest | --detach-keys | --older)
		return ;;
	esac
	case $cmd in
	run | new)
		words="--repo --name --hide --ro --no-network --env --as
		    --keep --help"
		[ "$cmd" = run ] && words="$words --raw" || words="$words --json"
		# After the first word that is no option: a command's own.
		for ((i = 2; i < COMP_CWORD; i++)); do
			case ${COMP_WORDS[i]} in
			--)
				words='' ;;
			--repo | --name | --hide | --ro | --env | --as)
				((i++)) ;;
			-*)
				;;
			*)
				words='' ;;
			esac
			[ -n "$words" ] || break
		done
		if [ -z "$words" ]; then
			COMPREPLY=($(compgen -f -- "$cur"))
			return
		fi
		case $cur in
		-*) ;;
		*)
			COMPREPLY=($(compgen -c -- "$cur"))
			return ;;
		esac ;;
	attach)
		words="--detach-keys --raw --help" ;;
	exec)
		words="--env --raw --help" ;;
	patch)
		words="--repo -o --json --help" ;;
	apply)
		words="--repo --digest --yes --json --help" ;;
	discard)
		words="--repo --yes --json --help" ;;
	changes)
		words="--repo --outside --json --help" ;;
	diff)
		words="--repo --json --help" ;;
	rm)
		words="--discard --json --help" ;;
	explain)
		words="--repo --hide --ro --as --json --help" ;;
	gc)
		words="--older --dry-run --discard --json --help" ;;
	resume)
		words="--keep --raw --help" ;;
	ls | show | stop | kill | du | doctor | version)
		words="--json --help" ;;
	esac
	case $cur in
	-*)
		COMPREPLY=($(compgen -W "$words" -- "$cur"))
		return ;;
	esac
	case $cmd in
	show | changes | diff | patch | apply | discard | rm | stop | kill | \
	    resume | du | attach | exec)
		words=$(sbxctl ls 2>/dev/null | sed -n '2,$s/ .*//p')
		COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
	explain)
		COMPREPLY=($(compgen -f -- "$cur")) ;;
	esac
}
complete -F _sbxctl sbxctl
