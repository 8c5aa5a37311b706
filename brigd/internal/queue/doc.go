// Package queue puts runs into a durable queue, NATS JetStream, from which workers on any number of machines take them.
// Only this package and those below it import the client's library; the program brigd-queue is the server for one
// machine or more. Here is the connection. submit puts runs into the queue, worker takes them out, and dead keeps those
// that were given up. lane decides whose turn it is, record has what is kept of runs, and peers connects brigds.
//
// # What is where
//
//	stream BRIG_RUNS     brig.runs.CLASS.LANE.TENANT: runs that wait or go on, until they are acknowledged
//	bucket BRIG_RESULTS  r.ID: the first result of a run; q.ID: who has asked for it, if the result is fetched later
//	objects BRIG_FILES   requests that are too large for a message
//	objects BRIG_LARGE   such results
//	stream BRIG_DEAD     brig.dead.ID: runs that were given up, with the reason, for 30 days
//	bucket BRIG_REVOKED  ids of revoked tokens, so that each brigd revokes what one of them has revoked
//	objects BRIG_SNAPSHOTS  snapshots of sandboxes
//	bucket BRIG_WORKERS  names of workers that live: their sandboxes are listed
//
// brig.wake.CLASS.LANE.TENANT tells that a run has come: the server publishes it, and workers listen to lanes that were
// empty. brig.cancel.ID ends one, and brig.worker.all asks the workers for their load. brig.place asks who has room for
// a sandbox, and brig.dial.NAME connects to a worker.
//
// # Connections
//
// A request about a sandbox, or with a stream of input, cannot be delivered twice. It is sent as HTTP between two
// brigds, in a tunnel of messages with a window: see packages peers and remote. A killed peer is noticed within a
// second, because the server answers "no responders" for it, and a silent one after AckWait.
//
// # Delivery
//
// A worker pulls, and never more than it has free slots. While a run goes on it tells the server so, three times in
// each wait for an acknowledgement. It stores the result, waits until the server confirms that, then acknowledges. If a
// worker, the server or the acknowledgement is lost, the run is delivered again: runs are started at least once. The
// first stored result counts, because a result is created and never replaced. A run that was delivered more than
// MaxDeliver times has probably ended its workers; it is given up.
//
// The result of a run without a key is removed when its caller has it. A small record is in its place, so that the run
// is not started again if its acknowledgement was lost. If the caller waits in the worker's process, the result is not
// stored: with that, both would be gone. Then the server confirms the acknowledgement, or the record is stored.
//
// A worker looks for records of runs that were delivered before, or that are older than its connection or the last
// cancellation.
//
// # Fairness
//
// A class is a priority, and a lane a part of the tenants of a class, by a hash. Each lane has a consumer of its own. A
// worker takes from the lanes in turn, so that a tenant's thousand runs delay only those in the same lane.
//
// # Trust
//
// Who may publish to brig.runs or brig.dial may run what the workers' policies allow, as any agent. A capability token
// travels with its run, and the worker verifies it again when the run starts. The server's own authentication and TLS
// decide who may publish. Requests are stored as they are, with their secrets.
package queue
