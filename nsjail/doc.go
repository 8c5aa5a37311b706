// Package nsjail runs untrusted commands in a jail and reports truthfully what happened.
//
//	cmd := nsjail.Command("python3", "/input/analyse.py") // shaped like exec.Cmd
//	cmd.Spec.Mounts = []nsjail.Mount{{Type: nsjail.MountBind, Source: "data", Target: "/input"}}
//	cmd.Spec.Limits.Memory = 256 << 20
//	out, result, err := cmd.Output()
//
// A Spec describes the jail: the command, what it sees of the host, its network, its limits. The zero Spec with Args is
// the default jail: the host's /usr and no file of the caller's, no network but lo, no capability, a system-call
// filter. `go doc brig/nsjail/spec Spec` shows every field.
//
// A non-nil error means that the jail could not be made and that nothing of the payload has run: an *Error, with whose
// fault it is and a remedy, or an *ExecError. How the payload ended is in the *Result. Its Status is decided from what
// this process did, then from what the kernel counted, and only then from the payload's own exit: a payload can choose
// its exit code and its output, but not a Result. A mechanism that the Spec needs and the host lacks is an error,
// unless Spec.Optional names it; Result.Enforced names what enforces each one.
//
// To run many commands, keep a Runner. It makes jails through one launcher process, which is this program's binary
// again, from parts that it has prepared, and can keep whole jails and payloads ready (Prestart, PrestartRunning). No
// daemon, no set-user-ID program and no root is needed; called by root, the payload is an unprivileged user. The jail's
// mounts, files, addresses and processes end with it, also when this process is killed; the Collect functions remove
// what is left on disk then.
//
// A Box (Runner.NewBox) is a jail that lives, in which commands meet what earlier ones have left.
//
// Beside this package, brig/nsjail/spec has all that a Spec can hold, brig/nsjail/explain shows the system calls of a
// start, brig/nsjail/doctor what a machine lacks, brig/denial what a jail has refused, brig/changes what a payload has
// changed of a copy, and brig/netns/egress/policy the rules for NetEgress.
package nsjail
