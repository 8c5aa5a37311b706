#!/bin/bash
# completions.sh BRIG SHARE: write the shell completions, which brig makes from its own flag table, below SHARE.
set -euo pipefail
brig=$1 share=$2
put() { # SHELL FILE
	install -d "$(dirname "$share/$2")"
	"$brig" completion "$1" >"$share/$2"
	echo "wrote $share/$2"
}
put bash bash-completion/completions/brig
put zsh zsh/site-functions/_brig
put fish fish/vendor_completions.d/brig.fish
