# shellcheck shell=bash
# lib.sh: what the scripts of the VM lane share. Sourced, with bash, from anywhere in the checkout.
set -euo pipefail
umask 022 # the users of a guest read its files

PATH=$PATH:/usr/sbin:/sbin # an ordinary user's has no depmod and no mke2fs
vm=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
module=$(cd "$vm/../.." && pwd)
cache=${VM_CACHE:-$module/bin/vm}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)

say() { printf 'vm: %s\n' "$*" >&2; }

die() {
	say "$*"
	exit 2
}

# Of another architecture than this machine's, apt has lists of its own below the cache, and needs no root.
arch=${VM_ARCH:-amd64}
if [ "$arch" != "$(dpkg --print-architecture)" ]; then
	export APT_CONFIG=$cache/apt-$arch/apt.conf
	mkdir -p "$cache/apt-$arch"/{state/lists/partial,cache/archives/partial}
	cat >"$APT_CONFIG" <<-F
		APT { Architecture "$arch"; Architectures { "$arch"; }; Sandbox::User "root"; };
		Dir { State "$cache/apt-$arch/state"; State::status "/dev/null"; Cache "$cache/apt-$arch/cache"; };
	F
fi

# metapackage NAME: the Debian metapackage behind a kernel's short name. Another name is taken as a package.
metapackage() {
	case $1 in
	6.1) echo "linux-image-cloud-$arch" ;;
	6.12) echo "linux-image-6.12-cloud-$arch" ;;
	*) echo "$1" ;;
	esac
}

# once DIRECTORY COMMAND...: run COMMAND to fill a new directory, unless an earlier run has. The command's last argument
# is a temporary name beside it: what was interrupted is never taken for complete. Two at once take turns.
once() {
	local dir=$1
	shift
	[ ! -d "$dir" ] || return 0
	(
		flock 9
		[ ! -d "$dir" ] || exit 0
		rm -rf "$dir.part"
		mkdir -p "$dir.part"
		"$@" "$dir.part" # on a line of its own: set -e does not hold inside of what stands before &&
		mv "$dir.part" "$dir"
	) 9>"$cache/.lock"
}

# apt_get is apt-get, as root where its lists are the machine's.
apt_get() {
	if [ "$(id -u)" -eq 0 ] || [ -n "${APT_CONFIG:-}" ]; then apt-get "$@"; else sudo apt-get "$@"; fi
}

# with_lists COMMAND...: run an apt query; where it fails, as on a fresh machine without package lists, fetch them first.
with_lists() {
	"$@" 2>/dev/null || {
		apt_get update -qq >&2 || true # a hook of the machine's may fail for an ordinary user; the query decides
		"$@"
	}
}

# download DIRECTORY PACKAGE[=VERSION]...: the packages' files. Nothing is installed.
download() {
	local dir=$1
	shift
	(cd "$dir" && with_lists apt-get -qq download "$@") || die "apt-get download failed: $*"
}
