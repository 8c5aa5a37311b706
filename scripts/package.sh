#!/bin/bash
# shellcheck disable=SC2016 # the maintainer scripts expand later
# package.sh: make dist: for each architecture of ARCH, by default this machine's, a .deb, an .rpm, a .tar.gz (for below
# /usr or /usr/local) and an SBOM, and SHA256SUMS of all. bin has the programs of this machine. No program of another
# architecture is executed. Two builds of the same source have the same bytes.
#   SOURCE_DATE_EPOCH is the time of every file: by default the last commit's, or that of go.mod where there is no git.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
export LC_ALL=C TZ=UTC GO=${GO:-go} GOWORK=$PWD/scripts/go.work
epoch=$(git -c safe.directory="$PWD" log -1 --format=%ct 2>/dev/null) || epoch=$(stat -c %Y go.mod)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$epoch}
version=$(bin/brig version | cut -d' ' -f2)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# of ARCH: what its programs are linked with: the root of Debian's libraries in $root, and their versions in $LIBRARIES.
of() {
	root=
	if [ "$1" != "$(dpkg --print-architecture)" ]; then root=$(VM_ARCH=$1 scripts/vm/sysroot.sh); fi
	export LIBRARIES
	LIBRARIES=$(if [ -n "$root" ]; then cat "$root/packages"; else dpkg-query -W; fi |
		sed -nE 's/^(musl|libseccomp)-dev(:[^ \t]*)?\t/\1 /p')
}

# notices ARCH: the licenses of everything that the programs contain.
notices() {
	local path dir each
	GOARCH=$1 CGO_ENABLED=1 "$GO" list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}' ./cmd/brig ./brigd/cmd/brigd ./brigd/cmd/brigd-queue |
		sort -u | { echo "go $("$GO" env GOROOT)" && cat; } |
		while read -r path dir; do
			for each in "$dir"/{LICENSE,COPYING,NOTICE}*; do
				if [ -f "$each" ]; then printf '%s\n\n%s\n\n' "=== $path: ${each##*/}" "$(cat "$each")"; fi
			done
		done
	for each in libseccomp-dev musl-dev; do
		printf '%s\n\n%s\n\n' "=== $each" "$(cat "$root/usr/share/doc/$each/copyright")"
	done
}

# stage ARCH DIRECTORY: the files that all kinds of packages have.
stage() {
	local bin=bin doc=$2/usr/share/doc/brig units=$2/usr/lib/systemd/system
	if [ -n "$root" ]; then
		bin=$work/bin-$1
		mkdir "$bin"
		GOARCH=$1 scripts/static.sh build -o "$bin/" ./cmd/brig ./brigd/cmd/brigd ./brigd/cmd/brigd-queue
	fi
	make -s -o build install BIN="$bin" HOST_BIN=bin DESTDIR="$2" PREFIX=/usr >/dev/null
	gzip -9n "$2"/usr/share/man/man?/*
	install -d "$doc" "$units" "$2/usr/lib/sysusers.d" "$2/usr/share/brig" "$2/etc/brig"
	install -m 644 packaging/brigd.{service,socket} "$units/"
	install -m 644 packaging/brigd.sysusers "$2/usr/lib/sysusers.d/brigd.conf"
	install -m 644 packaging/apparmor "$2/usr/share/brig/"
	install -m 644 packaging/brigd.json "$2/etc/brig/"
	gzip -9nc CHANGELOG.md >"$doc/changelog.gz"
	notices "$1" | gzip -9nc >"$doc/notices.gz"
	scripts/sbom.py "$GO" "$version" "$1" "$bin/brig" "$bin/brigd" "$bin/brigd-queue" >"$doc/sbom.spdx.json"
}

# old DIRECTORY: every time stamp becomes the one of this source.
old() { find "$1" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +; }

# script LAST-LINES: a maintainer script with the functions of packaging/maintain.sh.
script() { printf '#!/bin/sh\nset -e\n%s\n\n%s\n' "$(tail -n +2 packaging/maintain.sh)" "$1"; }

# deb ARCH STAGE
deb() {
	local tree=$work/deb-$1 doc=usr/share/doc/brig size
	cp -a "$2" "$tree"
	install -d "$tree/DEBIAN" "$tree/usr/share/lintian/overrides"
	mv "$tree/usr/share/zsh/site-functions" "$tree/usr/share/zsh/vendor-completions"
	install -m 644 packaging/deb/copyright "$tree/$doc/"
	install -m 644 packaging/deb/lintian-overrides "$tree/usr/share/lintian/overrides/brig"
	printf 'brig (%s-1) unstable; urgency=medium\n\n  * changelog.gz tells what has changed.\n\n -- %s  %s\n' "$version" \
		"$(sed -n 's/^Maintainer: //p' packaging/deb/control)" "$(date -Rd "@$SOURCE_DATE_EPOCH")" |
		gzip -9n >"$tree/$doc/changelog.Debian.gz"
	size=$(find "$tree" -type f ! -path '*/DEBIAN/*' -printf '%s\n' | awk '{ bytes += $1 } END { print int(bytes / 1024) + 1 }')
	sed "s/@VERSION@/$version/; s/@ARCH@/$1/; s/@SIZE@/$size/" packaging/deb/control >"$tree/DEBIAN/control"
	install -m 644 packaging/deb/{conffiles,triggers} "$tree/DEBIAN/"
	script 'case $1 in
configure)
	come
	if [ -n "$2" ]; then restart; fi
	;;
triggered) come ;;
esac' >"$tree/DEBIAN/postinst"
	script 'case $1 in remove) stop ;; esac' >"$tree/DEBIAN/prerm"
	script 'case $1 in
remove) gone ;;
purge)
	gone
	purge
	;;
esac' >"$tree/DEBIAN/postrm"
	chmod 755 "$tree"/DEBIAN/{postinst,prerm,postrm}
	(cd "$tree" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
	old "$tree"
	dpkg-deb --root-owner-group --threads-max=1 -Zxz --build "$tree" "dist/brig_$version-1_$1.deb" >/dev/null
}

# rpm ARCH STAGE
rpm() {
	local machine=x86_64 tree=$work/rpm-$1
	if [ "$1" = arm64 ]; then machine=aarch64; fi
	cp -a "$2" "$tree"
	install -m 644 LICENSE "$tree/usr/share/doc/brig/"
	old "$tree"
	script 'come; if [ "$1" -gt 1 ]; then restart; fi' | tail -n +2 >"$tree.post"
	script 'if [ "$1" -eq 0 ]; then stop; fi' | tail -n +2 >"$tree.preun"
	script 'if [ "$1" -eq 0 ]; then gone; fi' | tail -n +2 >"$tree.postun"
	(cd "$tree" && find . ! -type d ! -path ./etc/brig/brigd.json -printf '/%P\n' | sort) >"$tree.files"
	rpmbuild --quiet -bb --target "$machine-linux" --define "_topdir $work/rpmbuild-$1" --define "_rpmdir $work/rpm" \
		--define "version $version" --define "stage $tree" --define '_buildhost brig' --define '_build_id_links none' \
		--define 'use_source_date_epoch_as_buildtime 1' --define 'clamp_mtime_to_source_date_epoch 1' \
		--define '__os_install_post %{nil}' --define 'debug_package %{nil}' --define "_dbpath $work/rpmdb" packaging/rpm/brig.spec >/dev/null
	mv "$work/rpm/$machine/brig-$version-1.$machine.rpm" dist/
}

# archive ARCH STAGE: for any prefix, hence without /etc and the units, which name /etc/brig and /usr/bin.
archive() {
	local name=brig-$version-linux-$1
	cp -a "$2/usr" "$work/$name"
	rm -r "$work/$name"/{lib,share/brig}
	install -m 644 LICENSE "$work/$name/share/doc/brig/"
	old "$work/$name"
	tar -C "$work" --format=gnu --sort=name --owner=0 --group=0 --numeric-owner -c "$name" | gzip -9n >"dist/$name.tar.gz"
}

rm -rf dist
mkdir dist
for arch in ${ARCH:-$(dpkg --print-architecture)}; do
	of "$arch"
	stage "$arch" "$work/stage-$arch"
	deb "$arch" "$work/stage-$arch"
	rpm "$arch" "$work/stage-$arch"
	archive "$arch" "$work/stage-$arch"
	cp "$work/stage-$arch/usr/share/doc/brig/sbom.spdx.json" "dist/brig-$version-linux-$arch.spdx.json"
done
lintian --fail-on error,warning --allow-root dist/*.deb
(cd dist && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
ls -l dist
