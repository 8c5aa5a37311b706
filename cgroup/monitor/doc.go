// Package monitor gives long-running programs live statistics and events of control groups that exist already: what a
// group uses now (Stats), what happens in it (Events), when it stalls (Pressure). It makes no group, sets no limit and
// moves no process.
//
// A Group names the directories: one on pure version 2, the version 1 directories by controller on version 1, both on
// a hybrid machine. They are opened once and held, so that a group made later at the same path is never mistaken for
// this one. A figure that a layout or a kernel does not give is not known; it is never 0 for want of better.
//
// # What it costs
//
// It is the only importer of cgroup1 and cgroup2 of github.com/containerd/cgroups, which bring protobuf, D-Bus, eBPF
// and a logger: up to a millisecond of every start and some megabytes of program. Keep it out of what starts once a
// command. A call of Stats opens some twenty small files. A stream of events holds an inotify instance, of which a user
// has 128 unless fs.inotify.max_user_instances says more, some descriptors, and two goroutines (three with version 1's
// memory controller), no thread; a pressure alarm holds two descriptors and one goroutine.
//
// # What the library is not used for
//
// Its cgroup2 EventChan covers memory.events only, cannot be told to end, and keeps its goroutine when nobody reads; it
// ends at the first look at an empty group. Events is built on inotify(7) here. On version 1 the library registers the
// eventfd of out-of-memory notices. What it does not read (pids.peak, pids.events, the kernel's share of memory, swap in
// version 1, the pressure of memory in a version 2 tree without controllers) is read from the files.
package monitor
