// Package policy says what a run may be, as data: which commands and languages, which files of the host, what of the
// network, how much of the machine. A Policy narrows a Job's Spec to what it allows, or refuses it with a sentence that
// a model can act on.
//
//	p, err := policy.LoadProfile("/etc/brig/policies", "python-data")
//	exec := policy.Wrap(runner, p)
//
// # What a decision is
//
// Let allowed(p) be the set of Specs that a policy allows. Then
//
//   - Decide leaves a Spec of allowed(p), or refuses; a Spec that it refuses it does not change;
//   - Decide takes away only: limits go down, denials and required mechanisms are added, what may be missing is cut;
//   - a second Decide changes nothing;
//   - DecideAll of several policies is in all of their sets, and their order counts for nothing.
//
// A property test draws Specs and policies and holds these against each other. Another one goes through the fields of
// nsjail.Spec by reflection: a field that is not classified fails it.
//
// # Absence
//
// A list that is absent allows nothing, and a bound that is absent binds nothing: see the comments at the fields for
// the three lists that have a default. In an open policy, a list that is absent is not judged at all: {"extends":
// "any", "limits": {"wall": "10s"}} narrows one thing beside other policies. An inherited bound can be raised, not
// removed.
//
// # Commands
//
// Args[0] is looked up as the jail will do it: in its PATH (the one that the run sets, if it does), through links, in
// the tree that the jail will show, its mounts included. What is found is compared with what the policy's entries lead
// to, by device and inode number, and the last names must be equal: "python3", "/usr/bin/python3" and
// "//usr/bin/../bin/python3" are one command, and "./python3" in /work is not that one. Below /work, /tmp, /output,
// /input and below mounts that are written to or made for the run nothing is an allowed command, for it may be
// anybody's.
//
// A pattern is a list of items, one for each argument; "..." stands for any number of them. In an item, * is any text,
// ? one byte, and \ takes the next byte as it is; without these it is compared whole. An entry fits if nothing of deny
// and of deny_flags does, every option is one of flags (if there are any), and some pattern of allow fits (if there is
// one). What one entry denies, no other allows. deny_flags, and options in deny, are found in every usual spelling: "-o
// x", "-ox", "-vo", "--output=x", "--outp"; but a program may have more: a list of what is allowed is the safer one.
//
// A Job with a Language is judged by languages: its Args are package lang's.
//
// Commands hold for what a request names. What that program executes afterwards is not looked at: who may run a shell,
// an interpreter, env, xargs, make or find -exec may run whatever the jail shows, and so may code in any language. Lint
// says so. Paths, network, limits and the system-call filter hold whatever is executed.
//
// # Paths
//
// A path of the host counts by where it leads, and that is what the Spec names from then on. Below a path that runs
// write to, only the whole of that path can be shown: anything deeper could be replaced by a link between this look and
// the jail's. Mounts go to the work areas and to paths.targets only, counted by where the target is in the end.
//
// # Network
//
// What a run's rules allow must lie within what network.egress allows: "*.example.com" covers "a.example.com" and not
// "example.com", a port range the ports within it, mode tcp whatever is spoken, http its methods and paths. 0.0.0.0/0
// covers public addresses only, as it does when it is enforced. Denials and bounds of the policy are added.
package policy
