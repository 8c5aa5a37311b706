// Package run holds parts of the keeper that know nothing of how a jail is made: the payload's streams, which are the
// caller's files opened again or copied, and the clocks of a running jail.
package run
