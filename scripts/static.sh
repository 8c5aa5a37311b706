#!/bin/bash
# static.sh build|test ARGS...: run the go command so that it links a static program, with musl where it is installed
# and CC does not name another compiler.
# Before main, glibc executes 68 CPUID instructions, and a virtual machine traps each: half a millisecond of a start here.
# GOARCH may name another architecture of Debian, whose libraries scripts/vm/sysroot.sh downloads.
# EXTLDFLAGS has more flags for the linker.
set -euo pipefail
export GOWORK; GOWORK=$(realpath "$(dirname "$0")/go.work")
flags="-static ${EXTLDFLAGS:-}"
go=${GO:-go} root=
if [ -z "${CC:-}" ] && [ -n "${GOARCH:-}" ] && [ "$GOARCH" != "$("$go" env GOHOSTARCH)" ]; then
	root=$(VM_ARCH=$GOARCH "$(dirname "$0")/vm/sysroot.sh") # of the other architecture
	arch=$(cat "$root/triplet")
	export CC="$root/musl-gcc" CGO_ENABLED=1
	export PKG_CONFIG_LIBDIR="$root/usr/lib/$arch/pkgconfig"
elif [[ ${CC:-} =~ ^(musl-gcc)?$ ]] && command -v musl-gcc >/dev/null; then
	arch=$(gcc -print-multiarch)
	export CC=musl-gcc
fi
if [ -n "${arch:-}" ]; then
	# behind musl's: the kernel's headers, and libseccomp.a
	export CGO_CFLAGS="-O2 -g -idirafter $root/usr/include -idirafter $root/usr/include/$arch"
	export CGO_LDFLAGS="-L$root/usr/lib/${arch%-gnu}-musl -L$root/usr/lib/$arch"
	# Debian's libseccomp.a is for glibc. musl lacks one function of it, which prints a filter; brig does not call it.
	flags+=" -no-pie -Wl,--defsym=__fprintf_chk=abort"
fi
verb=$1
shift
mode="-linkmode external"
if [ "$verb" = test ]; then
	mode= # a test without C is linked by Go, which is quicker
	# The go commands that tests start find what is compiled already: other flags would mean other compilations of all.
	export GOFLAGS="${GOFLAGS:-} -trimpath -tags=netgo,osusergo"
fi
exec "$go" "$verb" -trimpath -tags netgo,osusergo -ldflags "$mode -extldflags '$flags' -s -w -buildid=" "$@"
