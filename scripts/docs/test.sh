#!/bin/bash
# test.sh: execute each documented command (commands) on a bare Debian 12: the root of a private mount and pid namespace,
# made by mmdebstrap from what is essential, with this source and nothing of this machine but its network. Go comes from
# where `make run` says, packages and modules from their registries. Needs root, and some minutes.
# exit: 0 passed, 1 not
if [ "$(id -u)" -ne 0 ]; then exec sudo --preserve-env=GOPROXY,GOSUMDB,SSL_CERT_FILE,VM_CACHE "$0" "$@"; fi
. "$(dirname "$0")/../vm/lib.sh"

# make_root DIRECTORY
make_root() {
	say 'bookworm: mmdebstrap'
	mmdebstrap --quiet --mode=root --variant=essential --include=apt,ca-certificates,make,mount bookworm "$1/root.tar"
}

# enter ROOT: make it the root.
enter() {
	cd "$1"
	mkdir -p proc dev sys mnt
	mount -t proc proc proc
	mount --rbind /dev dev
	mount --rbind /sys sys
	pivot_root . mnt
	hash -r
	umount -l /mnt
}

# story: in the new root, as root of nothing but this.
story() {
	cd /src
	# Debian 12 has no Go that can fetch the right one: the message names the command that installs one.
	if make run >/tmp/said 2>&1; then
		echo 'docs: make run has not missed Go'
		exit 1
	fi
	command=$(sed -n "s/^  \(echo 'deb .*golang-go\)$/\1/p" /tmp/said)
	[ -n "$command" ] || { cat /tmp/said && exit 1; }
	echo "\$ $command"
	bash -c "$command" >/tmp/log 2>&1 || { cat /tmp/log && exit 1; }
	apt-get install -y --no-install-recommends bsdutils curl openssl >/tmp/log 2>&1 || { cat /tmp/log && exit 1; }
	scripts/docs/run.sh scripts/docs/commands . || exit 1
	useradd --create-home newcomer
	cp -r /src /home/newcomer/src
	chown -R newcomer: /home/newcomer/src
	echo '== as an ordinary user'
	cd /home/newcomer/src
	setpriv --reuid newcomer --regid newcomer --init-groups env HOME=/home/newcomer scripts/docs/run.sh scripts/docs/commands .
}

case ${1:-} in
--story)
	enter "$2"
	story
	exit
	;;
--private) ;;
*) exec unshare -mpf --mount-proc "$0" --private ;;
esac
dir=$cache/docs-$(sha256sum <"$0" | cut -c1-8)
once "$dir" make_root
root=$(mktemp -d "${TMPDIR:-/var/tmp}/brig-docs.XXXXXX") # gigabytes: /tmp may be in memory
trap 'umount -l "$root"; rm -rf --one-file-system "$root"' EXIT
mount --bind "$root" "$root"
tar -C "$root" -xf "$dir/root.tar"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
certificates=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
if [ -e "$certificates" ]; then cat "$certificates" >"$root/etc/ssl/certs/ca-certificates.crt"; fi
mkdir "$root/src"
tar -C "$module" --exclude=./bin --exclude=./dist --exclude=./.git -c . | tar -C "$root/src" -x --no-same-owner
env -i HOME=/root LC_ALL=C.UTF-8 TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	DEBIAN_FRONTEND=noninteractive ${GOPROXY:+GOPROXY="$GOPROXY"} ${GOSUMDB:+GOSUMDB="$GOSUMDB"} \
	unshare -m "$0" --story "$root"
