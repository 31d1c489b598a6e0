# fish completion of sbxctl. Options are those that sbxctl help COMMAND lists.
# commands: run ls show changes diff patch apply discard rm stop kill resume
# commands: explain du gc doctor version new attach exec help

# Ids and names. Without a running suite there are none to be had, and asking
# would start one.
function __sbxctl_sessions
    sbxctl version --json 2>/dev/null | string match -q '*"suite": {*'
    or return
    sbxctl ls --json 2>/dev/null | string replace -rf \
        '^ {6}"(?:session|name)": "([A-Za-z0-9_][A-Za-z0-9_.+-]*)",?$' '$1'
end
function __sbxctl_in
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- $words[2] $argv
end
# The words that are no options of sbxctl's: all after "--", or after the first
# of them where a command of the user's own begins there.
function __sbxctl_words
    set -l words (commandline -opc)
    set -e words[1..2]
    while set -q words[1]
        set -l w $words[1]
        set -e words[1]
        if test "$w" = --
            break
        else if contains -- $w $__sbxctl_valued
            set -e words[1]
        else if not string match -q -- '-*' $w
            echo $w
            __sbxctl_in run new; and break
        end
    end
    test (count $words) -eq 0; or printf '%s\n' $words
end
function __sbxctl_at
    test (count (__sbxctl_words)) -eq $argv[1]
end
# What completes a command of the user's own, after this many words.
function __sbxctl_command
    set -l words (__sbxctl_words)
    test $argv[1] -eq 0; or set -e words[1..$argv[1]]
    complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))
end

complete -c sbxctl -f
complete -c sbxctl -n __fish_use_subcommand -a run -d 'run a command in a new session'
complete -c sbxctl -n __fish_use_subcommand -a ls -d 'list the sessions'
complete -c sbxctl -n __fish_use_subcommand -a show -d 'all about one'
complete -c sbxctl -n __fish_use_subcommand -a changes -d 'list what it changed'
complete -c sbxctl -n __fish_use_subcommand -a diff -d 'show what it changed'
complete -c sbxctl -n __fish_use_subcommand -a patch -d 'write the patch'
complete -c sbxctl -n __fish_use_subcommand -a apply -d 'land the changes'
complete -c sbxctl -n __fish_use_subcommand -a discard -d 'drop changes'
complete -c sbxctl -n __fish_use_subcommand -a rm -d 'remove a session'
complete -c sbxctl -n __fish_use_subcommand -a stop -d 'ask its command to end'
complete -c sbxctl -n __fish_use_subcommand -a kill -d 'end it at once'
complete -c sbxctl -n __fish_use_subcommand -a resume -d 'a command over what it changed'
complete -c sbxctl -n __fish_use_subcommand -a explain -d 'what a session sees at a path'
complete -c sbxctl -n __fish_use_subcommand -a du -d 'what sessions take on the disk'
complete -c sbxctl -n __fish_use_subcommand -a gc -d 'remove what nobody can want'
complete -c sbxctl -n __fish_use_subcommand -a doctor -d 'what this machine lacks'
complete -c sbxctl -n __fish_use_subcommand -a version -d 'of sbxctl and the suite'
complete -c sbxctl -n __fish_use_subcommand -a new -d 'run a command, and leave it'
complete -c sbxctl -n __fish_use_subcommand -a attach -d 'be at the terminal of a session'
complete -c sbxctl -n __fish_use_subcommand -a exec -d 'run another command in a session'
complete -c sbxctl -n __fish_use_subcommand -a help -d 'the commands'
complete -c sbxctl -n '__sbxctl_in run new' -a '(__sbxctl_command 0)'
complete -c sbxctl -n 'not __fish_use_subcommand' -l help
complete -c sbxctl -n '__sbxctl_in explain; and __sbxctl_at 0' -F
complete -c sbxctl -n '__sbxctl_in discard; and not __sbxctl_at 0' -F
complete -c sbxctl -n '__sbxctl_in exec; and not __sbxctl_at 0' -a '(__sbxctl_command 1)'
complete -c sbxctl -n '__sbxctl_in help; and __sbxctl_at 0' -a '(sbxctl help | string replace -rf \'^(usage:|      ) sbxctl ([a-z]+).*\' \'$2\')'
complete -c sbxctl -n '__sbxctl_in show changes diff patch apply discard rm stop kill resume du attach exec; and __sbxctl_at 0' -a '(__sbxctl_sessions)'
complete -c sbxctl -n '__sbxctl_in explain; and __sbxctl_at 1' -a '(__sbxctl_sessions)'
# Options by their lines, and what a value is by its word in them.
set -g __sbxctl_valued
for cmd in run ls show changes diff patch apply discard rm stop kill resume explain du gc doctor version new attach exec
    for line in (sbxctl help $cmd 2>/dev/null | string match -r '^\t-.*')
        set -l o (string match -rg '^\t(-+)([a-z-]+)(?: ([A-Z=]+))?[. ]+(.*)' -- $line)
        set -l how -l $o[2] -d $o[4]
        test $o[1] = --; or set how[1] -s
        test -z "$o[3]"; or set -a __sbxctl_valued $o[1]$o[2]
        switch "$o[3]"
            case ''
            case DIR
                set -a how -x -a '(__fish_complete_directories)'
            case USER
                set -a how -x -a '(__fish_complete_users)'
            case PATH FILE
                set -a how -r -F
            case '*'
                set -a how -x
        end
        complete -c sbxctl -n "__sbxctl_in $cmd" $how
    end
end
