#!/bin/bash
# payload.sh: make the drive with what is tested: the tree of this checkout, the test binaries in bin/PACKAGE.test (with
# _ for /), bin/brig and bin/brigd, all static. Print the file's name.
. "$(dirname "$0")/lib.sh"

export GO=${GO:-go} GOARCH=$arch CGO_ENABLED=1 GOWORK=$module/scripts/go.work

# tests lists the packages with tests, less those that read the source tree with the Go tools, the benchmark, the
# pretended internet, and those that ask the kernel for nothing new. Of brigd only the API reads control groups.
tests() {
	"$GO" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... ./brigd/... | sed -n 's,^brig/,,p' |
		grep -vE '^internal/(lint$|test/|text$)|^examples/|^cmd/brig-bench|^brigd/(cmd/|internal/([^a]|a[^p])|(audit|lang|policy|token)$)'
}

build() {
	local package
	cd "$module"
	for package in cmd/brig brigd/cmd/brigd; do
		scripts/static.sh build -o "$1/bin/${package##*/}" "./$package"
	done
	for package in $(tests); do
		scripts/static.sh test -c -o "$1/bin/${package//\//_}.test" "./$package"
	done
	[ -z "${ISOLATE:-}" ] || install -m 755 "$ISOLATE" "$1/bin/isolate" # for the lane isolate
}

exec 8>"$cache/.payload.lock"
flock 8
tree=$cache/payload-$arch.tree
rm -rf "$tree"
mkdir -p "$tree/bin"
tar -c -C "$module" --exclude=./bin --exclude=./dist --exclude=./.git . | tar -x -C "$tree"
mkdir -p "$tree/bin"
build "$tree" >&2
chmod -R go+rX "$tree"
mksquashfs "$tree" "$cache/payload-$arch.part" -quiet -no-progress -noappend -all-root -comp lz4 >&2
mv "$cache/payload-$arch.part" "$cache/payload-$arch.squashfs"
rm -rf "$tree"
echo "$cache/payload-$arch.squashfs"
