#!/bin/bash
# deps.sh build|test: install what is missing, or say what is. Quick and silent when everything is there.
set -euo pipefail
what=${1:-build}
go=${GO:-go}

# A package is missing when the thing that it brings is: a command on PATH, or a file.
missing=()
need() { # PACKAGE command NAME | PACKAGE file PATTERN
	case $2 in
	command) command -v "$3" >/dev/null || missing+=("$1") ;;
	file) compgen -G "$3" >/dev/null || missing+=("$1") ;;
	esac
}

need gcc command gcc
need pkg-config command pkg-config
need libc6-dev file '/usr/lib/*/libc.a'
need libseccomp-dev file '/usr/lib/*/libseccomp.a'
need python3 file /usr/bin/python3
if [ "$what" = test ]; then
	need bubblewrap command bwrap
	need git file /usr/bin/git
	need nodejs file /usr/bin/node
	need perl file /usr/bin/perl
	need strace command strace
fi

install_missing() {
	local sudo=()
	if [ "$(id -u)" -ne 0 ]; then sudo=(sudo); fi
	if ! command -v apt-get >/dev/null; then return 1; fi
	if [ "${#sudo[@]}" -gt 0 ] && ! command -v sudo >/dev/null; then return 1; fi
	echo "deps: installing ${missing[*]}"
	"${sudo[@]}" apt-get install -y --no-install-recommends "${missing[@]}" && return 0
	"${sudo[@]}" apt-get update && # the lists of a fresh machine are empty
		"${sudo[@]}" apt-get install -y --no-install-recommends "${missing[@]}"
}

if [ "${#missing[@]}" -gt 0 ] && ! install_missing; then
	echo "deps: cannot install packages here (no apt-get, no sudo, or it failed)." >&2
	echo "deps: ask the administrator for these, by their Debian names: ${missing[*]}" >&2
	exit 1
fi

# Go comes from its makers: Debian's is usually too old for go.mod, and a Go from 1.21 on fetches the right one itself.
want=$(awk '$1 == "go" { print $2 }' go.mod)
if ! command -v "$go" >/dev/null; then
	echo "deps: there is no Go here; install Go $want or newer from https://go.dev/dl/ and put its bin directory on PATH" >&2
	exit 1
fi
if ! said=$("$go" list -m 2>&1); then
	echo "deps: $("$go" env GOVERSION 2>/dev/null || echo "this Go") does not build this module, which wants Go $want or newer:" >&2
	echo "deps:   $said" >&2
	echo "deps: install it from https://go.dev/dl/" >&2
	exit 1
fi
