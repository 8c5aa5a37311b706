// Package run contains the parts of the keeper that do not depend on how a jail is made: the payload's streams, which
// are the caller's files opened again or copied, the first process of a jail, and the timers of a running jail.
package run
