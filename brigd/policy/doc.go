// Package policy describes, as data, what a run may do: which commands and languages it may use, which files of the
// host, which network access, and how many resources. A Policy narrows a Job's Spec to what it allows. Otherwise it
// refuses the Job, with a message that a language model can act on.
//
//	p, err := policy.LoadProfile("/etc/brig/policies", "python-data")
//	p.Decide(job)
//
// # Guarantees
//
// Let allowed(p) be the set of Specs that a policy allows. Then
//
//   - Decide either produces a Spec in allowed(p) or refuses; a refused Spec is left unchanged;
//   - Decide only restricts: it lowers limits, adds denials and required mechanisms, and removes optional mechanisms;
//   - Decide is idempotent;
//   - the result of DecideAll with several policies lies in all of their sets and does not depend on their order.
//
// A property test checks these with random Specs and policies. Another test walks the fields of nsjail.Spec by
// reflection and fails for a field that is not classified.
//
// # Absence
//
// An absent list allows nothing and an absent bound does not limit. Three lists have a default instead: see the
// comments of the fields. In an open policy, an absent list is not checked at all: {"extends": "any", "limits":
// {"wall": "10s"}} restricts one property, to be combined with other policies. An inherited bound can be raised, but
// not removed.
//
// # Commands
//
// Args[0] is resolved as the jail will resolve it: in the jail's PATH (the one that the run sets, if any), through
// symbolic links, in the file tree of the jail including its mounts. An entry of the policy is resolved likewise. They
// match if device, inode number and base name are equal: "python3", "/usr/bin/python3" and "//usr/bin/../bin/python3"
// are one command, and "./python3" in /work is a different one. No file that a payload may have written is an allowed
// command: see errUnknown.
//
// A pattern is a list of items, one for each argument. The item "..." matches any number of arguments; fits has the
// wildcards of the others. An entry accepts the arguments if no pattern of deny and no option of deny_flags matches,
// every option is listed in flags (if present), and a pattern of allow matches (if present). What one entry denies, no
// other entry can allow. Options in deny and deny_flags are found in every usual spelling: see spells. A program may
// accept other spellings, so a list of what is allowed is safer.
//
// For a Job with a Language, the list languages decides: package lang sets its Args.
//
// Commands restricts only the command that a request names. It does not restrict what that program executes afterwards.
// A shell, an interpreter, env, xargs, make, find -exec or code in any language can run every program in the jail. Lint
// warns about this. Paths, network, limits and the system-call filter apply to all processes.
//
// # Paths
//
// A path of the host is compared after its symbolic links are resolved, and the resolved path is written into the Spec.
// A path that runs may write to can be mounted only as a whole: a subdirectory of it could be replaced by a symbolic
// link before the jail is made. A mount's target must lie in a work area or in paths.targets, after its symbolic links
// are resolved.
//
// # Network
//
// What a run's rules allow must lie within what network.egress allows: see egress.Row.Within. 0.0.0.0/0 includes public
// addresses only, as when it is enforced. The policy's denials and bounds are added to the run's.
package policy
