package doctor

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"brig/cgroup"
	"brig/internal/words"
)

// DelegateScript returns a script for sh(1) with which root delegates control groups to a user, a name or a uid. They
// lie below those of this process: cgroups(7), "Delegation". If this process runs as that user, its parent, a shell,
// moves into them, if it is still there.
func DelegateScript(user string) (string, error) {
	l, err := cgroup.Detect("")
	if err != nil {
		return "", err
	}
	return delegateScript(l, user, os.Getuid(), os.Getppid())
}

func delegateScript(l *cgroup.Layout, user string, uid, shell int) (string, error) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
	var dirs []string
	for _, c := range slices.Sorted(maps.Keys(l.Controllers)) {
		if dir := l.Controllers[c]; dir != "" && c != "devices" && !strings.HasPrefix(c, "name=") &&
			!slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	switch {
	case user == "" || user[0] == '-' || strings.Trim(user, letters) != "":
		return "", fmt.Errorf("%s is neither the name of a user nor a uid", words.Quote(user))
	case l.Mode == cgroup.V2 && l.Systemd:
		return "", words.Error("systemd gives them here: write " + words.Jail(words.Field("systemd_scope")))
	case l.Dir == "" && len(dirs) == 0:
		return "", errors.New("no control group is mounted; mount -t cgroup2 cgroup2 /sys/fs/cgroup")
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# For root: control groups for %[1]s, as in brig doctor --delegate %[1]s | sudo sh
set -e
uid=$(id -u %[1]s 2>/dev/null || echo %[1]s)
give() {
	group=$1/brig-user-%[1]s
	mkdir -p "$group"
	if [ -e "$group/cpuset.cpus" ] && [ -e "$group/tasks" ]; then # version 1: nothing can enter while they are empty
		cat "$1/cpuset.cpus" >"$group/cpuset.cpus"
		cat "$1/cpuset.mems" >"$group/cpuset.mems"
	fi
	for file in . cgroup.procs cgroup.threads cgroup.subtree_control tasks; do
		if [ -e "$group/$file" ]; then chown "$uid" "$group/$file"; fi
	done
	if [ "$uid" = %[2]d ] && [ "$(stat -c %%u /proc/%[3]d 2>/dev/null)" = "$uid" ]; then
		echo %[3]d >"$group/cgroup.procs"
	else # another user's, or the shell is gone
		echo "to start in it, for a shell with process id PID: echo PID >$group/cgroup.procs"
	fi
}
`, user, uid, shell)
	if l.Dir != "" {
		for _, c := range l.Enabled {
			if !slices.Contains(l.Subtree, c) {
				fmt.Fprintf(&b, "echo +%s >%s\n", c, words.Shell(path.Join(l.Dir, "cgroup.subtree_control")))
			}
		}
		dirs = append(dirs, l.Dir)
	}
	for _, dir := range dirs {
		b.WriteString("give " + words.Shell(dir) + "\n")
	}
	return b.String(), nil
}
