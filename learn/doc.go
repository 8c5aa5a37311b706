// Package learn decides which flags of `brig run` would let a command work that its jail has kept from working.
//
// Package learn/trace watches the jail from outside and records its failed system calls as Events, with what the host
// has at their paths (Node). Advise compares them with the Spec, and returns Proposals: flags, the one that shows the
// least first. It is pure: the same Input has the same Advice.
//
// What an Event holds is chosen by the payload. It is therefore never a reason to show what Private returns a reason
// for, and `brig learn` tries by itself only what Proposal.Reads holds for.
package learn
