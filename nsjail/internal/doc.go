// Package internal holds the rooms of the jail and nothing else. This is its theory of operation, for those who change
// it; package nsjail has what a program that embeds it needs.
//
// # Words
//
//	spec            what the caller asks for: Spec
//	host            the facts of this machine that the spec depends on: Host, returned by Look
//	plan            everything decided, the same for the same spec and host: Plan, printed by `brig explain`
//	program         the list of system calls in a plan, from the first namespace to execve(2)
//	keeper          the Go process that called Start; it watches the jail and writes the Result
//	launcher        the small C process that performs programs; it makes no decision
//	init            process 1 of the jail's pid namespace; a fork of the launcher that executes nothing
//	payload         the command in the jail
//	report socket   the only channel from the jail to the keeper; the payload has no descriptor of it
//	control group   the cgroup of one jail, made only if a limit needs it
//	prepared root   a root file system in which a Runner's launcher waits, ready to be copied into jails
//	parked jail     a jail of a Runner that is made already and waits for its command
//	parked payload  a payload of a Runner that is started already and waits for what it is to do: the handover
//
// # Flow
//
//	Spec --Check--> problems           pure: the same on every machine
//	 |
//	Look(Spec) --> Host                the only reading of the machine; it changes nothing
//	 |               |
//	 +--Resolve------+--> Plan         pure: the same Spec, Host and mode give the same Plan
//	                       +- Plan.String    what `brig explain` prints
//	                       +- Plan.Jail      the program, performed step by step; an error names its step
//
// A program has no branches: Resolve has decided them. Its order is the table of phases in internal/plan.
//
// # Processes
//
//	keeper                               launcher             first process              payload
//	  | memfd(program), report socket,     |                        .                        .
//	  | stdin, stdout, stderr, mounts      |                        .                        .
//	  +----- SCM_RIGHTS, SEQPACKET ------->|                        .                        .
//	  |                                    +- clone3(namespaces, -->|                        .
//	  |<---- {pid} or {op, errno} ---------+         CLONE_PARENT)  |                        .
//	  | pidfd_open                                                  | uid_map, session,      .
//	  |                                                             | tree, pivot_root, lo,  .
//	  |                                                             | rlimits, stdio, caps   .
//	  |                                                             +- clone(CLONE_VFORK) -->|
//	  |                                                             |  (waits)               | seccomp(2), execve(2)
//	  |<---- FAIL {op, errno} ------------ report socket -----------+------ if one fails ----+
//	  |<---- EXEC {pid} ------------------ report socket -----------+ it is init now         | runs
//	  |  pidfd_send_signal ---------------------------------------->|- kill(2) ------------->|
//	  |                                                             |<-------- its end ------+
//	  |                                                             | kills and reaps the rest
//	  |<---- EXIT {wait status, rusage} -- report socket -----------+
//	  |<---- pidfd readable: the pid namespace is empty ------------+
//
// The launcher is the same binary, taken over by a C constructor before the Go runtime starts (internal/launcher), so
// that no process is forked from a Go heap. Called by root, it first becomes an unprivileged user of the host, and then
// makes the jail as for an ordinary user. With Spec.NoInit the payload is process 1 itself; the end of the report
// socket stands for EXEC, and wait4(2) after the pidfd for EXIT. Package warm has what a Runner keeps ready.
//
// # A box
//
// The program of a box (Mode.Box) ends with "serve" instead of a fork: its first process becomes an init without a
// payload, in the Landlock domain of all its processes (launcher/box.c). Each process comes as a program of its own,
// planned by plan.Box, at the report socket, with the descriptors of its streams and the far end of a report socket of
// its own:
//
//	keeper                                              init of the box          process
//	  +-- memfd(program), its report socket, streams ----->|                        .
//	  |          report socket, SCM_RIGHTS                 +- clone(CLONE_VM) ----->|
//	  |                                                    |  (waits, bounded)      | streams, rlimits, filter, execve(2)
//	  |<-- FAIL {op, errno} or EXEC {pid} -- its socket ---+                        | runs
//	  +-- a signal, or 0 for the end of its session ------>|- kill(2) ------------->|
//	  |<-- EXIT {wait status, rusage, stays} its socket ---+<-------- its end ------+
//
// A program that does not fork makes something for the keeper: a socket, which it sends back. The end of the box's own
// report socket ends the box.
//
// # Deaths
//
//	dies        what happens
//	payload     init kills and reaps what is left in the pid namespace, sends EXIT and exits
//	init        the kernel kills every process of the pid namespace; the keeper reads end of file
//	launcher    running jails go on, because they are the keeper's children; the next Start fails and names it
//	keeper      the report socket closes, so init exits, and the pid namespace with it. Before there is an init, the
//	            first process meets the closed socket when it reports. With Spec.NoInit the launcher kills the jail
//
// The jail's mounts, files, addresses and processes end with its namespaces. Wait removes the control group; that of a
// killed keeper is removed by the next start with a control group, or by CollectGroups.
//
// # Verdicts
//
// Result.Status is decided from what the keeper did, then from what the kernel counted for the control group, then
// from what init saw, and only then from the payload's own exit. A payload can choose its exit code and its output,
// but not a Result. Result.LimitsHit names every limit that was met.
//
// # Files of the host
//
// Look opens each source once, before the payload exists. Root's keeper clones the mount from that descriptor
// (open_tree(2)), maps its owner to the payload's uid and passes it. Otherwise the jail opens the path again and
// compares device and inode with the open descriptor; a source that was replaced is an error (ESTALE). Package rootfs
// has the rest.
//
// # What is enforced
//
// A mechanism that the spec needs and the host lacks is an error, unless Spec.Optional names it. Plan.Enforced and
// Result.Enforced name what enforces each mechanism. Mechanisms lists them; THREATS.md has what each is for.
package internal
