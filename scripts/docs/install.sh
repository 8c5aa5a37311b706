#!/bin/bash
# install.sh DIRECTORY: the documents for people, as an installation has them below DIRECTORY (share/doc/brig). A link to
# what is not installed, the source mostly, becomes its words.
set -euo pipefail
cd "$(dirname "$0")/../.."
to=$1

for file in README.md THREATS.md SECURITY.md docs/*.md docs/*.json docs/tools.example.yaml docs/{reference,decisions}/*.md \
	docs/benchmarks/README.md docs/deploy/* docs/grafana/*; do
	install -D -m 644 "$file" "$to/$file"
done
find "$to" -name '*.md' -print0 | while IFS= read -r -d '' file; do
	awk -v from="$(dirname "$file")" '
		function missing(target) {
			sub(/#.*/, "", target)
			if (target == "" || target ~ /:\/\//) return 0
			if (!(target in gone)) gone[target] = system("test -e \"" from "/" target "\"") != 0
			return gone[target]
		}
		BEGIN { RS = "\001"; ORS = "" }
		{
			while (match($0, /\[[^][]*\]\([^() \n]+\)/)) {
				all = substr($0, RSTART, RLENGTH)
				split(substr(all, 2, length(all) - 2), part, /\]\(/)
				print substr($0, 1, RSTART - 1) (missing(part[2]) ? part[1] : all)
				$0 = substr($0, RSTART + RLENGTH)
			}
			print
		}' "$file" >"$file.new"
	mv "$file.new" "$file"
	chmod 644 "$file"
done
