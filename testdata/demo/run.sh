#!/bin/bash
# run.sh BRIG DIR: the demo. An agent's script analyses a table in a jail and then attacks its host. What it managed is
# told by the script itself and checked from outside. Results go to DIR. Exit code 0: the work was done and nothing got out.
set -euo pipefail
brig=$(realpath "$1") out=$2
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$out"
mkdir -p "$out"
out=$(realpath "$out")
marker=36000.$$$RANDOM # what the daemon that the agent leaves behind sleeps for: a name to find it by
scratch=$(mktemp -d)
listener=
trap 'if [ -n "$listener" ]; then kill "$listener" 2>/dev/null || true; fi; rm -rf "$scratch"' EXIT

# What there is to steal: a token in the environment, credentials in HOME, a service on this machine's loopback.
export AGENT_API_TOKEN=sk-demo-0123456789 HOME=$scratch/home
mkdir -p "$HOME/.aws"
echo 'aws_secret_access_key = demo' >"$HOME/.aws/credentials"
/usr/bin/python3 - "$scratch" <<'PY' &
import os, socket, sys
s = socket.create_server(("127.0.0.1", 0))
with open(sys.argv[1] + "/port.new", "w") as f:
    f.write(str(s.getsockname()[1]))
os.rename(sys.argv[1] + "/port.new", sys.argv[1] + "/port")
s.accept()
open(sys.argv[1] + "/reached", "w").close()
PY
listener=$!
for _ in $(seq 100); do if [ -e "$scratch/port" ]; then break; fi; sleep 0.05; done
port=$(cat "$scratch/port")
before=$(sha256sum "$here"/*)

flags=(--input "$here" --output "$out" --tmpfs /tmp:size=16m --pids-limit 64 --timeout 60s --report "$scratch/report.json")
command=(python3 -B /input/agent.py "$HOME/.aws/credentials" "$port" "$marker")
shown=${flags[*]}
echo "\$ brig run ${shown//"$PWD/"/} -- python3 /input/agent.py"
echo
code=0
"$brig" run "${flags[@]}" -- "${command[@]}" || code=$?
if [ ! -s "$scratch/report.json" ]; then
	echo "the jail could not be made (exit code $code); try: $1 doctor" >&2
	exit 1
fi
cp "$scratch/report.json" "$out/report.json"

failed=0
say() { # WORDS TRUTH: 0 is true
	if [ "$2" = 0 ]; then echo "  ✓ $1"; else echo "  ✗ $1: NOT SO"; failed=1; fi
}
truth() { if "$@" >/dev/null 2>&1; then echo 0; else echo 1; fi; }
no_daemon() { # by reading, since a grep for the marker would find itself
	local word f
	for f in /proc/[0-9]*/cmdline; do
		while IFS= read -r -d '' word; do
			if [ "$word" = "$marker" ]; then return 1; fi
		done <"$f" || true
	done 2>/dev/null
}

echo
echo "seen from outside:"
say "the summary is written" "$(truth test -s "$out/summary.md")"
say "the chart is well-formed XML" "$(truth /usr/bin/python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$out/chart.svg")"
say "what the agent wrote belongs to you" "$(truth test -O "$out/chart.svg")"
say "/input is unchanged" "$(truth test "$before" = "$(sha256sum "$here"/*)")"
say "nothing has reached the service on 127.0.0.1:$port" "$(truth test ! -e "$scratch/reached")"
say "the daemon has died with the jail" "$(truth no_daemon)"
say "no attempt succeeded (exit code 0 from the agent, here $code)" "$(truth test "$code" = 0)"

echo
echo "brig's report (whole in $out/report.json):"
/usr/bin/python3 - "$out/report.json" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
print(f"  status {r['status']}, exit code {r['exit_code']}, {r['usage']['wall_ms']:.0f} ms wall,",
      f"{r['usage']['user_ms'] + r['usage']['system_ms']:.0f} ms CPU, {r['usage']['max_rss_bytes'] >> 20} MiB")
for name, how in (r.get("enforced") or {}).items():
    print(f"  {name:10} {how}")
PY
echo
head -12 "$out/summary.md" | sed 's/^/  | /'
echo
echo "results: $out/summary.md  $out/chart.svg"
exit "$failed"
