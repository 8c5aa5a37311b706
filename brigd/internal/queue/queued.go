package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/engine"
	"brig/brigd/job"
)

// queued is a run as it travels.
type queued struct {
	ID     string `json:"id"`
	Agent  string `json:"agent,omitempty"`
	Token  string `json:"token,omitempty"`  // a capability token
	Stream bool   `json:"stream,omitempty"` // the output is sent as events, and is not in the result
	Watch  bool   `json:"watch,omitempty"`  // the output is sent as events
	// Reply is the subject for events and for the result; "" if the result is only stored.
	Reply   string `json:"reply,omitempty"`
	Tracked bool   `json:"tracked,omitempty"` // GET /v1/runs/ID may ask where it is
	Digest  string `json:"digest,omitempty"`  // of the request
	Owner   owner  `json:"owner"`
	Caller  string `json:"caller,omitempty"` // whose bounds it counts for: see engine.Caller.Key
	// Rules are what the front demands of it: engine.Rules.
	Rules   json.RawMessage `json:"rules,omitempty"`
	Request engine.Request  `json:"request"`
}

// owner is who may ask for a run's result.
type owner struct {
	Agent string   `json:"agent"`
	Chain []string `json:"chain,omitempty"` // the ids of the token's blocks
}

func ownerOf(c engine.Caller) owner { return owner{c.Name(), c.Grant.IDs()} }

// sender returns who has asked for the run.
func (j *queued) sender() engine.Sender {
	s := engine.Sender{Agent: cmp.Or(j.Agent, j.Owner.Agent)}
	if n := len(j.Owner.Chain); n > 0 {
		s.Token = j.Owner.Chain[n-1]
	}
	return s
}

// refuse records that the run is refused, and returns the response to it.
func (j *queued) refuse(l *engine.Recorder, no *job.Refusal) *engine.Response {
	j.Request.ID = j.ID
	return refused(j.ID, l.Refused(j.sender(), &j.Request, no))
}

// record is what a bucket knows of a run. One without Result and Object in the key r.ID is of a run whose result was
// delivered.
type record struct {
	owner
	// Digest is of the request.
	Digest string `json:"digest,omitempty"`
	// By names the Front that puts the run into the queue, in the key q.ID, until it is there. Counted is whether it is
	// in the ledger of the caller's token.
	By      string `json:"by,omitempty"`
	Counted bool   `json:"counted,omitempty"`
	// Message is the number of the run's message in the stream, in the key q.ID: no other starts it. Running is set while
	// a worker runs it.
	Message uint64           `json:"message,omitempty"`
	Running *engine.Delivery `json:"running,omitempty"`
	// Result is set in the key r.ID, or Object is the name of an object with the record.
	Result *engine.Response `json:"result,omitempty"`
	Object string           `json:"object,omitempty"`
}

const (
	// objectHeader names the object with the body of a message that is too large.
	objectHeader = "Brig-Object"
	sizeHeader   = "Brig-Object-Bytes" // its size
	// headroom is what a message needs besides its body, in bytes.
	headroom = 8 << 10
)

// errPermanent means that another attempt will fail as well.
var errPermanent = errors.New("it cannot be read")

// fits reports whether a text fits into a message. In a small store, so many of the runs that may wait must fit, too.
func (q *Queue) fits(text []byte) bool {
	most := q.nc.MaxPayload() - headroom
	if q.o.Store > 0 && q.o.Queued > 0 {
		most = min(most, max(headroom, q.o.Store/2/part/int64(q.o.Queued)))
	}
	return int64(len(text)) <= most
}

// pack returns a message with a body, which is put into the object store if it is too large.
func (q *Queue) pack(ctx context.Context, subject, name string, body []byte) (*nats.Msg, error) {
	m := &nats.Msg{Subject: subject, Data: body, Header: nats.Header{}}
	if q.fits(body) {
		return m, nil
	}
	m.Data = nil
	m.Header.Set(objectHeader, name)
	m.Header.Set(sizeHeader, strconv.Itoa(len(body)))
	_, err := q.files.PutBytes(ctx, name, body)
	return m, err
}

// unpack returns the body of a message.
func (q *Queue) unpack(ctx context.Context, h nats.Header, body []byte) ([]byte, error) {
	name := h.Get(objectHeader)
	if name == "" {
		return body, nil
	}
	body, err := q.files.GetBytes(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, fmt.Errorf("%w: its body is not in the object store", errPermanent)
	}
	return body, err
}

// drop removes an object that is no longer needed. What cannot be removed now stays, which costs only its space.
func (q *Queue) drop(ctx context.Context, from jetstream.ObjectStore, name string) {
	if err := from.Delete(ctx, name); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		q.o.Logger.Warn("an object of the queue is not removed", "object", name, "error", err)
	}
}

// store stores the result of a run if it is the first, and tries that for limit. It returns the record's revision, 0 if
// there is one already.
func (q *Queue) store(ctx context.Context, limit time.Duration, id string, r *record) (revision uint64, err error) {
	text, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	object := engine.NewID("r." + id) // a second result must not replace the object of the first
	err = trying(ctx, limit, len(text), func(ctx context.Context) (err error) {
		if revision, err = q.storeText(ctx, id, object, r, text); overfull(err) {
			q.makeRoom(ctx, len(text))
		}
		return err
	})
	return revision, err
}

// storeText stores a record, or puts it into the object store under this name if it is too large.
func (q *Queue) storeText(ctx context.Context, id, object string, r *record, text []byte) (revision uint64, err error) {
	key, large := "r."+id, ""
	if !q.fits(text) {
		large = object
		if _, err := q.large.PutBytes(ctx, large, text); err != nil {
			return 0, err
		}
		if text, err = json.Marshal(&record{owner: r.owner, Digest: r.Digest, Object: large}); err != nil {
			return 0, err
		}
	}
	revision, err = q.results.Create(ctx, key, text)
	if errors.Is(err, jetstream.ErrKeyExists) {
		if large != "" {
			q.drop(ctx, q.large, large)
		}
		return 0, nil
	}
	return revision, err
}

// find returns the record of a key, q.ID or r.ID; nil if there is none.
func (q *Queue) find(ctx context.Context, key string) (*record, error) {
	r, _, err := q.head(ctx, key)
	if err != nil || r == nil {
		return nil, err
	}
	if err := q.load(ctx, r); err != nil {
		return nil, fmt.Errorf("the result of %s: %w", key[2:], err)
	}
	return r, nil
}

// head returns the record of a key without what is in the object store, and its revision; nil if there is none.
func (q *Queue) head(ctx context.Context, key string) (*record, uint64, error) {
	e, err := q.results.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	r := &record{}
	if err := json.Unmarshal(e.Value(), r); err != nil {
		return nil, 0, fmt.Errorf("the record %s: %w", key, err)
	}
	return r, e.Revision(), nil
}

// load reads what is in the object store of a record.
func (q *Queue) load(ctx context.Context, r *record) error {
	if r.Object == "" {
		return nil
	}
	text, err := q.large.GetBytes(ctx, r.Object)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, r)
}

// unavailable returns the refusal of a request that the queue's server does not answer.
func unavailable(why error) *job.Refusal {
	return &job.Refusal{Code: "queue_unavailable", Layer: "queue",
		Message:   "the queue does not take or return runs at present: " + why.Error(),
		NextSteps: []string{"send the same request again in a few seconds, with the same Idempotency-Key if it has one"}}
}

// refused returns the response to a run that was not started.
func refused(id string, no *job.Refusal) *engine.Response {
	return &engine.Response{ID: id, Status: "refused", ExitCode: -1, Error: no}
}

// soon is how long a call of the server may take before it is tried again.
const soon = 5 * time.Second

// slow returns how much more time than a small message so many bytes may take: a second a MiB.
func slow(size int) time.Duration { return time.Duration(size>>20) * time.Second }

// trying calls do until it succeeds, with pauses, at most for limit. size is how many bytes do sends or reads: a large
// object has more time. It returns the last error. An error that is errPermanent is not tried again.
func trying(ctx context.Context, limit time.Duration, size int, do func(context.Context) error) error {
	end := time.Now().Add(limit + slow(size))
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		try, cancel := context.WithTimeout(ctx, min(soon+slow(size), time.Until(end)))
		err := do(try)
		cancel()
		if err == nil || errors.Is(err, errPermanent) || time.Until(end) < wait {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}
