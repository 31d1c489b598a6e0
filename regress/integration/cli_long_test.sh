# Programs as people run them: natively and inside of a session they print the
# same and end with the same status.
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# cli_who: what a session of $P has in its environment, for what runs natively.
cli_who()
{
	cli_env=$SBX_SCRATCH/env.sh
	run -- sh -c 'export -p' >"$cli_env" || atf_fail "no environment"
	printf 'cd "%s"\nexec sh "$1"\n' "$P" >>"$cli_env"
}

# cli_native FILE: that script as the session's user, in the project.
cli_native()
{
	case $who_user in
	root) env -i sh "$cli_env" "$1" ;;
	*) sbx-as "$who_user" env -i sh "$cli_env" "$1" ;;
	esac
}

# cli_same NAME: the script from stdin, inside and natively; $cli_out has what
# both said, to be asked whether that was it. Each begins with a clean project.
cli_same()
{
	cli_script=$SBX_SCRATCH/script.$1
	cli_out=$PWD/$1.out
	{
		echo 'exec 2>&1'
		cat
	} >"$cli_script"
	chmod 0644 "$cli_script"
	inside=0 native=0
	run -- sh "$cli_script" >"$cli_out" 2>"$1.err" </dev/null || inside=$?
	for sid in $(sbxctl ls | awk 'NR > 1 { print $1 }'); do
		atf_check -o ignore sbxctl rm --discard "$sid"
	done
	grep -v '^sbxctl: session [a-z2-7]* is kept' "$1.err" >&2 &&
	    atf_fail "$1: sbxctl has something to say"
	cli_native "$cli_script" >"$1.native" </dev/null || native=$?
	int_as_owner "$P" git -C "$P" clean -qfdx
	if ! diff "$1.native" "$cli_out" >&2 || [ "$native" -ne "$inside" ]; then
		atf_fail "$1: $native natively, $inside inside"
	fi
}

atf_test_case tools
tools_head()
{
	atf_set descr "make -j2, gcc, python, node, cargo if there, tmux, ssh, \
getent, and what they end with"
	atf_set require.user root
	atf_set require.progs "node tmux ssh"
	atf_set timeout 300
}
tools_ssh()
{
	cli_same ssh <<-EOT
		ssh -V
		ssh -G short && ssh -G "x y"
	EOT
	# It takes home from the password entry, which for root is another.
	[ "$who_user" = root ] || atf_check -o match:'^port 2222$' \
	    -o match:'^hostname long.example.org$' cat "$cli_out"
	atf_check -o match:'^compression yes$' -o match:"^user $who_user\$" \
	    -o match:'^hostname contains invalid' cat "$cli_out"
}
tools_one()
{
	cli_who
	mkdir -p "$who_home/.ssh"
	printf 'Host short\n\tHostName long.example.org\n\tPort 2222\n' \
	    >"$who_home/.ssh/config"
	chmod 600 "$who_home/.ssh/config"
	chown -R --reference="$P" "$who_home/.ssh"
	cli_same getent <<-'EOT'
		getent passwd "$(id -u)"
		getent passwd root nobody
		getent group "$(id -g)"
		getent hosts localhost
		getent services ssh/tcp
		getent passwd no-such-user
	EOT
	atf_check_equal 2 "$inside"
	atf_check -o match:"^$who_user:" -o match:'^ssh ' cat "$cli_out"
	tools_ssh
	cli_same gcc <<-'EOT'
		set -e
		gcc -dumpfullversion
		gcc -Wall -O2 -g -o main src/main.c && ./main
		sha256sum main
		printf 'int x = y;\n' >bad.c
		gcc -c bad.c
	EOT
	atf_check_equal 1 "$inside"
	atf_check -o match:'undeclared' cat "$cli_out"
	cli_same make <<-'EOT'
		set -e
		mkdir c && cd c
		for i in 1 2 3 4 5 6 7 8; do
			printf 'int f%s(void) { return %s; }\n' $i $i >f$i.c
		done
		{
			for i in 1 2 3 4 5 6 7 8; do echo "int f$i(void);"; done
			printf '%s\n' '#include <stdio.h>' 'int main(void) {' \
			    'printf("%d\n", f1() + f8()); return 3; }'
		} >main.c
		printf '%s\n' 'O = $(patsubst %.c,%.o,$(wildcard *.c))' \
		    'sum: $O' '	$(CC) -o $@ $^' 'clean:; rm -f *.o sum' >Makefile
		# Which of two is first is chance.
		make -j2 >log 2>&1
		sort log
		make -j2
		sha256sum *.o sum
		./sum || echo "ends with $?"
		make clean none
	EOT
	atf_check_equal 2 "$inside"
	atf_check -o match:'^9$' -o match:'^ends with 3$' \
	    -o match:'No rule to make' cat "$cli_out"
	cli_same python <<-'EOT'
		python3 -c '
		import getpass, json, multiprocessing, os, pathlib, socket
		import sqlite3, ssl, subprocess, sys, tempfile, threading
		print(sys.version, getpass.getuser(), pathlib.Path.home())
		with multiprocessing.Pool(2) as p:
		    print(p.map(abs, [-1, -2, 3]))
		s = socket.create_server(("127.0.0.1", 0))
		t = threading.Thread(target=lambda:
		    s.accept()[0].sendall(b"over the loopback"))
		t.start()
		print(socket.create_connection(s.getsockname()).recv(99))
		t.join()
		with tempfile.TemporaryDirectory() as d:
		    c = sqlite3.connect(d + "/db")
		    print(c.execute("pragma journal_mode=wal").fetchone())
		print(subprocess.run(["sh", "-c", "echo $0; kill -9 $$"],
		    capture_output=True))
		print(os.getgroups(), os.umask(0), len(os.sched_getaffinity(0)))
		sys.exit("with this word")'
	EOT
	atf_check_equal 1 "$inside"
	atf_check -o match:'over the loopback' -o match:'returncode=-9' \
	    -o match:'^with this word' cat "$cli_out"
	cli_same node <<-'EOT'
		node --version
		cat >w.js <<'JS'
		const { Worker, isMainThread, parentPort } =
		    require("worker_threads");
		if (!isMainThread)
			return parentPort.postMessage("from a thread");
		const net = require("net"), fs = require("fs");
		console.log(process.cwd(), require("os").userInfo().username);
		console.log(require("child_process").execSync("git status")
		    .toString());
		fs.watch(".", () => 0).close();
		new Worker(__filename).on("message", m => {
			console.log(m);
			const s = net.createServer(c => c.end("by a socket"));
			s.listen(0, "127.0.0.1", () =>
			    net.connect(s.address().port).on("data", d => {
				console.log(String(d));
				process.exit(5);
			}));
		});
		JS
		node w.js
	EOT
	atf_check_equal 5 "$inside"
	atf_check -o match:'^from a thread' -o match:'^by a socket' \
	    cat "$cli_out"
	cli_same tmux <<-'EOT'
		tmux -V
		TMUX_TMPDIR=$(mktemp -d) TERM=xterm
		export TMUX_TMPDIR TERM
		tmux -f /dev/null new-session -d -x 60 -y 10 \
		    'stty size; tty >/dev/null && echo a-tty; echo $TERM
		    tmux wait-for -S said; read x; echo "got $x"
		    tmux wait-for -S heard; read x'
		tmux wait-for said
		tmux send-keys word Enter
		tmux wait-for heard
		tmux capture-pane -p
		tmux list-panes -a -F '#{pane_width} #{pane_dead}'
		tmux kill-server
		rm -r "$TMUX_TMPDIR"
		tmux list-sessions 2>/dev/null
	EOT
	atf_check_equal 1 "$inside"
	atf_check -o match:'^10 60' -o match:'^a-tty' -o match:'^got word' \
	    cat "$cli_out"
	if command -v cargo >/dev/null; then
		cli_same cargo <<-'EOT'
			cargo --version
			cargo new -q --vcs none c && cd c && cargo -q run
		EOT
	fi
	rm -r "$who_home/.ssh"
}
tools_body()
{
	mount -t tmpfs -o mode=755 sbx-test /etc/ssh/ssh_config.d
	echo 'Compression yes' >/etc/ssh/ssh_config.d/machine.conf
	int_begin
	int_each tools_one
	int_end
}

atf_test_case npm
npm_head()
{
	atf_set descr "npm install of a tarball, offline"
	atf_set require.user root
	atf_set require.progs npm
	atf_set timeout 300
}
npm_one()
{
	cli_who
	cli_same install <<-'EOT'
		set -e
		npm --version
		mkdir lib app
		cd lib
		cat >package.json <<'JS'
		{ "name": "local-lib", "version": "1.2.3", "bin": "cli.js",
		  "scripts": { "postinstall": "node cli.js >installed" } }
		JS
		printf '%s\n' '#!/usr/bin/env node' 'console.log("run", 6 * 7)' \
		    >cli.js
		npm pack --silent
		cd ../app
		echo '{ "name": "app", "version": "0.0.1" }' >package.json
		npm install --offline --loglevel=error --no-audit --no-fund \
		    --no-update-notifier ../lib/local-lib-1.2.3.tgz |
		    sed 's/ in [0-9]*m*s$//'
		find . | sort
		cat package.json package-lock.json
		cat node_modules/local-lib/installed
		node_modules/.bin/local-lib
		npm ls
		# Anew, over what is there, and away again.
		npm ci --offline --silent --no-audit
		npm uninstall --silent --offline local-lib
		find . | sort
		npm run no-such-script >/dev/null 2>&1
	EOT
	atf_check_equal 1 "$inside"
	atf_check -o match:'^run 42' -o match:'added 1 package' cat "$cli_out"
}
npm_body()
{
	int_begin
	int_each npm_one
	int_end
}

# cli_fetched: what tools/fetch-clis got, where a session sees it.
cli_fetched()
{
	got=$SBX_BUILDDIR/clis
	[ -s "$got/versions" ] ||
	    atf_fail "$(cat "$got/why" 2>/dev/null || echo "not there: \
$got/versions; make check-clis fetches it")"
	mkdir "$SBX_SCRATCH/clis"
	mount --bind "$got" "$SBX_SCRATCH/clis"
	mount -o remount,bind,ro "$SBX_SCRATCH/clis"
	PATH=$PATH:$SBX_SCRATCH/clis/node_modules/.bin
	int_path=$PATH
}

atf_test_case coding
coding_head()
{
	atf_set descr "codex and claude: --version, --help, a wrong option"
	atf_set require.user root
	atf_set require.progs node
	atf_set timeout 300
}
coding_one()
{
	cli_who
	for cli in codex claude; do
		cli_same "$cli" <<-EOT
			$cli --version && $cli --help && $cli --no-such-option
		EOT
		[ "$inside" -ne 0 ] || atf_fail "$cli took a wrong option"
		version=$(sed -n "s/.*${cli}[a-z-]*@\([0-9.]*\).*/\1/p" \
		    "$SBX_SCRATCH/clis/versions")
		atf_check -o match:"^[^ ]* *$version" -o match:'^Usage: ' \
		    -o match:no-such-option cat "$cli_out"
	done
}
coding_body()
{
	int_tools
	cli_fetched
	int_clean_mark
	int_suite
	int_each coding_one
	int_end
}

atf_init_test_cases()
{
	atf_add_test_case tools
	atf_add_test_case npm
	# check-clis has asked for them, and then it is a failure if they did
	# not come.
	[ ! -d "${SBX_TEST_ISOLATE%/regress/lib/isolate}/clis" ] ||
	    atf_add_test_case coding
}
