// Package seccomp compiles Docker/OCI seccomp profiles to BPF, and explains them.
//
// The steps are Parse (or Preset) → Profile.Resolve(Target) → Table → Table.Compile → bytes for seccomp(2).
//
//   - A Profile is the JSON file, checked strictly: an unknown key, action or operator is an error.
//   - A Table is the meaning of a profile for one architecture, kernel and capability set: a default action and rules
//     in order. The first rule of a system call that matches decides. Table.String is the output of `brig explain
//     --seccomp`.
//   - Compile generates a binary tree of ranges of numbers from the rules, then runs the result in the interpreter of
//     this package and compares it with Table.Eval: what is explained is what is enforced.
//
// libseccomp, which no other package imports, provides the numbers and names of system calls on each architecture.
// Tests compare its compiler with this package's on every number. It is not used to compile, since it is not
// first-match: an unconditional rule overrides a conditional one anywhere in the list, so a profile that denies
// openat(2) for writing and then allows openat would allow it all.
//
// Only the native architecture is compiled in. A call through a foreign ABI (i386's int 0x80, x32) kills the process.
//
// # Presets
//
//   - default: Docker's allow-list for a process without capabilities, tightened: only sockets of AF_UNIX and
//     NETLINK_ROUTE, and TCP, UDP and ping of IPv4 and IPv6; no mounting, namespaces, keyrings, bpf, perf, userfaultfd,
//     io_uring, io_setup; no ioctl(2) or fcntl(2) that types into a terminal, breaks it, or makes it send signals; no
//     leases, no F_NOTIFY, no filters on sockets, no MSG_OOB, nothing for which the kernel loads a module of the host;
//     no PTRACE_O_TRACEEXIT. RLIMIT_CORE keeps its value, though setrlimit(2) returns success.
//   - strict: default without any socket but AF_UNIX, without ptrace and reading of other processes' memory, and
//     without SysV IPC, POSIX message queues, kernel AIO, FIFOs by mknod, nested filters and personality changes.
//   - compute: reads files, computes, writes to the descriptors that it was given. Threads, but no new process; no
//     socket; no file is created or changed. Enough for python3.
//   - build: default for compilers and package builds: without ptrace and netlink.
//   - debug: default plus the calls that gdb, strace and rr-like tools need: kcmp, pidfd_getfd, process_madvise, and
//     PTRACE_O_TRACEEXIT for one tracer at a time, which nsjail's init decides (Linux 5.16; without init it is death).
//
// System calls newer than every call that a profile names return ENOSYS if the default action is an errno, because
// libraries have a fallback for ENOSYS but not for EPERM.
//
// Importing the package does no work: profiles are parsed on demand. The filters of the presets, and those that are
// loaded beneath a profile, are compiled when brig is built (the directory built).
package seccomp
