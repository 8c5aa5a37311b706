#!/bin/bash
# main.sh: run every story, each in a bash of its own, and print a line for each; why a failed one failed stands below.
# As story.service it is root, in a system service without delegation.
cd /opt/story || exit
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
read -r up _ </proc/uptime
echo "systemd guest: Linux $(uname -r), $(systemctl --version | sed 1q), up $up s"
systemctl start user@1000.service # ready, so that no story waits for it
failed=0
for story in /opt/story/stories/*.sh; do
	name=$(basename "$story" .sh)
	# to a file: what a story leaves running would keep a pipe open
	timeout -k 5 "${STORY_TIMEOUT:-180}" bash "$story" >/run/story.log 2>&1 </dev/null
	code=$?
	log=$(cat /run/story.log)
	read -r up _ </proc/uptime
	case $code in
	0) echo "PASS $name: $(sed -n 2p "$story" | cut -c3-) (up $up s)" ;;
	124 | 137) echo "FAIL $name: not finished in time" ;;
	*) echo "FAIL $name: $(grep "^FAIL: " <<<"$log" | sed "1!d; s/^FAIL: //" | grep . || tail -n 1 <<<"$log")" ;;
	esac
	[ $code = 0 ] || { failed=1 && sed 's/^/    /' <<<"$log"; }
done
echo "STORY-EXIT $failed"
