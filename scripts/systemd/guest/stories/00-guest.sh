. /opt/story/lib.sh
# the guest is what the stories take it for: pure version 2, systemd as process 1, two managers
[ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ] || fail "/sys/fs/cgroup is not cgroup2"
[ "$(cat /proc/1/comm)" = systemd ] || fail "process 1 is $(cat /proc/1/comm)"
[ "$(own)" = /sys/fs/cgroup/system.slice/story.service ] || fail "the stories run in $(own)"
[ "$(systemctl is-active user@1000.service)" = active ] || fail "the user's manager does not run"
systemctl --failed --no-legend | grep . && fail "units have failed"
exit 0
