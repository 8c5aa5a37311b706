. /opt/story/lib.sh
# the package installs, its socket starts brigd, brigd's jails have limits, and purge leaves nothing
ask() { curl -sS --unix-socket /run/brigd/brigd.sock http://brigd/v1/run --json "$1"; }

mkdir -p /var/lib/dpkg/{info,updates,triggers} && touch /var/lib/dpkg/{status,available} # packages were only unpacked
dpkg --force-unsafe-io -i /opt/story/brig.deb || fail "dpkg -i: $?"
[ "$(systemctl is-enabled brigd.socket)" = disabled ] || fail "the socket is enabled though nobody asked"
systemctl start brigd.socket || fail "the socket does not start"
[ "$(systemctl is-active brigd.service)" = inactive ] || fail "brigd runs before it is asked"
answer=$(ask '{"language":"python","code":"print(6*7)","memory":"64m"}')
echo "$answer"
[ "$(jq -r .stdout <<<"$answer")" = 42 ] || fail "the answer is $answer; $(journalctl -u brigd -o cat --no-pager | tail -n 5)"
answer=$(ask "$(jq -n --arg code "$gibibyte" '{language: "python", code: $code, memory: "64m"}')")
[ "$(jq -r .status <<<"$answer")" = memory ] || fail "1 GiB in 64 MiB ended as $answer"
[ "$(systemctl show -P User brigd.service)" = brigd ] || fail "brigd is not its own user"
[ "$(stat -c %U:%a /var/log/brigd/audit.jsonl)" = brigd:600 ] || fail "the audit log is $(stat -c %U:%a /var/log/brigd/audit.jsonl)"
su -l agent -c 'curl -sS --unix-socket /run/brigd/brigd.sock http://brigd/healthz' && fail "another user reaches the socket"
systemctl stop brigd.service || fail "brigd does not stop"
[ "$(systemctl show -P Result brigd.service)" = success ] || fail "brigd ended as $(systemctl show -P Result brigd.service)"
dpkg -P brig || fail "dpkg -P: $?"
for left in /usr/bin/brigd /etc/brig /var/lib/brigd /var/log/brigd /run/brigd; do [ ! -e $left ] || fail "$left is left"; done
getent passwd brigd && fail "the user brigd is left"
systemctl --failed --no-legend | grep . && fail "units have failed"
exit 0
