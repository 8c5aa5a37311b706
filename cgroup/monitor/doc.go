// Package monitor reads what a control group uses at a moment. It creates no group, sets no limit and moves no process.
//
// A Group names the directories: one on pure version 2, the version 1 directories by controller on version 1, both on
// a hybrid machine. A figure that the layout or the kernel does not provide is nil.
//
// It is the only importer of cgroup1 and cgroup2 of github.com/containerd/cgroups, which bring protobuf, D-Bus, eBPF
// and a logger: up to a millisecond of every start and some megabytes of program. Keep it out of the command brig. A
// call of Read opens some twenty small files. What the library does not read is read from the files: pids.events, the
// limit of tasks and swap in version 1.
package monitor
