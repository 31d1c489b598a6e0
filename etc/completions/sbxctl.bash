# bash completion of sbxctl. Options are those that sbxctl help COMMAND lists.
# commands: run ls show changes diff patch apply discard rm stop kill resume
# commands: explain du gc doctor version new attach exec help

# Ids, and names: those that are no more than letters, since compgen -W expands
# its words as a shell does. Without a running suite there are none to be had,
# and asking would start one.
_sbxctl_sessions()
{
	case $(sbxctl version --json 2>/dev/null) in
	*'"suite": {'*) ;;
	*) return ;;
	esac
	sbxctl ls --json 2>/dev/null | sed -nE \
	    's/^ {6}"(session|name)": "([A-Za-z0-9_][A-Za-z0-9_.+-]*)",?$/\2/p'
}

# What compgen finds by $cur, whatever is in a file's name.
_sbxctl_offer()
{
	mapfile -t COMPREPLY < <(compgen "$@" -- "$cur")
	case $1 in
	-[df]) compopt -o filenames 2>/dev/null ;;
	esac
}

# The word for an option's value in $help; none where it takes none.
_sbxctl_value()
{
	awk -v o="$1" '$1 == o && $2 ~ /^[A-Z]/ {
		sub(/[^A-Z].*/, "", $2); print $2; exit }' <<<"$help"
}

# A command of the user's own: its name, then files.
_sbxctl_command()
{
	if [ "$1" -eq 0 ]; then
		_sbxctl_offer -c
	else
		_sbxctl_offer -f
	fi
}

_sbxctl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	local cmd=${COMP_WORDS[1]-} i='' n=0 own=-1
	local commands="run ls show changes diff patch apply discard rm stop
	    kill resume explain du gc doctor version new attach exec help"

	if [ "$COMP_CWORD" -le 1 ]; then
		_sbxctl_offer -W "$commands"
		return
	fi
	local help
	help=$(sbxctl help "$cmd" 2>/dev/null)
	# "--repo=DIR" comes as three words, "--env A=1" as four.
	if [ "$cur" = = ]; then
		i=$COMP_CWORD cur=''
	elif [ "$prev" = = ]; then
		i=$((COMP_CWORD - 1))
	fi
	if [ -n "$i" ]; then
		prev=${COMP_WORDS[i-1]}
		# Of "--env NAME=VALUE" the value is nobody's to know.
		[ "${COMP_WORDS[i-2]}" != --env ] || return
	fi
	# n: words before this one that are no options; own: those after "--".
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [ "$own" -ge 0 ]; then
			((own++))
			continue
		fi
		case ${COMP_WORDS[i]} in
		--)
			own=0 ;;
		=)
			((i++)) ;;
		-*)
			if [ -n "$(_sbxctl_value "${COMP_WORDS[i]}")" ]; then
				[ "${COMP_WORDS[i+1]-}" != = ] || ((i++))
				((i++))
			fi ;;
		*)
			((n++)) ;;
		esac
	done
	# Options end at a command's name.
	case $cmd in
	run | new)
		if [ "$own" -ge 0 ] || [ "$n" -gt 0 ]; then
			_sbxctl_command $((own > 0 ? own : n))
			return
		fi ;;
	exec | resume)
		if [ "$own" -ge 0 ]; then
			_sbxctl_command "$own"
			return
		elif [ "$cmd" = exec ] && [ "$n" -gt 1 ]; then
			_sbxctl_command "$n"
			return
		fi ;;
	esac
	case $(_sbxctl_value "$prev") in
	DIR)
		_sbxctl_offer -d
		return ;;
	PATH | FILE)
		_sbxctl_offer -f
		return ;;
	USER)
		_sbxctl_offer -u
		return ;;
	?*)
		return ;;
	esac
	case $cur in
	-*)
		[ "$own" -ge 0 ] || _sbxctl_offer -W "--help $(
		    sed -nE 's/^\t(-[a-z-]+).*/\1/p' <<<"$help")"
		return ;;
	esac
	# A session first; before it a path, after it a path, or a command.
	case $cmd$n in
	run0 | new0 | exec1)
		_sbxctl_offer -c ;;
	help0)
		_sbxctl_offer -W "$commands" ;;
	show0 | changes0 | diff0 | patch0 | apply0 | discard0 | rm0 | stop0 | \
	    kill0 | resume0 | du0 | attach0 | exec0 | explain1)
		_sbxctl_offer -W "$(_sbxctl_sessions)" ;;
	explain0 | discard*)
		_sbxctl_offer -f ;;
	esac
}
complete -F _sbxctl sbxctl
