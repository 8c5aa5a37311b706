#!/bin/bash
# completions.sh BIN SHARE: write the shell completions, which brig and brigd make from their own flag tables, below SHARE.
# completions.sh -r SHARE: remove them.
set -euo pipefail
bin=$1 share=$2
put() { # PROGRAM SHELL FILE
	if [ "$bin" = -r ]; then
		rm -f "$share/$3"
		return
	fi
	install -d "$(dirname "$share/$3")"
	"$bin/$1" completion "$2" >"$share/$3"
	echo "wrote $share/$3"
}
for p in brig brigd; do
	put $p bash bash-completion/completions/$p
	put $p zsh zsh/site-functions/_$p
	put $p fish fish/vendor_completions.d/$p.fish
done
