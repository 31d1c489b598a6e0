# fish completion of sbxctl. sbxctl help is the authority: a test compares.
# commands: run ls show changes diff patch apply discard rm stop kill resume
# commands: explain du gc doctor version new attach exec help

function __sbxctl_sessions
    sbxctl ls 2>/dev/null | sed -n '2,$s/ .*//p'
end
function __sbxctl_in
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- $words[2] $argv
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
complete -c sbxctl -n '__sbxctl_in run new explain changes diff patch apply discard' -l repo -r -a '(__fish_complete_directories)'
complete -c sbxctl -n '__sbxctl_in changes' -l outside
complete -c sbxctl -n '__sbxctl_in run new' -l name -x
complete -c sbxctl -n '__sbxctl_in run new explain' -l hide -r -F
complete -c sbxctl -n '__sbxctl_in run new explain' -l ro -r -F
complete -c sbxctl -n '__sbxctl_in run new' -l no-network
complete -c sbxctl -n '__sbxctl_in run new exec' -l env -x
complete -c sbxctl -n '__sbxctl_in run new explain' -l as -x -a '(__fish_complete_users)'
complete -c sbxctl -n '__sbxctl_in run new resume' -l keep
complete -c sbxctl -n '__sbxctl_in run attach exec resume' -l raw
complete -c sbxctl -n '__sbxctl_in attach' -l detach-keys -x
complete -c sbxctl -n '__sbxctl_in run new' -a '(__fish_complete_subcommand)'
complete -c sbxctl -n '__sbxctl_in patch' -s o -r -F
complete -c sbxctl -n '__sbxctl_in apply' -l digest -x
complete -c sbxctl -n '__sbxctl_in apply discard' -l yes
complete -c sbxctl -n '__sbxctl_in gc' -l older -x
complete -c sbxctl -n '__sbxctl_in gc' -l dry-run
complete -c sbxctl -n '__sbxctl_in explain' -F
complete -c sbxctl -n '__sbxctl_in rm gc' -l discard
complete -c sbxctl -n '__sbxctl_in ls show changes diff patch apply discard rm stop kill explain du gc doctor version new' -l json
complete -c sbxctl -n '__sbxctl_in show changes diff patch apply discard rm stop kill resume du attach exec' -a '(__sbxctl_sessions)'
