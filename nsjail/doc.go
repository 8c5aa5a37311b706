// Package nsjail runs untrusted commands in a jail and says truthfully what happened. It is what programs embed; the
// command line in cmd/brig is one of them.
//
//	out, result, err := nsjail.Command("python3", "-c", "print(6*7)").Output()
//
// Cmd has the shape of exec.Cmd. A non-nil error means that the jail could not be made and nothing has run; how a
// payload ended is a *Result. To run many, keep a Runner.
//
// # Theory of operation
//
// A jail is a program of system calls that Go plans, that anyone can print, and that a tiny process performs:
//
//	Spec ──Check──► problems           pure: the same on every machine
//	 │
//	Look(Spec) ──► Host                the only reading of the machine; it changes nothing
//	 │               │
//	 └──Resolve──────┴──► Plan         pure: the same Spec and Host give the same Plan
//	                       │
//	                       ├─ Plan.String: what `brig explain` prints
//	                       └─ Plan.Jail: the flat list that the jail's first process performs, up to execve(2)
//	                              │
//	                              ▼
//	                            Result
//
// The order of what happens in a jail is spelled in one place, resolver.write (for a Runner: newTemplate, with inTurn or
// atOnce), and every failure names its operation:
// "mounts[0]: no such file or directory; ... (step 290 of 306: openat(...))". There are no branches in a program.
// Whatever has to be decided is decided by Resolve, in Go, outside.
//
// # Actors
//
// The keeper is the Go program that called Start. It holds the wall clock, the context, its end of the report socket, a
// pidfd of the jail's first process, the jail's control group where a limit asks for one (package cgroup), and our ends of
// the pipes. It is that process's parent. With NetEgress it also holds the sockets that the jail's first process has opened
// in its network namespace while it had capabilities there: whatever the payload connects to arrives at these, and package
// netns/egress decides, dials and relays. When the keeper dies, they are gone, and nothing is reached any more.
//
// The launcher is a second process of the same binary, taken over by a C constructor before the Go runtime starts
// (internal/launcher). It is single-threaded, holds no policy, and decides nothing: it maps a program, checks every offset in
// it, calls clone3(2), and answers. NewRunner executes /proc/self/exe for it and has it stand in a small tree of its own
// (below); cmd/brig forks it in the constructor and has it make the default jail's first process ahead of its program.
// Called by root, the launcher first becomes a host user
// that nobody else is, so that from there on a jail of root's is made exactly like anybody's; of its capabilities it
// keeps CAP_DAC_OVERRIDE, out of effect but for a birth in a control group of root's, and with a pool CAP_SYS_ADMIN, for a
// birth in a network namespace that stood ready.
//
// The outfitter is a Runner's second launcher, made when it is needed: it stands in the host's tree, for an ordinary user in
// the first one's user namespace, and makes what takes capabilities there: network namespaces for the pool, and mounts of
// an ordinary caller's sources. Each is passed to the keeper as a descriptor.
//
// The store is a third launcher, made with a Runner's first Volume: it stands in a mount namespace that nobody else sees, where
// the volumes are attached, and makes the mounts of them that jails get.
//
// Init is process 1 of the jail, a fork of the launcher that never executes anything. It has no environment, a neutral command
// line, is not dumpable, and holds a few descriptors: the report socket, a signalfd(2), the listener of the payload's filter
// (seccomp_unotify(2)), and the jail's tmpfs mounts, whose state it reports. It reaps, forwards signals, kills what
// violates the filter, and ends the jail with the payload or with the keeper. Spec.NoInit leaves it out.
//
// The payload is the command. It has descriptors 0, 1 and 2, one user id, no capability, and no way to gain one. Its
// streams are the caller's pipes, terminals and memory devices, opened again, and pipes to the keeper otherwise.
//
// # Channels and order
//
//	keeper                               launcher             first process              payload
//	  │ memfd(program), report socket,     │                        ·                        ·
//	  │ stdin, stdout, stderr, mounts      │                        ·                        ·
//	  ├───── SCM_RIGHTS, SEQPACKET ───────►│                        ·                        ·
//	  │                                    ├─ clone3(namespaces, ──►│                        ·
//	  │◄──── {pid} or {op, errno} ─────────┤         CLONE_PARENT)  │                        ·
//	  │ pidfd_open                                                  │ uid_map, session,      ·
//	  │                                                             │ tree, pivot_root, lo,  ·
//	  │                                                             │ rlimits, stdio, caps   ·
//	  │                                                             ├─ clone(CLONE_VFORK) ──►│
//	  │                                                             │  (waits)               │ seccomp(2), execve(2)
//	  │◄──── FAIL {op, errno} ──────────── report socket ───────────┼────── if one fails ────┤
//	  │◄──── EXEC {pid} ────────────────── report socket ───────────┤ it is init now         │ runs
//	  │                                                             │                        │
//	  │  pidfd_send_signal ────────────────────────────────────────►│─ kill(2) ─────────────►│
//	  │                                                             │◄──────── its end ──────┘
//	  │                                                             │ kills and reaps the rest
//	  │◄──── EXIT {wait status, rusage} ── report socket ───────────┤
//	  │◄──── pidfd readable: the pid namespace is empty ────────────┘
//
// The report socket is the only way back, and the payload has no descriptor of it: its far end is close-on-exec in every
// process but init. So a payload can forge its exit code and what it prints, but not a Result. With Spec.TTY the master of
// the jail's own terminal comes over the same socket, before EXEC. Without init, the socket's end of file stands for EXEC and
// waitid(2) on the pidfd for EXIT.
//
// With a launcher that cmd/brig has forked, the first process exists already when the program is ready: the keeper sends it
// there, over that process's own socket, and the first answer is its report. Init then makes the rest of the tree while the
// payload's process loads the filter (earlyAtOnce).
//
// # What a Runner keeps ready
//
// A Runner's launcher is born in the host's tree like any other, and leaves it (prepare.go): an own mount namespace, and for
// an ordinary user an own user namespace, with a tmpfs that holds the host's /usr, its devices, copies of a few files of
// /etc, and the procfs of a pid namespace without processes. A jail that starts there copies a dozen mounts instead of
// all of the host's, overlays /etc as a whole, and covers the tree with its own root instead of unmounting it.
//
// Its program is in two parts. The head depends on the kind of Spec only (headSpec); it is made once for each kind, and
// ends with the operation park, which waits on the report socket for the rest. The rest is written for each run, while
// the launcher works. Prestart sends heads in advance, and so does a Runner with a pool for what starts again: then only the
// rest is left to be done when Start is called. A parked process that finds the socket closed ends. The list is the same
// one whether the second part comes at once or later.
//
// Where nothing of the caller's is mounted, init and the payload's process work at the same time (atonce.go): from the
// first operations on they share memory, descriptors and the root; init performs a part of the list of its own, makes the
// network namespace or, where one stood ready, the tree, and the other process waits for it (join) before execve(2).
//
//	head    procfs, identity, group, session, lo, bounding set, tree, names [, read-only root, capabilities, init, filter]  park
//	rest    [the caller's mounts, read-only root, capabilities, init,] streams, limits, working directory [, filter], execve(2)
//
// The parts in brackets belong to the head unless the Spec has mounts of its own (and no image), and the filter only
// where it lets the rest be received.
//
// # Who holds what, and what happens at each death
//
//	dies        what the kernel and the others do
//	payload     init kills what is left in the namespace, reaps it, reports EXIT and exits
//	init        the kernel kills every process of the pid namespace; the keeper reads end of file, StatusSignal
//	launcher    running jails go on: they are not its children; the next Start fails, naming the launcher
//	outfitter   the next mount or refill fails, naming the launcher
//	store       jails that show a volume keep it; the next one of it fails, naming the launcher
//	keeper      its end of the report socket closes: init exits, and with it the namespace. Before there is an init:
//	            the first process, having waited for a program or performed it, meets the closed socket at the latest
//	            as init; from a launcher forked early it also has PR_SET_PDEATHSIG. Without init the launcher, whose own socket
//	            ends too, kills it by the pidfd that it holds (a ward). Its control group stays, empty, and its lock on
//	            it ends: the next start with a group, or CollectGroups, removes it
//
// A jail leaves nothing to be cleaned: its mounts are in its mount namespace and its files in its tmpfs, its addresses in its
// network namespace, and all of that goes with its last process; its control group is removed by Wait. There is no other
// file, directory or lock on the host.
//
// # Verdicts
//
// Result.Status is decided (Result.decide) from what the keeper has done itself, what the kernel has counted for the control
// group, and what init has seen, in that order, and only then from the payload's own end. Result.LimitsHit names every limit
// that was met, whether or not it ended the jail.
//
// # Files of the host
//
// A source is opened once, by Look, before the payload exists. Called by root, the keeper clones the mount from that
// descriptor (open_tree(2)), maps its owner to the payload's uid (an idmapped mount) and passes it. Called by anyone
// else, or by root without the capabilities for that, whose payload then is the owner of what it writes to (owner.go),
// the jail opens the path again and compares device and inode number with what the keeper still holds open; a source
// that was replaced in between is an error (ESTALE). Targets are reached from the descriptor of the new root by
// openat2(2) with RESOLVE_IN_ROOT and RESOLVE_NO_MAGICLINKS: see package rootfs.
//
// The keeper itself reads small files of which a read-only bind shows a copy. Inside of a writable bind the path to
// another mount has no symbolic link, and each directory of it is mounted on itself, so that the payload cannot replace
// it.
//
// # What is enforced
//
// A mechanism that the Spec wants and the Host lacks is an error, unless Spec.Optional names it. What holds each mechanism, or
// why nothing does, stands in Plan.Enforced and again in Result.Enforced. Mechanisms lists them; THREATS.md says against what.
package nsjail
