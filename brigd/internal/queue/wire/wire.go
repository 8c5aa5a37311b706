// Package wire has the names that the parts of the queue share: streams, subjects, and headers of messages.
package wire

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// Streams of runs that wait or go on, and of those that were given up.
const (
	Runs = "BRIG_RUNS"
	Dead = "BRIG_DEAD"
)

// The beginnings of subjects.
const (
	RunsSubject   = "brig.runs."
	DeadSubject   = "brig.dead."
	WakeSubject   = "brig.wake."
	CancelSubject = "brig.cancel."
	WorkerSubject = "brig.worker."
	DialSubject   = "brig.dial."
	PlaceSubject  = "brig.place"
)

// Headers of messages from a worker to a front.
const (
	Seq     = "Brig-Seq"     // counts the messages of an attempt
	Attempt = "Brig-Attempt" // counts from 1
	Done    = "Brig-Done"    // the revision of the result, which is the body, or empty if that is too large
)

// A worker may send this many events or bytes without an answer.
const (
	WindowEvents = 64
	WindowBytes  = 256 << 10
)

// GivenUp is the code of the refusal that the caller of a run gets that was given up.
const GivenUp = "run_given_up"

// TenantOf returns the tenant in a message's subject.
func TenantOf(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// Digest returns a text that stands for another in subjects and keys: 26 letters and digits.
func Digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}
