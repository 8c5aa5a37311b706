#!/bin/bash
# deps.sh build|test|mcp|ports|agents|package|test-package|docs|arm64|systemd|vm|bench: install what is missing, or say what is. Quick and silent when everything is there.
set -euo pipefail
what=${1:-build}
go=${GO:-go}

# A package is missing when the thing that it brings is: a command on PATH, or a file.
missing=()
need() { # PACKAGE command NAME | PACKAGE file PATTERN...
	local package=$1 kind=$2 each
	shift 2
	for each; do
		case $kind in
		command) if command -v "$each" >/dev/null; then return; fi ;;
		file) if compgen -G "$each" >/dev/null; then return; fi ;;
		esac
	done
	missing+=("$package")
}

need gcc command gcc
need pkg-config command pkg-config
need musl-tools command musl-gcc
need libc6-dev file '/usr/lib/*/libc.a' '/usr/lib*/libc.a'
need libseccomp-dev file '/usr/lib/*/libseccomp.a' '/usr/lib*/libseccomp.a'
need python3 file /usr/bin/python3
if [ "$what" = test ]; then
	need bubblewrap command bwrap
	need curl command curl
	need git file /usr/bin/git
	need iproute2 command ip
	need lua5.4 command lua5.4
	need nodejs file /usr/bin/node
	need perl file /usr/bin/perl
	need php-cli command php
	need procps command pgrep
	need prometheus command promtool
	need python3-pip file /usr/bin/pip3
	need ruby command ruby
	need sqlite3 command sqlite3
	need strace command strace
	need tcl command tclsh
	need wget command wget
fi
if [ "$what" = arm64 ]; then
	need gcc-aarch64-linux-gnu command aarch64-linux-gnu-gcc
fi
if [ "$what" = arm64 ]; then
	need qemu-system-arm command qemu-system-aarch64
fi
if [ "$what" = package ]; then
	for each in ${ARCH:-}; do
		if [ "$each" = arm64 ] && [ "$(dpkg --print-architecture)" != arm64 ]; then
			need gcc-aarch64-linux-gnu command aarch64-linux-gnu-gcc
		elif [ "$each" = amd64 ] && [ "$(dpkg --print-architecture)" != amd64 ]; then
			need gcc-x86-64-linux-gnu command x86_64-linux-gnu-gcc
		fi
	done
	need lintian command lintian
	need rpm command rpmbuild
	need xz-utils command xz
fi
if [ "$what" = test-package ] || [ "$what" = docs ]; then
	need mmdebstrap command mmdebstrap
fi
if [ "$what" = mcp ]; then
	need nodejs command node
	need npm command npm
fi
if [ "$what" = ports ]; then
	need chromium command chromium
	need nodejs command node
fi
if [ "$what" = agents ]; then
	need nodejs command node
	need npm command npm
	need ripgrep command rg
	need socat command socat
fi
if [ "$what" = bench ]; then
	need bubblewrap command bwrap
	need crun command crun
	need docker.io command dockerd
	need firejail command firejail
	need make command make
	need npm command npm
	need podman command podman
	need python3-pytest command pytest-3
	need runc command runc
	need runsc command runsc
	need slirp4netns command slirp4netns
	need uidmap command newuidmap
fi
if [ "$what" = systemd ]; then
	need busybox-static file /bin/busybox
	need cpio command cpio
	need e2fsprogs command mke2fs
	need kmod command depmod
	need qemu-system-x86 command qemu-system-x86_64
	need xz-utils command xz
fi

if [ "$what" = vm ]; then
	need busybox-static file /usr/share/doc/busybox-static
	need cpio command cpio
	need e2fsprogs command mke2fs
	need kmod command depmod
	need qemu-system-x86 command qemu-system-x86_64
	need squashfs-tools command mksquashfs
	need xz-utils command xz
	need zstd command zstd
fi

apt() { # as root, or with sudo
	local run=(env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get "$@") # in runlevel 1 invoke-rc.d(8) starts no service
	if [ "$(id -u)" -ne 0 ]; then run=(sudo "${run[@]}"); fi
	if ! command -v apt-get >/dev/null || ! command -v "${run[0]}" >/dev/null; then return 1; fi
	"${run[@]}"
}

# install OPTION-OR-PACKAGE...
install() {
	echo "deps: installing $*"
	if apt install -y --no-install-recommends "$@"; then return; fi
	apt update && apt install -y --no-install-recommends "$@" # a fresh machine's lists are empty
}

if [ "${#missing[@]}" -gt 0 ] && ! install "${missing[@]}"; then
	echo "deps: cannot install packages here (no apt-get, no sudo, or it failed)." >&2
	echo "deps: ask the administrator for these, by their Debian names: ${missing[*]}" >&2
	exit 1
fi

# A Go from 1.21 on fetches the one that go.mod wants. go_from_debian installs Debian's where that is new enough.
want=$(awk '$1 == "go" { print $2 }' go.mod)
versions=
go_from_debian() {
	local suite each
	versions=$(apt-cache madison golang-go 2>/dev/null) || return 1
	if [ -z "$versions" ]; then apt update && versions=$(apt-cache madison golang-go); fi
	for each in $(cut -d'|' -f2 <<<"$versions"); do
		if ! dpkg --compare-versions "$each" ge 2:1.21~; then continue; fi
		suite=
		case $each in *bpo*) suite="--target-release=$(. /etc/os-release && echo "$VERSION_CODENAME")-backports" ;; esac
		install ${suite:+"$suite"} golang-go
		return
	done
	return 1
}

# advice: the one command that installs a Go which can fetch the right one.
advice() {
	local site name sudo=''
	if [ "$(id -u)" -ne 0 ]; then sudo='sudo '; fi
	name=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}")
	site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Codename: $name" 2>/dev/null | head -n 1)
	if [ "$name" = bookworm ] && [ -n "$site" ]; then
		echo "deps: this installs one, from Debian's backports:" >&2
		echo "  echo 'deb $site $name-backports main' | ${sudo}tee /etc/apt/sources.list.d/backports.list && ${sudo}apt-get update &&" \
			"${sudo}apt-get install -y -t $name-backports golang-go" >&2
	else
		echo "deps: install Go $want or newer from https://go.dev/dl/ and put its bin directory on PATH" >&2
	fi
	exit 1
}

if ! command -v "$go" >/dev/null; then
	if [ "$go" != go ] || ! go_from_debian; then
		older=${versions:+", and Debian's is older than 1.21, which can fetch Go $want"}
		echo "deps: there is no Go here$older." >&2
		advice
	fi
	hash -r
fi
if ! said=$("$go" list -m 2>&1); then
	echo "deps: $("$go" env GOVERSION 2>/dev/null || echo "this Go") does not build this module, which wants Go $want or newer:" >&2
	echo "deps:   $said" >&2
	advice
fi
