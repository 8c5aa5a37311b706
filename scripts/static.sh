#!/bin/bash
# static.sh build|test ARGS...: run the go command so that it links a static program, with musl where it is installed
# and CC does not name another compiler.
# Before main, glibc executes 68 CPUID instructions, and a virtual machine traps each: half a millisecond of a start here.
# EXTLDFLAGS has more flags for the linker.
set -euo pipefail
flags="-static ${EXTLDFLAGS:-}"
if [ -z "${CC:-}" ] && command -v musl-gcc >/dev/null; then
	arch=$(gcc -print-multiarch)
	export CC=musl-gcc
	# behind musl's: the kernel's headers, and libseccomp.a
	export CGO_CFLAGS="-O2 -g -idirafter /usr/include -idirafter /usr/include/$arch"
	export CGO_LDFLAGS="-L/usr/lib/${arch%-gnu}-musl -L/usr/lib/$arch"
	# Debian's libseccomp.a is for glibc. musl lacks one function of it, which prints a filter; brig does not call it.
	flags+=" -no-pie -Wl,--defsym=__fprintf_chk=abort"
fi
verb=$1
shift
exec "${GO:-go}" "$verb" -trimpath -tags netgo,osusergo -ldflags "-linkmode external -extldflags '$flags' -s -w" "$@"
