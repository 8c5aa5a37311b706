package queue

import (
	"log/slog"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/queue/wire"
)

// Options say where the queue is, and what a new one is made of.
type Options struct {
	// URL is one or more addresses of servers, nats://HOST:PORT, separated by commas, or unix:DIR, the directory of a
	// brigd-queue.
	URL string
	// Creds is a file with a user's credentials, CA one with the authorities of the server's certificate, Cert and Key
	// the client's own certificate. Each may be "".
	Creds, CA, Cert, Key string
	// Plain lets a connection that leaves the machine do without TLS.
	Plain bool
	// Name is the worker's, or "" for a name of this process. It identifies the sandboxes of a worker that is restarted.
	Name string
	// Replicas is how many servers of a cluster keep each message, when the queue is made (1).
	Replicas int
	// AckWait is how long the server waits for a sign of life from a worker, when the queue is made (30 s).
	AckWait time.Duration
	// MaxDeliver is how often a run is started at most (3).
	MaxDeliver int
	// Queued is how many runs may be in the queue, and QueuedPerTenant how many of one tenant. 0 leaves those of an
	// existing queue as they are.
	Queued, QueuedPerTenant int
	// KeepResults is how long results are kept, when the queue is made (24 h).
	KeepResults time.Duration
	// Store is how many bytes the server keeps at most, which bounds those of a new queue's requests and results; 0 asks
	// the server, and below 0 is not known.
	Store int64
	// Rules are what this brigd demands of the runs that it puts into the queue: engine.Rules as JSON, or nil.
	Rules []byte
	// Record writes to the audit log which runs are put into the queue, and which are refused; nil for no log.
	Record *engine.Recorder
	// Version is the version of brigd.
	Version string
	Logger  *slog.Logger
}

// DefaultName returns a name for a worker of this process that no other has. Callers see it in sandboxes' ids: it tells
// nothing of the machine.
func DefaultName() string { return "w" + wire.Digest(engine.NewID(""))[:12] }

// Defaults of Options.
const (
	DefaultAckWait     = 30 * time.Second
	DefaultMaxDeliver  = 3
	DefaultKeepResults = 24 * time.Hour
)
