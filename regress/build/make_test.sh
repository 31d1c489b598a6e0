# The build: what it says when it cannot go on, and what it makes.


atf_test_case not_linux
not_linux_head()
{
	atf_set descr "anything but Linux: one line and stop"
}
not_linux_body()
{
	mkdir bin
	printf '#!/bin/sh\necho FreeBSD\n' >bin/uname
	chmod 755 bin/uname
	atf_check -s exit:2 -o empty -e save:err env PATH="$PWD/bin:$PATH" \
	    make -s -C "$SBX_SRC" BUILD="$PWD/b"
	atf_check -o match:'builds on Linux only, this is FreeBSD' cat err
	atf_check_equal 1 "$(wc -l <err | tr -d ' ')"
}

atf_test_case missing_library
missing_library_head()
{
	atf_set descr "a missing library: one line that names the package"
}
missing_library_body()
{
	atf_check -s exit:2 -o ignore -e save:err \
	    env PKG_CONFIG_LIBDIR="$PWD" make -s -C "$SBX_SRC" BUILD="$PWD/b"
	atf_check -o match:'not installed: .*msgpack.*type: apt-get install .*libmsgpack-dev' \
	    cat err
	atf_check_equal 1 "$(wc -l <err | tr -d ' ')"
	atf_check -s exit:2 -o ignore \
	    -e match:'not installed: pkg-config; type: apt-get install pkg-config' \
	    env PKG_CONFIG=no-pkg-config make -s -C "$SBX_SRC" BUILD="$PWD/b"
}

atf_test_case setup
setup_head()
{
	atf_set descr "tools/setup: not root and no sudo: the line to type"
	atf_set require.user root
}
setup_body()
{
	sbx_user u
	cp -r "$SBX_SRC/tools" "$SBX_SCRATCH/tools"
	chmod -R a+rX "$SBX_SCRATCH/tools"
	atf_check "$SBX_SRC/tools/setup" check
	printf 'check\tno-such-package-of-sbx\n' >>"$SBX_SCRATCH/tools/packages"
	atf_check -s exit:1 -o empty \
	    -e inline:"not installed: no-such-package-of-sbx; type: sudo apt-get install no-such-package-of-sbx\n" \
	    sbx-as "$u" "$SBX_SCRATCH/tools/setup" check
	atf_check -s exit:2 -o empty -e match:"not 'nonsense'" \
	    "$SBX_SRC/tools/setup" nonsense
	# A command that is there stands for its package.
	printf '%s\tno-such-package-of-sbx\t%s\n' demo ls check no-such-tool \
	    >>"$SBX_SCRATCH/tools/packages"
	sed -i '/^check\tno-such-package-of-sbx$/d' "$SBX_SCRATCH/tools/packages"
	atf_check sbx-as "$u" "$SBX_SCRATCH/tools/setup" demo
	atf_check -s exit:1 -o empty -e match:'no-such-package' \
	    sbx-as "$u" "$SBX_SCRATCH/tools/setup" check
}

atf_test_case fetched
fetched_head()
{
	atf_set descr "the coding CLIs: fetched once, by the caller's npm; one \
line where that fails"
}
fetched_body()
{
	mkdir bin
	cat >bin/npm <<-'EOT'
		#!/bin/sh
		echo run >>../runs
		[ ! -e ../broken ] || {
			echo "npm ERR! code ENOTFOUND" >&2
			exit 1
		}
		mkdir node_modules
	EOT
	chmod 755 bin/npm
	PATH=$PWD/bin:$PATH
	: >broken
	atf_check -s exit:1 -o match:'^fetching: ' \
	    -e match:'^fetch-clis: npm install @.*: .*ENOTFOUND$' \
	    "$SBX_SRC/tools/fetch-clis" clis
	atf_check -o match:ENOTFOUND cat clis/why
	rm broken
	atf_check -o match:'^fetching: ' "$SBX_SRC/tools/fetch-clis" clis
	atf_check "$SBX_SRC/tools/fetch-clis" clis
	# Others than those that are wanted now.
	echo old >clis/versions
	atf_check -o match:'^fetching: ' "$SBX_SRC/tools/fetch-clis" clis
	atf_check test -d clis/node_modules -a ! -e clis/why
	atf_check_equal 3 "$(wc -l <runs)"
}

atf_test_case peers
peers_head()
{
	atf_set descr "bench-start asks for bubblewrap, bench for all peers"
	atf_set require.user root
}
peers_body()
{
	sbx_user u
	cp -r "$SBX_SRC/tools" "$SBX_SCRATCH/tools"
	chmod -R a+rX "$SBX_SCRATCH/tools"
	mkdir "$SBX_SCRATCH/none"
	printf '#!/bin/sh\nexit 1\n' >"$SBX_SCRATCH/none/dpkg-query"
	chmod 755 "$SBX_SCRATCH/none/dpkg-query"
	for k in bench-start bench; do
		atf_check -s exit:1 -o empty -e save:$k sbx-as "$u" env \
		    PATH="$SBX_SCRATCH/none:/usr/bin:/bin" \
		    "$SBX_SCRATCH/tools/setup" $k
		atf_check -o ignore grep -w bubblewrap $k
	done
	for p in firejail runc fuse-overlayfs; do
		atf_check -s exit:1 grep -w $p bench-start
		atf_check -o ignore grep -w $p bench
	done
	atf_check -o match:'tools/setup bench-start' \
	    make -n -C "$SBX_SRC" BUILD="$PWD/b" bench-start
}

atf_test_case warnings
warnings_head()
{
	atf_set descr "a warning is an error to make check, none to plain make"
}
warnings_body()
{
	# A file that warns, compiled by the rules of this tree.
	mkdir "$SBX_SCRATCH/src"
	(cd "$SBX_SRC" && tar cf - GNUmakefile config.mk common privsep netd \
	    mountd landd worker sbxctl regress fuzz tools man) |
	    tar xf - -C "$SBX_SCRATCH/src"
	cd "$SBX_SCRATCH/src" || atf_fail "no copy of the source"
	echo 'void sbx_undeclared(void) {}' >>sbxctl/sbxctl.c
	# Whose turn it is to install is another case's.
	printf '#!/bin/sh\necho "setup: $1"\n' >tools/setup
	unset WERROR
	for k in check check-long; do
		atf_check -s exit:2 -o save:out -e save:err make BUILD=b "$k"
		# What that kind needs is asked for, not less.
		atf_check -o inline:"setup: $k\n" grep '^setup' out
		atf_check -o match:'sbxctl.c:.*Werror=missing-prototypes' cat err
		# The build has ended before a test.
		atf_check -s exit:1 grep -e 'passed' out
	done
	atf_check -o ignore -e match:'warning: .*sbx_undeclared' \
	    make BUILD=b b/obj/sbxctl/sbxctl.o
	# What is said counts, on the line and in the environment.
	for k in check check-long lint; do
		atf_check -o match:' -Werror ' -e ignore make -n BUILD=b "$k"
		atf_check -o not-match:' -Werror ' -e ignore \
		    make -n BUILD=b WERROR=0 "$k"
		atf_check -o not-match:' -Werror ' -e ignore \
		    env WERROR=0 make -n BUILD=b "$k"
	done
}

atf_test_case commit
commit_head()
{
	atf_set descr "the commit that a program says: git's, an archive's, or \
none; never another repository's"
}
# says WANT: what the makefile of this tree hands to the compiler.
says()
{
	got=$(cd tree && make -s -n BUILD=b b/obj/common/commit.o |
	    sed -n 's/.*-DSBX_COMMIT=."\([^"]*\)".*/<\1>/p')
	atf_check_equal "<$1>" "$got"
}
commit_body()
{
	git="git -c user.name=t -c user.email=t@example.org"
	mkdir -p tree/tools tree/common
	cp "$SBX_SRC/tools/commit" "$SBX_SRC/tools/commit.id" tree/tools
	cp -r "$SBX_SRC/GNUmakefile" "$SBX_SRC/config.mk" \
	    "$SBX_SRC/.gitattributes" tree
	for d in privsep netd mountd landd worker sbxctl common regress fuzz; do
		mkdir -p "tree/$d"
		cp "$SBX_SRC/$d"/*.mk tree/$d
	done
	cp "$SBX_SRC"/common/commit.[ch] tree/common
	says ''
	# The folder above is a repository that has it: it is not its commit.
	$git init -q .
	echo x >x
	$git add x
	$git commit -qm other
	says ''
	(cd tree && $git init -q . && $git add . && $git commit -qm one)
	id=$(git -C tree rev-parse HEAD | cut -c1-12)
	says "$id"
	echo >>tree/config.mk
	says "$id-dirty"
	git -C tree checkout -q config.mk
	# An archive, in whosever repository it is unpacked.
	(cd tree && git archive HEAD) >tree.tar
	rm -rf tree
	mkdir tree
	tar xf tree.tar -C tree
	says "$id"
}

# What the linker made of one program.
elf()
{
	{ readelf -Wl "$1" >headers && readelf -Wd "$1" >dynamic; } ||
	    atf_fail "readelf $1"
}

# needed: the libraries in dynamic, but for the loader.
needed()
{
	sed -n '/ld-linux/d; s/.*(NEEDED).*\[\(.*\)\.so.*/\1/p' dynamic |
	    sort | xargs
}

atf_test_case hardened
hardened_head()
{
	atf_set descr "every program: PIE, full RELRO, no executable stack"
}
hardened_body()
{
	n=0
	for p in "$SBX_BUILDDIR/bin/sbxctl" "$SBX_BUILDDIR/sbin/sbxd" \
	    "$SBX_BUILDDIR"/libexec/sbx/*; do
		elf "$p"
		atf_check -o match:'Elf file type is DYN' cat headers
		atf_check -o match:'GNU_RELRO' cat headers
		atf_check -o match:'GNU_STACK.* RW ' cat headers
		atf_check -o match:'NOW' cat dynamic
		n=$((n + 1))
	done
	atf_check_equal 10 "$n"
}

atf_test_case static
static_head()
{
	atf_set descr "what a start executes is static; helpers are unreadable"
}
static_body()
{
	for p in spawn netd mountd landd land worker init conf; do
		elf "$SBX_BUILDDIR/libexec/sbx/$p"
		mode=$(stat -c %a "$SBX_BUILDDIR/libexec/sbx/$p")
		if grep -q 'lib[au].*san' dynamic; then
			atf_check_equal 755 "$mode"
			continue
		fi
		atf_check_equal 711 "$mode"
		case $p in
		spawn | mountd | landd | worker | init | conf)
			atf_check -s exit:1 grep INTERP headers
			;;
		netd)
			atf_check_equal 'libc libmnl' "$(needed)"
			;;
		*) atf_check -o ignore grep INTERP headers ;;
		esac
	done
	elf "$SBX_BUILDDIR/sbin/sbxd"
	if ! grep -q 'lib[au].*san' dynamic; then
		atf_check_equal libc "$(needed)"
	fi
}

atf_test_case install
install_head()
{
	atf_set descr "make install: what belongs there, which shells find; \
make uninstall takes all of it away"
}
install_body()
{
	# Nothing is built: what is there goes by its own PREFIX.
	in_tree="make -s -C $SBX_SRC -o all BUILD=$SBX_BUILDDIR DESTDIR=$PWD/d
	    PREFIX=/usr"
	# shellcheck disable=SC2086 # words
	atf_check -o ignore $in_tree install
	(cd d/usr && find . -type f | sort) >have
	{
		printf './%s\n' bin/sbxctl sbin/sbxd \
		    share/bash-completion/completions/sbxctl \
		    share/doc/sbx/sbxd.conf.sample \
		    share/fish/vendor_completions.d/sbxctl.fish \
		    share/zsh/site-functions/_sbxctl
		for p in spawn netd mountd landd land worker init conf; do
			echo "./libexec/sbx/$p"
		done
		for p in "$SBX_SRC"/man/*.[1-9]; do
			echo "./share/man/man${p##*.}/${p##*/}"
		done
	} | sort >want
	atf_check diff want have
	atf_check -o empty find d -type f ! -perm -444 ! -path '*/libexec/*'
	atf_check -o match:' /usr/libexec/sbx/netd$' \
	    cat d/usr/share/man/man8/sbx-netd.8
	atf_check -o match:'^.It Pa /usr/share/doc/sbx/sbxd.conf.sample$' \
	    cat d/usr/share/man/man8/sbxd.8
	# shellcheck disable=SC2016 # bash's and fish's
	atf_check -o match:'-F _sbxctl sbxctl' bash -c '. "$0"; complete' \
	    d/usr/share/bash-completion/completions/sbxctl
	atf_check -o match:'^doctor' env XDG_DATA_DIRS="$PWD/d/usr/share" \
	    HOME="$PWD" fish -c 'complete -C "sbxctl do"'
	# shellcheck disable=SC2086 # words
	atf_check -o ignore $in_tree uninstall
	atf_check -o empty find d ! -type d
	atf_check test ! -e d/usr/libexec/sbx -a ! -e d/usr/share/doc/sbx
}

atf_init_test_cases()
{
	atf_add_test_case not_linux
	atf_add_test_case missing_library
	atf_add_test_case setup
	atf_add_test_case peers
	atf_add_test_case fetched
	atf_add_test_case warnings
	atf_add_test_case commit
	atf_add_test_case hardened
	atf_add_test_case static
	atf_add_test_case install
}
