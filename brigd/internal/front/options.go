// Package front has what brigd's two HTTP interfaces, packages api and mcp, do in the same way: it logs each request
// under an id, refuses requests from foreign web pages, bounds requests and their bodies, and answers with refusals.
package front

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/links"
	"brig/brigd/internal/live"
	"brig/brigd/internal/trace"
	"brig/brigd/job"
)

// Headers between brigds of a queue.
const (
	// WholeHeader asks that the last event of a stream has the output, too.
	WholeHeader = "Brig-Whole"
	// RulesHeader has what the brigd demands that has taken the request: engine.Rules, in base64.
	RulesHeader = "Brig-Rules"
	// RunHeader has the id of the run.
	RunHeader = "Brig-Run"
	// FileHeader describes the file of an answer, in JSON.
	FileHeader = "Brig-File"
)

// Queue is a durable queue that runs go through: a queue.Front.
type Queue interface {
	// Submit puts a run into the queue and returns its id, or a response with the reason why not.
	Submit(ctx context.Context, c engine.Caller, r *engine.Request) (id string, refused *engine.Response)
	// Lookup returns where a run of the caller's is, or nil if there is none.
	Lookup(ctx context.Context, c engine.Caller, id string) (*QueueState, error)
	// Cancel cancels a run of the caller's, and reports whether there is one.
	Cancel(ctx context.Context, c engine.Caller, id string) (bool, error)
	// Info describes the queue, and Requeue lets a run begin again that was given up.
	Info(ctx context.Context) (*QueueInfo, error)
	Requeue(ctx context.Context, id string) error
}

// QueueState is where a run is.
type QueueState struct {
	Running *engine.Delivery // nil while it waits
	Result  *engine.Response // nil until it has ended
}

// QueueInfo is the answer to GET /v1/queue.
type QueueInfo struct {
	// Length is how many runs wait or go on.
	Length int `json:"length"`
	// Waiting is how many of them wait, by class: high, normal or low.
	Waiting map[string]int `json:"waiting"`
	// Leader is the server that leads the runs' stream; left out if there is one server.
	Leader string `json:"leader,omitempty"`
	// Rate is how many runs a second have left the queue lately.
	Rate float64 `json:"per_second"`
	// Workers are those that have answered.
	Workers []WorkerInfo `json:"workers"`
	// Dead are runs that were given up, at most 1,000.
	Dead []DeadRun `json:"given_up"`
}

// WorkerInfo is what a worker tells of itself.
type WorkerInfo struct {
	Worker string `json:"worker"`
	Host   string `json:"host"`
	// Arch is the machine's, as Go names it.
	Arch string `json:"arch"`
	// Version is that of its brigd.
	Version   string            `json:"version"`
	Languages []engine.Language `json:"languages"`
	// Slots is how many runs may go on there at once, and Running how many do.
	Slots   int `json:"slots"`
	Running int `json:"running"`
	// ShortOf is why it takes no runs; left out if it does.
	ShortOf string `json:"short_of,omitempty"`
	// Taken counts runs that it has taken, Again those of them that another worker may have begun, Dead those that it has
	// given up, and Late those whose result another worker had stored before.
	Taken int64 `json:"taken"`
	Again int64 `json:"again"`
	Dead  int64 `json:"given_up"`
	Late  int64 `json:"late"`
}

// DeadRun is a run that was given up.
type DeadRun struct {
	ID     string    `json:"id"`
	Reason string    `json:"reason"`
	When   time.Time `json:"when"`
}

// Options configure the interfaces. MCP over stdio needs only those of the first group.
type Options struct {
	Engine Engine
	Gate   trace.Gate
	Queue  Queue // nil for none
	// Record writes to the audit log which runs were refused for want of a place.
	Record  *engine.Recorder
	Version string // of brigd
	// Logger gets a line for each HTTP request. Over stdio it must not write to stdout.
	Logger *slog.Logger
	// Changes reports whether runs have change sets, and Apply whether callers may apply them.
	Changes, Apply bool
	MaxBody        int64 // bytes of a JSON body, or of a message
	// OutputSchemas makes MCP's list of tools tell the form of their structured content: three quarters of its bytes.
	OutputSchemas bool

	// Trace begins the span of an HTTP request, and end ends it.
	Trace func(*http.Request) (traced *http.Request, end func(status int))
	// Authenticate returns who sends an HTTP request.
	Authenticate func(*http.Request) (engine.Caller, *job.Refusal)
	// Hosts are the names, without port, by which a TCP client may call this server: others are refused, as a name that an
	// attacker has pointed here (DNS rebinding). "localhost" and the address that it has connected to are always right.
	Hosts []string
	// Origins are the web pages, as "https://example.org", whose scripts may call.
	Origins []string
	// Links are those to ports of sandboxes, each at an origin of its own; nil is none.
	Links *links.Links
	// Credential reports whether a header Authorization has a credential of brigd's, however valid.
	Credential  func(authorization string) bool
	MaxRequests int           // at once; one caller has half of what the others leave
	BodyTime    time.Duration // for a body to arrive (30 s), and 1 s more for each MiB; a file has eight times that
	WriteTime   time.Duration // for a client to take a piece of the answer (30 s)

	// Of HTTP and JSON only: Ready reports whether runs are taken. Health adds what a caller may know of it, by name.
	Ready   func() bool
	Health  func() map[string]string
	Metrics http.Handler
	Live    *live.Table
	Runs    func(c engine.Caller, sandbox string) ([]live.Run, error) // those of Live if it is nil
	MaxFile int64                                                     // bytes of a file up or down
}

// Face is what the requests to one interface share.
type Face struct {
	Options
	Places *Budget // of requests
	Bodies *Budget // bytes of bodies in memory
}

// maxBuffered is how many bytes of all bodies are held at once, unless four of the largest need more.
const maxBuffered = 256 << 20

// New returns a Face.
func New(o Options) *Face {
	o.BodyTime, o.WriteTime = cmp.Or(o.BodyTime, 30*time.Second), cmp.Or(o.WriteTime, 30*time.Second)
	return &Face{o, NewBudget(int64(o.MaxRequests), 2), NewBudget(max(maxBuffered, Memory*o.MaxBody), Memory)}
}
