package main

import "strings"

// hint answers a flag of another tool that people type by habit.
type hint struct {
	flags []string // a * at the end stands for any rest
	says  string   // what to write here instead, or why nothing is needed
}

// dockerHints are the flags of docker run that brig does not have under that name.
func dockerHints() []hint {
	return []hint{
		{[]string{"-v", "--volume"}, "write --bind SRC DST, or --ro-bind SRC DST for :ro"},
		{[]string{"--mount"}, "write --bind SRC DST, --ro-bind SRC DST or --tmpfs DST"},
		{[]string{"-d", "--detach"}, "brig stays until the command ends; leave it out"},
		{[]string{"--name"}, "a jail has no name; leave it out, or write --hostname NAME"},
		{[]string{"--network"}, "write --net loopback (the default, docker's none), --net none (not even lo), --allow HOST for what the payload may reach, or --net host"},
		{[]string{"-P", "--publish-all", "--expose"}, "write --publish HOST:JAIL for each port"},
		{[]string{"--read-only"}, "the root is read-only unless --rootfs-writable says otherwise; leave it out"},
		{[]string{"--cap-drop"}, "the payload has no capability to drop; leave it out"},
		{[]string{"--cap-add", "--privileged"}, "no flag gives the payload a capability; leave it out"},
		{[]string{"--security-opt"}, "write --seccomp FILE for a profile; no_new_privs is always in force"},
		{[]string{"--device", "--device-cgroup-rule", "--gpus"}, "the jail has a /dev of its own, and no other device can be opened; leave it out"},
		{[]string{"--userns", "--pid", "--ipc", "--uts", "--cgroupns"}, "the jail always has a namespace of its own; leave it out"},
		{[]string{"--shm-size"}, "write --tmpfs /dev/shm:size=SIZE"},
		{[]string{"--add-host"}, "write --file HOSTS /etc/hosts"},
		{[]string{"--group-add"}, "write --user UID:GID; there is one group"},
		{[]string{"--entrypoint"}, "write the command after the flags, as in brig run -- COMMAND"},
	}
}

// bwrapHints are the same for bubblewrap.
func bwrapHints() []hint {
	return []hint{
		{[]string{"--chdir"}, "write --workdir DIR"},
		{[]string{"--setenv"}, "write --env NAME=VALUE"},
		{[]string{"--unsetenv", "--clearenv"}, "no variable passes unless --env, --env-file or --pass-env names it; leave it out"},
		{[]string{"--proc", "--dev", "--mqueue"}, "the jail has a /proc and a /dev of its own; leave it out"},
		{[]string{"--dev-bind*"}, "write --bind SRC DST; devices cannot be opened through it"},
		{[]string{"--ro-bind-try"}, "write --ro-bind SRC DST where SRC exists"},
		{[]string{"--bind-try"}, "write --bind SRC DST where SRC exists"},
		{[]string{"--ro-bind-data", "--bind-data"}, "write --file SRC DST"},
		{[]string{"--remount-ro"}, "write --ro-bind SRC DST; the root is read-only already"},
		{[]string{"--unshare-net"}, "the network is only lo already, or write --net none; leave it out"},
		{[]string{"--share-net"}, "write --net host"},
		{[]string{"--unshare-*"}, "the jail always has namespaces of its own; leave it out"},
		{[]string{"--die-with-parent", "--new-session", "--disable-userns"}, "that is always so; leave it out"},
		{[]string{"--as-pid-1"}, "write --no-init"},
		{[]string{"--uid", "--gid"}, "write --user UID:GID"},
		{[]string{"--perms", "--size", "--chmod"}, "write --tmpfs DST:size=64m,mode=1777"},
		{[]string{"--overlay*", "--tmp-overlay", "--ro-overlay"}, "write --rootfs DIR --rootfs-writable"},
		{[]string{"--info-fd", "--json-status-fd"}, "write --report-fd N"},
		{[]string{"--args"}, "write --spec FILE, which brig spec makes"},
	}
}

// hints are all of them; the first that fits answers.
func hints() []hint {
	var all []hint
	for _, some := range [][]hint{dockerHints(), bwrapHints(), dockerLimitHints(), nsjailHints(), systemdHints(), limitHints()} {
		all = append(all, some...)
	}
	return all
}

// hintFor is what to write instead of a flag of another tool, or "" when it is none. The name has no value after =; of
// a short flag only the letter counts, since docker's may stand together, as in -it. nsjail writes _ for -.
func hintFor(name string) string {
	if !strings.HasPrefix(name, "--") && len(name) > 2 {
		name = name[:2]
	}
	name = strings.ReplaceAll(name, "_", "-")
	for _, h := range hints() {
		for _, f := range h.flags {
			if start, open := strings.CutSuffix(f, "*"); f == name || open && strings.HasPrefix(name, start) {
				return h.says
			}
		}
	}
	return ""
}
