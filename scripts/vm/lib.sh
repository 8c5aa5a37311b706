# shellcheck shell=bash
# lib.sh: what the scripts of the VM lane share. Sourced, with bash, from anywhere in the checkout.
set -euo pipefail

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

# metapackage NAME: the Debian metapackage behind a kernel's short name. Another name is taken as a package.
metapackage() {
	case $1 in
	6.1) echo linux-image-cloud-amd64 ;;
	6.12) echo linux-image-6.12-cloud-amd64 ;;
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

# apt_get is apt-get, as root.
apt_get() {
	if [ "$(id -u)" -eq 0 ]; then apt-get "$@"; else sudo apt-get "$@"; fi
}

# with_lists COMMAND...: run an apt query; where it fails, as on a fresh machine without package lists, fetch them first.
with_lists() {
	"$@" 2>/dev/null || { apt_get update -qq >&2 && "$@"; }
}

# download DIRECTORY PACKAGE[=VERSION]...: the packages' files. Nothing is installed.
download() {
	local dir=$1
	shift
	(cd "$dir" && with_lists apt-get -qq download "$@") || die "apt-get download failed: $*"
}
