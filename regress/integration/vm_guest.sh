# What a virtual machine does with the suite, once its own kernel runs: read by
# bash there, as its first program (vminit). Each check is a line on the
# console, "PASS NAME" or "FAIL NAME" with what it said, and the last is DONE.
# shellcheck shell=bash
export PATH=/sbx/bin:/sbx/sbin:/usr/bin:/usr/sbin TERM=dumb LANG=C

guest_begin() {
	mount -t proc proc /proc
	mount -t sysfs sys /sys
	mount -t tmpfs -o mode=755 run /run
	mount -t tmpfs -o mode=1777 tmp /tmp
	mkdir -p /dev/pts /dev/shm
	mount -t devpts -o gid=5,mode=620,ptmxmode=666 pts /dev/pts
	mount -t tmpfs -o mode=1777 shm /dev/shm
	mount -t cgroup2 cgroup /sys/fs/cgroup
	mount --make-rshared /
	mkdir -m 1777 /vol
	cat >/etc/gitconfig <<-'END'
		[user]
			name = t
			email = t@example.org
		[init]
			defaultBranch = main
			templateDir =
		[safe]
			directory = *
	END
}

# as WHO COMMAND...: root, or the machine's ordinary user.
as() {
	if [ "$1" = root ]; then
		shift
		HOME=/root "$@"
	else
		shift
		HOME=/home/u setpriv --reuid 1000 --regid 1000 --clear-groups \
		    --inh-caps=-all "$@"
	fi
}

# check NAME FUNCTION WHO [BY]: in a shell that stops at what fails, which BY
# starts as that one.
check() {
	if "${4-as}" "$3" bash -euo pipefail -xc ". /vm/guest; $2 $3" \
	    >/tmp/said 2>&1 </dev/null; then
		echo "PASS $1 $3"
	else
		echo "FAIL $1 $3: status $?"
		tail -n 40 /tmp/said | sed 's/^/| /'
	fi
	rm -f /tmp/said
}

# not COMMAND...: a "!" before it would end no shell.
not() {
	! "$@"
}

# is TEXT COMMAND...: it prints that, and nothing else.
is() {
	local got want=$1
	shift
	got=$("$@")
	[ "$got" = "$want" ] || { echo "not '$want': '$got'"; return 1; }
}
# says TEXT COMMAND...: what it prints has that extended expression.
says() {
	local want=$1
	shift
	"$@" >"$HOME/got" 2>&1 || { echo "status $?"; cat "$HOME/got"; return 1; }
	grep -Eq -e "$want" "$HOME/got" || { cat "$HOME/got"; return 1; }
}
# soon COMMAND...: within some seconds.
soon() {
	local end=$((SECONDS + 20)) was=+x
	[[ $- != *x* ]] || was=-x
	{ set +x; } 2>/dev/null
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || {
			echo "it does not come: $*"
			"$@"
			return
		}
		sleep 0.1
	done
	set "$was"
}

# A repository of one's own, $P. git takes its time here: one is made a user.
project() {
	local first=/tmp/repo.$EUID
	[ -d "$first" ] || repository "$first"
	P=$HOME/$1
	cp -r "$first" "$P"
	cd "$P" || return
}
repository() {
	mkdir "$1" "$1/src" "$1/hid"
	printf 'one\ntwo\nthree\n' >"$1/a.txt"
	echo gone >"$1/gone"
	echo 'int x;' >"$1/src/main.c"
	echo SECRET >"$1/hid/s"
	echo SECRET >"$1/key"
	(cd "$1" && git init -q && git add . && git commit -qm start)
}
bytes() {
	(cd "$P" && find . -path ./.git -prune -o -printf '%p %y %m %U %l\n' |
	    sort && find . -path ./.git -prune -o -type f -print0 | sort -z |
	    xargs -0 sha256sum)
}
last() { sbxctl ls | awk 'END { print $1 }'; }

# Each mechanism that an older kernel has another way for.
ways() {
	sbxctl doctor | tee "$HOME/doctor"
	not grep '^fail' "$HOME/doctor"
	grep -q "layers are named by /proc/self/fd" "$HOME/doctor"
	grep -q "assembled in mountd's own mount namespace" "$HOME/doctor"
	grep -q "made by a process of mountd's in its pid" "$HOME/doctor"
	# What of Landlock it has not, and of sockets.
	grep -Eq '^warn +landlock .*abstract.*6\.12.*6\.2\)' "$HOME/doctor"
	grep -Eq '^warn +clients .*6\.5' "$HOME/doctor"
	grep -q '^sessions can run here' "$HOME/doctor"
}

# run, review, patch, land.
job() {
	local before
	project p
	before=$(bytes)
	sbxctl run --keep -- sh -ec '
	    pwd -P; echo in >>a.txt; rm gone; mkdir n; echo n >n/n
	    git mv -k none none; mv src/main.c src/moved.c; cat a.txt
	    echo home >~/made; cat ~/made; echo t >/tmp/t; cat /tmp/t
	    : >/dev/null; test -d /proc/1; test ! -e /proc/400000
	    if echo x 2>/dev/null >/proc/sys/kernel/hostname; then exit 1; fi
	    test "$(ls /proc | grep -c "^[0-9]")" -le 6' >"$HOME/out"
	is "$P
one
two
three
in
home
t" cat "$HOME/out"
	[ "$before" = "$(bytes)" ]
	[ ! -e "$HOME/made" ]
	sid=$(last)
	sbxctl changes "$sid" | tee "$HOME/out"
	grep -q 'M  a.txt' "$HOME/out"
	grep -q 'D  gone' "$HOME/out"
	grep -q 'A  n/n' "$HOME/out"
	grep -q 'src/moved.c  from src/main.c' "$HOME/out"
	says 'made' sbxctl changes --outside "$sid"
	says '^\+in$' sbxctl diff "$sid"
	sbxctl patch -o "$HOME/patch" "$sid"
	cp -r "$P" "$HOME/clone"
	(cd "$HOME/clone" && git apply "$HOME/patch" && is n cat n/n)
	says '4 files landed' sbxctl apply --yes "$sid"
	is in tail -n 1 a.txt
	is 'int x;' cat src/moved.c
	[ ! -e gone ]
	[ ! -e src/main.c ]
	says . sbxctl rm --discard "$sid"
	rm -rf "$HOME/clone" "$HOME/patch" "$P"
}
# brief [WORD...]: the same in short; sbxctl by those words.
brief() {
	project b
	"$@" sbxctl run --keep -- sh -ec 'echo in >>a.txt; rm gone; mkdir n
	    mv src/main.c n; echo home >~/made; cat ~/made; test -d /proc/1
	    test "$(ls /proc | grep -c "^[0-9]")" -le 6
	    : >/dev/null' >"$HOME/out"
	is home cat "$HOME/out"
	is three tail -n 1 a.txt
	[ ! -e "$HOME/made" ]
	says '3 files landed' sbxctl apply --yes
	is 'in int x;' sh -c 'echo $(tail -n 1 a.txt) $(cat n/main.c)'
	[ ! -e gone ]
	says . sbxctl rm --discard
	rm -rf "$P"
}
# Without fsopen as well, as where a container's filter has it.
mounted() { brief deny fsopen; }

hidden() {
	local look='ls -A hid 2>/dev/null; cat hid/s key none 2>/dev/null;
	    cat a.txt | head -n 1'
	project h
	sbxctl run --keep --hide "$P/hid" --hide "$P/key" --hide "$P/none" \
	    --ro "$P/src" -- sh -c "$look"'; rmdir hid; mv key k2; cat k2
	    echo x >src/main.c; mkdir d; mv hid d; true' >"$HOME/out" 2>&1
	grep -v ': ' "$HOME/out" | is one cat
	not grep SECRET "$HOME/out"
	grep -q 'src/main.c: Read-only' "$HOME/out"
	sid=$(last)
	echo SECRET >none
	sbxctl resume "$sid" -- sh -c "$look" >"$HOME/out" 2>&1 </dev/null
	grep -v ': ' "$HOME/out" | is one cat
	not grep SECRET "$HOME/out"
	says hidden sbxctl explain "$P/hid/s" "$sid"
	says hidden sbxctl explain "$P/none" "$sid"
	is SECRET cat hid/s
	says . sbxctl rm --discard "$sid"
	# In a folder that the session moves, root's at least.
	mkdir f
	mv hid f
	sbxctl run --keep --hide "$P/f/hid" -- sh -c 'mv f g; ls -AR g f
	    true' >"$HOME/out" 2>&1
	not grep '^s$' "$HOME/out"
	says . sbxctl rm --discard "$(last)"
	rm -rf "$P"
}

network() {
	project w
	sbxctl run --no-network -- sh -c 'ls /sys/class/net >/dev/null
	    tail -n +3 /proc/net/dev; cat /proc/net/if_inet6 2>/dev/null |
	    cut -c 1-32' >"$HOME/out"
	is 'lo:' awk '/:/ { print $1 }' "$HOME/out"
	# Up: the kernel gives it its address then.
	grep -q 00000000000000000000000000000001 "$HOME/out"
	rm -rf "$P"
}

live() {
	project l
	sid=$(sbxctl new --keep -- sh -c 'echo one >x; sleep 1000')
	says '^hi$' sbxctl exec "$sid" echo hi
	is "$P" sbxctl exec "$sid" sh -c pwd
	sbxctl exec "$sid" sh -c 'echo two >y; echo in >>a.txt; rm gone'
	soon says 'A  x' sbxctl changes "$sid"
	says '^4 files' sbxctl changes "$sid"
	says '4 files landed' sbxctl apply --yes "$sid"
	is 'one two' sh -c 'echo $(cat x y)'
	[ ! -e gone ]
	says '^0 files' sbxctl changes "$sid"
	# What the owner does beside it is seen in there after a look.
	echo owner >z
	echo owner >y
	says '^0 files' sbxctl changes "$sid"
	is 'owner owner' sbxctl exec "$sid" sh -c 'echo $(cat y z)'
	sbxctl exec "$sid" sh -c 'echo three >x; mkdir -p ~/o; echo o >~/o/o'
	says "A  $HOME/o/" sbxctl changes --outside "$sid"
	says '^1 file ' sbxctl changes "$sid"
	says discarded sbxctl discard --yes "$sid"
	is one sbxctl exec "$sid" cat x
	sbxctl exec "$sid" sh -c 'echo four >x'
	says . sbxctl stop "$sid"
	says "^$sid .*ended" sbxctl ls
	is four sbxctl resume "$sid" -- cat x </dev/null 2>/dev/null
	says 'M  x' sbxctl changes "$sid"
	is one cat x
	says . sbxctl rm --discard "$sid"
	is '' sbxctl ls
	rm -rf "$P"
}

# at STEPS COMMAND...: at a terminal with somebody who goes by these.
at() {
	printf '%b' "$1" >"$HOME/steps"
	shift
	TERM=xterm pty "$HOME/steps" "$@" >"$HOME/out" || {
		local status=$?
		cat "$HOME/out"
		return "$status"
	}
}

# At a terminal of its own.
terminal() {
	project t
	at 'expect ptmx\nend\n' sbxctl run -- sh -c 'tty; ls /dev/pts'
	is '/dev/pts/0 0 ptmx' sh -c "echo \$(tr -d '\\r' <'$HOME/out')"
	rm -rf "$P"
}

# Two roots, of which one lies elsewhere: what lands in one leaves the other.
roots() {
	local q
	HOME=/vol project "q.$1"
	q=$P
	project r
	sbxctl run --keep --repo "$P" --repo "$q" -- sh -ec 'echo in >>a.txt
	    chmod 755 src/main.c; cd "$0"; echo in >>a.txt; rm gone
	    mkdir n; mv src/main.c n' "$q"
	sid=$(last)
	says "^target *$q\$" sbxctl changes "$sid"
	grep -q "^target *$P\$" "$HOME/got"
	says "3 files landed in $q\$" sbxctl apply --yes --repo "$q" "$sid"
	is 'in int x;' sh -c "echo \$(tail -n 1 $q/a.txt) \$(cat $q/n/main.c)"
	[ ! -e "$q/gone" ]
	is 'three 644' sh -c 'echo $(tail -n 1 a.txt; stat -c %a src/main.c)'
	says "2 files landed in $P\$" sbxctl apply --yes --repo "$P" "$sid"
	is 'in 755' sh -c 'echo $(tail -n 1 a.txt; stat -c %a src/main.c)'
	says removed sbxctl rm "$sid"
	rm -rf "$P" "$q"
}

# mounts WHO: by root, before there is a suite: every kind that needs no other
# device, in the project m of that one's, and a filesystem in the home.
mounts() {
	local d h
	h=$(as "$1" printenv HOME)
	as "$1" bash -c '. /vm/guest; project m; mkdir ~/own
	    mkdir bind robind over tmpfs ro deep proc; echo real >src/f
	    : >file; : >sock'
	mkdir /vol/srv /vol/over /vol/over/u /vol/over/w
	echo real >/vol/srv/f
	as root sock listen /vol/srv/s </dev/null >/dev/null
	for d in m/tmpfs m/ro m/deep m/deep/in own; do
		[ "$d" != m/deep/in ] || mkdir "$h/$d"
		mount -t tmpfs -o mode=755 t "$h/$d"
		echo real >"$h/$d/f"
		chown --reference="$h" "$h/$d" "$h/$d/f"
	done
	mount -o remount,ro "$h/m/ro"
	chown --reference="$h" /vol/srv /vol/srv/f /vol/over/u
	mount -t overlay -o "lowerdir=/vol/srv,upperdir=/vol/over/u,workdir=\
/vol/over/w" over "$h/m/over"
	mount --bind /vol/srv "$h/m/bind"
	mount --bind /vol/srv "$h/m/robind"
	mount -o remount,bind,ro "$h/m/robind"
	mount --bind /vol/srv/f "$h/m/file"
	mount --bind /vol/srv/s "$h/m/sock"
	mount -t proc proc "$h/m/proc"
}
unmounts() {
	local d h
	h=$(as "$1" printenv HOME)
	for d in m/proc m/sock m/file m/robind m/bind m/over own m/deep/in \
	    m/deep m/ro m/tmpfs; do
		umount "$h/$d" || echo "FAIL something holds $h/$d"
	done
	rm -rf "$h/m" "$h/own" /vol/srv /vol/over
}

# tried PATH...: what a session can do to each, in the words of explain.
tried() {
	local p
	for p in "$@"; do
		if [ ! -e "$p" ]; then
			echo "$p missing"
		elif [ -d "$p" ]; then
			[ -n "$(ls -A "$p")" ] || echo "$p covered"
		elif [ ! -s "$p" ]; then
			echo "$p covered"
		elif (echo new >>"$p") 2>/dev/null; then
			echo "$p shown"
		else
			echo "$p read-only"
		fi
	done
}
explained() {
	local p
	for p in "$@"; do
		echo "$p $(sbxctl explain --json "$p" --repo "$P" |
		    sed -n 's/^  "state": "\(.*\)",$/\1/p')"
	done
}
submounts() {
	local d deep=shown
	# A user's own suite can put nothing on what has another one in it.
	[ "$1" = root ] || deep=read-only
	P=$HOME/m
	cd "$P"
	cat >"$HOME/want" <<-END
		bind/f shown
		tmpfs/f shown
		over/f shown
		deep/in/f shown
		src/f shown
		../own/f shown
		deep/f $deep
		ro/f read-only
		robind/f read-only
		file read-only
		sock covered
		proc covered
		proc/1 missing
	END
	set -- $(cut -d ' ' -f 1 "$HOME/want")
	sbxctl run --keep -- bash -c '. /vm/guest; tried "$@"' - "$@" \
	    >"$HOME/out"
	diff "$HOME/want" "$HOME/out"
	set -- over/f deep/f robind/f sock proc/1
	explained "$@" >"$HOME/out"
	for d in "$@"; do
		grep -x "$d .*" "$HOME/want"
	done | diff - "$HOME/out"
	sid=$(last)
	for d in bind tmpfs over deep/in ../own deep ro robind; do
		is real cat "$d/f"
	done
	says 'over .*not landed' sbxctl changes "$sid"
	says '1 file landed' sbxctl apply --yes "$sid"
	is 'real new' sh -c 'echo $(cat src/f)'
	says . sbxctl rm --discard "$sid"
}

# walls_make: by root, outside: who listens, and who reads a FIFO that a user's
# own suite shows as it is, for the mount beside it.
walls_make() {
	mkdir -m 777 /vol/wall /vol/wall/in
	mkfifo -m 666 /vol/wall/fifo
	mkfifo /tmp/hold
	mount -t tmpfs in /vol/wall/in
	exec 8<>/tmp/hold
	sock listen /vol/wall/sock @vm <&8 >/tmp/reached 8>&- &
	listener=$!
	cat /vol/wall/fifo >/tmp/read 8>&- &
	reader=$!
	soon grep listening /tmp/reached
}
# What this kernel has of Landlock: FIFOs are shut, abstract sockets are not,
# as doctor says.
walls() {
	local net
	project w
	for net in '' --no-network; do
		sbxctl run $net -- bash -c 'cd /vol/wall
		    (echo byte 1<>fifo >&1) 2>&1; sock reach "$PWD/sock" @vm
		    ! unshare -U true 2>/dev/null || echo a namespace
		    mkdir ~/a ~/b; echo x >~/a/x; mv ~/a/x ~/b; cat ~/b/x
		    awk "/^(CapEff|CapBnd|NoNewPrivs|Seccomp):/ { print \$2 }" \
		    /proc/self/status' >"$HOME/out"
		[ "$1" = root ] || grep -q 'fifo: Permission' "$HOME/out"
		not grep 'sock reached' "$HOME/out"
		grep -q "@vm $([ "$net" ] && echo ECONNREFUSED || echo reached)" \
		    "$HOME/out"
		is 'x 0000000000000000 0000000000000000 1 2' \
		    sh -c "echo \$(tail -n 5 '$HOME/out')"
	done
	rm -rf "$P"
}
walls_stand() {
	is 'listening reached @vm reached @vm' sh -c 'echo $(cat /tmp/reached)'
	[ ! -s /tmp/read ]
}
walls_end() {
	exec 8>&-
	kill "$reader" "$listener"
	wait "$reader" "$listener"
	umount /vol/wall/in
	rm -r /vol/wall
}

# A user's state in memory, where this kernel keeps no attribute of a user's.
memory() {
	project y
	SBX_STATE=/tmp/state not says . sbxctl run -- touch ran
	is 1 grep -c . "$HOME/got"
	grep -q '(tmpfs).* it lacks user\.. attributes: .* ext4, xfs or btrfs (' \
	    "$HOME/got"
	rm -rf "$P"
}

# contained WHO COMMAND...: as that one on a root that is an overlay itself, as
# in a container; of the disk only /vol is there, as a volume.
contained() {
	unshare -m bash -ec '. /vm/guest
	    mkdir -p /vol/root
	    mount -t tmpfs up /vol/root
	    mkdir /vol/root/{u,w,new}
	    mount -t overlay -o "lowerdir=/,upperdir=/vol/root/u,workdir=\
/vol/root/w" root /vol/root/new
	    cd /vol/root/new
	    for d in proc dev sys run tmp; do
		mount --rbind "/$d" "$d"
	    done
	    mount --bind /vol vol
	    pivot_root . .
	    umount -l .
	    cd /
	    SBX_STATE=/vol/state.$1 as "$@"' - "$@"
}
container() {
	is overlay sed -n 's,^[^/]*/ / .* - \([^ ]*\) .*,\1,p' \
	    /proc/self/mountinfo
	brief
}

# A user's session of root's suite.
other() {
	HOME=/home/u project o
	P=/home/u/o
	chown -R 1000:1000 "$P"
	sbxctl run --keep --as u -- sh -c 'id -u; echo x >x; mkdir d
	    echo y >d/y; echo no >/etc/no; true' >"$HOME/out" 2>"$HOME/err"
	is 1000 cat "$HOME/out"
	grep -q '/etc/no: Permission denied' "$HOME/err"
	sid=$(last)
	says '2 files landed' sbxctl apply --yes "$sid"
	is '1000 y' sh -c 'echo $(stat -c %u x) $(cat d/y)'
	says . sbxctl rm --discard "$sid"
	rm -rf "$P"
}

# Come and go at a session's terminal; another one beside it; a resume's.
attached() {
	project t
	sid=$(TERM=xterm sbxctl new --keep -- sh -c 'echo begun
	    while read -r l; do echo "got $l"; [ "$l" != go ] || exit 7; done')
	at 'expect begun\nsend one\\n\nexpect got one\nsend \\x1c
expect runs on\nend\n' sbxctl attach "$sid"
	at 'expect /dev/pts/1\nsend two\\n\nexpect and two\nend\n' \
	    sbxctl exec "$sid" sh -c 'tty; read -r l; echo and $l'
	at 'expect got one\nsend go\\n\nexpect got go
expect ended with status 7\nend\n' sbxctl attach "$sid" || [ $? -eq 7 ]
	soon says "^$sid .*ended 7 " sbxctl ls
	at 'expect /dev/pts/0\nsend three\\n\nexpect and three\nend\n' \
	    sbxctl resume --keep "$sid" -- sh -c 'tty; read -r l; echo and $l'
	says . sbxctl rm --discard "$sid"
	rm -rf "$P"
}

# Two of them, a suite that stays, and its end.
stays() {
	local sbxd
	project s
	# Those before were for one session each, and end by themselves.
	soon sh -c '! pgrep -x sbxd'
	sbxd "$@" -d >"$HOME/log" 2>&1 &
	sbxd=$!
	soon grep ': ready on ' "$HOME/log" || { cat "$HOME/log"; return 1; }
	a=$(sbxctl new --keep -- sh -c 'echo a >a; sleep 1000')
	b=$(sbxctl new --keep -- sh -c 'echo b >b; sleep 1000')
	soon says 'A  a' sbxctl changes "$a"
	says . sbxctl kill "$a"
	says . sbxctl rm --discard "$a"
	soon says 'A  b' sbxctl changes "$b"
	says '1 file landed' sbxctl apply --yes "$b"
	says . sbxctl kill "$b"
	says . sbxctl rm --discard "$b"
	kill -TERM "$sbxd"
	wait "$sbxd"
	rm -rf "$P"
}
stays_root() { stays; }
stays_user() { stays --user; }

# What there is besides the suite: mounts, processes, groups.
state() {
	grep -v ' /tmp/' /proc/self/mountinfo | awk '{ print $3, $4, $5 }'
	ps -eo comm= | grep -E '^(sbx|mountd|landd|netd|spawn|worker|land|init)' |
	    grep -v '^vminit$' || :
	find /sys/fs/cgroup -mindepth 1 -type d
	find /root/.local /home/u/.local /var/lib/sbx -mindepth 2 \
	    -path '*/s/*' ! -name .mount 2>/dev/null || :
}
left() {
	# One by one: pgrep matches nothing by a pattern above 15 letters.
	for role in sbxd mountd landd netd spawn sbx-worker sbx-spare \
	    sbx-init; do
		soon sh -c "! pgrep -x $role"
	done
	state >/tmp/after
	diff /tmp/before /tmp/after
	not grep -rqs SECRET /var/lib/sbx /home/u/.local
}

guest_main() {
	local who
	guest_begin
	echo "Linux $(cat /proc/sys/kernel/osrelease)"
	state >/tmp/before
	for who in root user; do
		check doctor ways "$who"
		check job job "$who"
		check mounted mounted "$who"
		check hidden hidden "$who"
		check network network "$who"
		check live live "$who"
		check terminal terminal "$who"
		check stays "stays_$who" "$who"
		check roots roots "$who"
		check attached attached "$who"
		check container container "$who" contained
		mounts "$who"
		check submounts submounts "$who"
		unmounts "$who"
	done
	check memory memory user
	walls_make
	check walls walls root
	check walls walls user
	check walls_stand walls_stand root
	walls_end
	check other other root
	check left left root
	echo DONE
}
