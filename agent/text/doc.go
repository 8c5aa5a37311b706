// Package text makes what a payload prints fit to be shown: to a model, in JSON, on a terminal. It knows nothing of
// jails.
//
// # The pipeline
//
//	payload ─► Filter ─────────────────────────────────────────► Capture, or a stream of events
//	           1 terminal sequences out (Options.StripANSI)       head and tail, the rest counted
//	           2 secrets masked (Options.Secrets)
//	           3 UTF-8, each invalid byte U+FFFD
//	           4 invisible characters out (Options.StripAll)
//	           5 secrets masked again, if one holds U+FFFD or after 4
//
// The order matters. Sequences go first, since "to\x1b[0mken" is a secret that nobody sees until they are gone. Masking
// comes before anything is cut: half a secret at the edge of a head or a tail is not found any more. So a jail whose
// output is filtered has no nsjail.Limits.Output of its own; a Capture behind the Filter bounds what is kept.
//
// What a Filter writes, all pieces together, depends on the bytes that it was given and not on how they were split into
// writes. Each stage holds back only what it cannot decide yet: a begun sequence by its state, a begun secret, a begun
// rune. Close writes that; where more would have come, as after a timeout, CloseCut does, which shows no begun secret.
//
// The work is linear in the output, whatever it and the secrets are. A Set is the secrets made ready, once for all
// streams.
//
// # What masking is for
//
// It keeps a program that prints its environment, a URL or a header from putting a secret into a log or a model's
// context. It is not a wall: a payload that means to tell a secret can spell it backwards. What it was not to tell, it
// must not be given.
package text
