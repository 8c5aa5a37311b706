package main

import (
	"slices"

	"brig/internal/cli"
	"brig/nsjail"
)

// toolHints are hints for flags of docker run and bubblewrap that brig has under another name, or not at all.
var toolHints = []cli.Hint{
	{"-v --volume", "write --bind SRC DST, or --ro-bind SRC DST for :ro"},
	{"--mount", "write --bind SRC DST, --ro-bind SRC DST or --tmpfs DST"},
	{"-d --detach", "brig stays until the command ends; leave it out"},
	{"--name", "a jail has no name; leave it out, or write --hostname NAME"},
	{"--network", "write --net loopback (the default, docker's none), --net none (not even lo), --allow HOST for what " +
		"the payload may reach, or --net host"},
	{"-P --publish-all --expose", "write --publish HOST:JAIL for each port"},
	{"--read-only", "the root is read-only unless --rootfs-writable says otherwise; leave it out"},
	{"--cap-drop", "the payload has no capability to drop; leave it out"},
	{"--cap-add --privileged", "no flag gives the payload a capability; leave it out"},
	{"--security-opt", "write --seccomp FILE for a profile; no_new_privs is always in force"},
	{"--device --device-cgroup-rule --gpus", "the jail has a /dev of its own, and no other device can be opened; " +
		"leave it out"},
	{"--userns --pid --ipc --uts --cgroupns", "the jail always has a namespace of its own; leave it out"},
	{"--shm-size", "write --tmpfs /dev/shm:size=SIZE"},
	{"--add-host", "write --file HOSTS /etc/hosts"},
	{"--group-add", "write --user UID:GID; there is one group"},
	{"--entrypoint", "write the command after the flags, as in brig run -- COMMAND"},

	// bubblewrap
	{"--chdir", "write --workdir DIR"},
	{"--setenv", "write --env NAME=VALUE"},
	{"--unsetenv --clearenv", "no variable passes unless --env, --env-file or --pass-env names it; leave it out"},
	{"--proc --dev --mqueue", "the jail has a /proc and a /dev of its own; leave it out"},
	{"--dev-bind*", "write --bind SRC DST; devices cannot be opened through it"},
	{"--ro-bind-try", "write --ro-bind SRC DST where SRC exists"},
	{"--bind-try", "write --bind SRC DST where SRC exists"},
	{"--ro-bind-data --bind-data", "write --file SRC DST"},
	{"--remount-ro", "write --ro-bind SRC DST; the root is read-only already"},
	{"--unshare-net", "the network is only lo already, or write --net none; leave it out"},
	{"--share-net", "write --net host"},
	{"--unshare-*", "the jail always has namespaces of its own; leave it out"},
	{"--die-with-parent --new-session --disable-userns", "that is always so; leave it out"},
	{"--as-pid-1", "write --no-init"},
	{"--uid --gid", "write --user UID:GID"},
	{"--perms --size --chmod", "write --tmpfs DST:size=64m,mode=1777"},
	{"--overlay* --tmp-overlay --ro-overlay", "write --rootfs DIR --rootfs-writable"},
	{"--info-fd --json-status-fd", "write --report-fd N"},
	{"--args", "write --spec FILE, which brig spec makes"},
}

// hints returns all hints; the first match is used.
func hints() []cli.Hint {
	list := slices.Concat(toolHints, limitHints)
	for _, r := range nsjail.LimitTable() { // the names of the limits in other tools
		if r.Aliases != "" {
			list = append(list, cli.Hint{r.Aliases, "write --" + r.Flag + " " + r.Value})
		}
	}
	return append(list, commonHints...)
}
