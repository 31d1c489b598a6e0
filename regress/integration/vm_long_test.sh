# Debian's own kernel, which is older than what the suite was made on, in a
# virtual machine: the main job, hidden paths, networks, live sessions, several
# roots, mounts below a project, a root as a container's, as root and as an
# ordinary user, by vm_guest.sh.
# needs: network
[ -z "${SBX_SRC-}" ] || . "$SBX_SRC/regress/integration/lib.sh"

# What the kernel needs to reach its disk, and the suite of it; vminit finds the
# order.
vm_modules="virtio virtio_ring virtio_pci virtio_pci_legacy_dev
    virtio_pci_modern_dev virtio_blk crc16 mbcache jbd2 crc32c_generic
    libcrc32c ext4 overlay"
vm_commands="awk bash cat chmod chown cp cut diff echo find git grep head id ls
    mkdir mkfifo mount mv pgrep pivot_root printenv ps rm rmdir sed
    setpriv sh sha256sum sleep sort stat tail tee test touch tr true tty umount
    unshare xargs"

vm_apt() {
	apt-get -q -o APT::Sandbox::User=root "$@" >apt.log 2>&1
}

# The package that this machine's own sources have, whose lists may be missing
# or old.
vm_package() {
	vm_name=$(apt-cache depends linux-image-amd64 2>/dev/null |
	    sed -n 's/.*Depends: \(linux-image-6\.1\..*\)/\1/p')
	[ -n "$vm_name" ] && vm_apt download "$vm_name"
}
vm_kernel() {
	if ! vm_package; then
		vm_apt update || atf_fail "apt-get update: $(tail -n 3 apt.log)"
		vm_package || atf_fail "Debian's kernel 6.1 cannot be fetched, \
as \"${vm_name:-linux-image-amd64}\": $(tail -n 3 apt.log)"
	fi
	mkdir kernel
	# shellcheck disable=SC2046 # words
	dpkg-deb --fsys-tarfile "$vm_name"_*.deb | tar xf - -C kernel \
	    --wildcards './boot/vmlinuz-*' \
	    $(printf '*/%s.ko\n' $vm_modules) || atf_fail "unpacking it"
}

# vm_libs DIR PROGRAM...: what they are linked with, in DIR.
vm_libs() {
	vm_dir=$1
	shift
	ldd "$@" 2>/dev/null | sed -n -e 's/.*=> \(\/[^ ]*\).*/\1/p' \
	    -e 's/^\t\(\/lib[^ ]*\).*/\1/p' | sort -u >libs
	while read -r vm_lib; do
		mkdir -p "$vm_dir${vm_lib%/*}"
		cp -L "$vm_lib" "$vm_dir$vm_lib"
	done <libs
}

vm_initrd() {
	mkdir -p initrd/modules initrd/disk initrd/dev
	find kernel -name '*.ko' -exec cp '{}' initrd/modules ';'
	cp "$SBX_BUILDDIR/regress/integration/vminit" initrd/init
	vm_libs initrd initrd/init
	(cd initrd && find . | cpio -o -H newc --quiet) >initrd.cpio
}

vm_disk() {
	mkdir -p root/usr/bin root/usr/sbin root/usr/lib root/usr/lib64 \
	    root/sbx/libexec root/vm root/etc root/home/u root/root
	for vm_d in dev proc sys run tmp var/lib; do
		mkdir -p "root/$vm_d"
	done
	for vm_d in bin sbin lib lib64; do
		ln -s "usr/$vm_d" "root/$vm_d"
	done
	for vm_c in $vm_commands; do
		# Not the shell's own.
		cp -L "/usr/bin/$vm_c" root/usr/bin/ 2>/dev/null ||
		    cp -L "/usr/sbin/$vm_c" root/usr/bin/ 2>/dev/null ||
		    cp -L "/bin/$vm_c" root/usr/bin/ || atf_fail "no $vm_c"
	done
	for vm_t in integration/deny integration/pty escape/sock; do
		cp "$SBX_BUILDDIR/regress/$vm_t" root/usr/bin/
	done
	cp -a "$SBX_BUILDDIR/bin" "$SBX_BUILDDIR/sbin" root/sbx/
	cp -a "$SBX_BUILDDIR/libexec/sbx" root/sbx/libexec/
	# shellcheck disable=SC2046 # words
	vm_libs root $(find root/usr/bin root/sbx -type f)
	printf '%s\n' root:x:0:0::/root:/bin/sh u:x:1000:1000::/home/u:/bin/sh \
	    >root/etc/passwd
	printf '%s\n' root:x:0: u:x:1000: >root/etc/group
	cp "$SBX_SRC/regress/integration/vm_guest.sh" root/vm/guest
	printf '#!/bin/bash\n%s\n' 'exec >/dev/ttyS0 2>&1 </dev/null' \
	    '. /vm/guest' guest_main >root/vm/run
	chmod 755 root/vm/run
	chown 1000:1000 root/home/u
	truncate -s 512M disk
	mke2fs -q -t ext4 -O ^has_journal -d root disk ||
	    atf_fail "no filesystem of it"
}

atf_test_case debian
debian_head()
{
	atf_set descr "on Debian's own kernel 6.1: run, review, patch and \
landing, hidden and read-only paths, no network, live sessions; nothing is left"
	atf_set require.user root
	atf_set timeout 900
}
debian_body()
{
	cd "$SBX_SCRATCH" || atf_fail cd
	vm_kernel
	vm_initrd
	vm_disk
	# Never a machine in a machine by the processor: that hangs at times.
	timeout 800 qemu-system-x86_64 -accel tcg,thread=multi -smp 2 -m 768 \
	    -kernel kernel/boot/vmlinuz-* -initrd initrd.cpio \
	    -append 'console=ttyS0 loglevel=1 panic=-1' \
	    -drive file=disk,if=virtio,format=raw,cache=unsafe \
	    -display none -serial stdio -monitor none -nic none -no-reboot \
	    </dev/null >console 2>&1 || echo "qemu: status $?" >>console
	tr -d '\r' <console >said
	grep -E '^(PASS|DONE)' said >passed
	{
		for who in root user; do
			for c in doctor job mounted hidden network live \
			    terminal stays roots attached container \
			    submounts; do
				echo "PASS $c $who"
			done
		done
		printf 'PASS %s\n' 'memory user' 'walls root' \
		    'walls user' 'walls_stand root' 'other root'
		echo 'PASS left root'
		echo DONE
	} >wanted
	diff wanted passed || {
		cat said >&2
		atf_fail "not all of it works there"
	}
	atf_check -o match:'^Linux 6\.1\.' cat said
}

atf_init_test_cases()
{
	atf_add_test_case debian
}
