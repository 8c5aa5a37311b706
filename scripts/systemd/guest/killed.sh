# shellcheck shell=bash
# killed.sh: SIGKILL of a keeper inside the delegated scope that the caller is in. Sourced by a user's story and by root's.
for round in 1 2 3; do
	up=$tmp/up$round # one each: the last jail may still hold its own open
	mkfifo "$up"
	/usr/bin/brig run --memory 64m -- sh -c 'echo up; exec sleep 1000' >"$up" &
	keeper=$!
	read -r word <"$up" || fail "the jail did not start"
	[ "$word" = up ] || fail "the jail said $word"
	kill -KILL $keeper
	wait $keeper 2>/dev/null
done
echo "after the kills: $(find "$(own)/.." -mindepth 1 -type d)"
brig run --memory 64m --report "$report" -- true
must 0 ok
must_be_clean
