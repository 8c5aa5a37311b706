#!/bin/bash
# programs.sh: the programs below a prefix, and brig under the names of those whose command lines it has. These are hard
# links, or copies where there are none: a caller that resolves a symbolic link to brig would execute it as brig.
#   programs.sh install PREFIX BIN NAME...   in lib/brig under both names, in bin under those that are given, and those
#                                            that were brig's there; another program of that name is an error
#   programs.sh remove PREFIX                with the names in bin that are brig's
set -euo pipefail
verb=$1 bin=$2/bin lib=$2/lib/brig

# ours FILE: a link to brig, its second name, or a copy.
ours() { [ "$(readlink "$1")" = brig ] || [ "$1" -ef "$bin/brig" ] || { [ ! -L "$1" ] && cmp -s "$1" "$bin/brig"; }; }

# name FILE: brig's, from now on.
name() { ln -f "$bin/brig" "$1" 2>/dev/null || cp -pf --remove-destination "$bin/brig" "$1"; }

names=()
for each in bwrap isolate; do
	if ours "$bin/$each"; then
		names+=("$each")
	elif [[ " ${*:4} " = *" $each "* ]]; then
		if [ -e "$bin/$each" ] || [ -L "$bin/$each" ]; then
			echo "install: $bin/$each is another program; remove it, or do not ask for that name" >&2
			exit 1
		fi
		names+=("$each")
	fi
done
if [ "$verb" = remove ]; then
	rm -f "${names[@]/#/$bin/}" "$bin/brig" "$bin/brigd" "$bin/brigd-queue" "$lib/bwrap" "$lib/isolate"
	rmdir --ignore-fail-on-non-empty "$lib" 2>/dev/null || [ ! -e "$lib" ]
	exit
fi
install -d "$bin" "$lib"
install -m 755 "$3/brig" "$3/brigd" "$3/brigd-queue" "$bin/"
for each in "${names[@]/#/$bin/}" "$lib/bwrap" "$lib/isolate"; do name "$each"; done
