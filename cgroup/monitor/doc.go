// Package monitor reads the current usage of a control group. It creates no group, sets no limit and moves no process.
//
// A Group names the directories: one on pure version 2, the version 1 directories by controller on version 1, both on a
// hybrid machine. A value that the layout or the kernel does not provide is nil.
//
// Only this package imports cgroup1 and cgroup2 of github.com/containerd/cgroups, which bring protobuf, D-Bus, eBPF and
// a logger: up to a millisecond of every start and some megabytes of program. The command brig must not import it. Read
// opens some twenty small files. It parses pids.events, the limit of tasks and swap in version 1 itself, since the
// library does not.
package monitor
