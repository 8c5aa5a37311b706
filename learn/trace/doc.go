// Package trace watches a jail from outside and records the system calls that fail in it: ptrace(2).
//
// The tracee is a `brig run` of this binary, so the jail is the one that it makes for anybody, with every fence. The
// tracer is its ancestor, outside of all its namespaces, and follows each process from its birth. It changes nothing in
// the payload; what it reads there, names and addresses, is bounded and trusted for nothing: a payload that changes an
// argument before it is read chooses what is recorded, as it could by a call that it means. If the tracer ends, the
// kernel kills the tracees (PTRACE_O_EXITKILL).
//
// A process of the payload that is itself traced, or that is made with CLONE_UNTRACED, is not seen. It has the same
// fences.
package trace
