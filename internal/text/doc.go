// Package text makes the output of a payload safe to show to a language model, in JSON, or on a terminal. It does not
// depend on jails.
//
// # The pipeline
//
//	payload -> Filter -----------------------------------------> Capture, or a stream of events
//	           1 terminal sequences out (Options.StripANSI)       head and tail, the rest counted
//	           2 secrets masked (Options.Set)
//	           3 UTF-8, each invalid byte U+FFFD
//	           4 invisible characters out (Options.StripAll)
//	           5 secrets masked again, if one holds U+FFFD or after 4
//
// The order matters. Terminal sequences are removed first, since "to\x1b[0mken" becomes a secret only without them.
// Secrets are masked before anything is truncated, since part of a secret at the edge of a head or a tail would not be
// found. Therefore a jail whose output is filtered must not have nsjail.Limits.Output; a Capture after the Filter
// limits the size instead.
//
// The total output of a Filter depends only on its input, not on how that was split into writes. Each stage holds back
// only what it cannot decide yet: an incomplete sequence (as a state), a possible beginning of a secret, or an
// incomplete rune. Close writes what was held back. If the output was cut off, as by a timeout, use CloseCut, which
// masks a possible beginning of a secret.
//
// The run time is linear in the output, independent of its content and of the secrets. A Set contains the prepared
// secrets, and can be shared by all streams.
//
// # What masking is for
//
// Masking keeps a program that prints its environment, a URL or a header from leaking a secret into a log or a model's
// context. It is no protection against a malicious payload, which can print a secret backwards. Do not pass a secret to
// a payload that must not reveal it.
package text
