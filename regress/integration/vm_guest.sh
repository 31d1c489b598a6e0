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
	mkdir -m 1777 /work
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

# check NAME FUNCTION WHO: in a shell that stops at what fails.
check() {
	if as "$3" bash -euo pipefail -xc ". /vm/guest; $2 $3" \
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
	local end=$((SECONDS + 20))
	{ set +x; } 2>/dev/null
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || {
			echo "it does not come: $*"
			"$@"
			return
		}
		sleep 0.1
	done
	set -x
}

# A repository of one's own, $P.
project() {
	P=$HOME/$1
	mkdir -p "$P/src" "$P/hid"
	printf 'one\ntwo\nthree\n' >"$P/a.txt"
	echo gone >"$P/gone"
	echo 'int x;' >"$P/src/main.c"
	echo SECRET >"$P/hid/s"
	echo SECRET >"$P/key"
	(cd "$P" && git init -q && git add . && git commit -qm start)
	cd "$P" || return
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
	grep -q '^sessions can run here' "$HOME/doctor"
}

# job NAME [WORD...]: run, review, patch, land; sbxctl by those words.
job() {
	local by=("${@:2}") before
	project "$1"
	before=$(bytes)
	"${by[@]}" sbxctl run --keep -- sh -ec '
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
main_job() { job p; }
# Without fsopen as well, as where a container's filter has it.
mounted() { job q deny fsopen; }

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

# At a terminal of its own.
terminal() {
	project t
	# script(1) types what ends its input, which is echoed.
	script -qec 'sbxctl run -- sh -c "echo; tty; ls /dev/pts"' \
	    /dev/null </dev/null | tr -d '\r' | tail -n +2 >"$HOME/out"
	is '/dev/pts/0 0 ptmx' sh -c "echo \$(cat '$HOME/out')"
	rm -rf "$P"
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
		check job main_job "$who"
		check mounted mounted "$who"
		check hidden hidden "$who"
		check network network "$who"
		check live live "$who"
		check terminal terminal "$who"
		check stays "stays_$who" "$who"
	done
	check other other root
	check left left root
	echo DONE
}
