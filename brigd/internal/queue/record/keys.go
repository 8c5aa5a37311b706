package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/engine"
)

// Record is what a bucket knows of a run. One without Result and Object in the key r.ID is of a run whose result was
// delivered.
type Record struct {
	Owner
	// Digest is of the request.
	Digest string `json:"digest,omitempty"`
	// By names the front that puts the run into the queue, in the key q.ID, until it is there. Counted is whether it is
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

// AskedKey returns the key of who has asked for a run whose result is fetched later.
func AskedKey(id string) string { return "q." + id }

// ResultKey returns the key of the first result of a run.
func ResultKey(id string) string { return "r." + id }

// leftKey is the key of how often a message was left in the queue without a try.
func leftKey(number uint64) string { return "n." + strconv.FormatUint(number, 10) }

// Keys are the records of runs by key.
type Keys struct{ bucket jetstream.KeyValue }

// NewKeys returns the records in a bucket.
func NewKeys(bucket jetstream.KeyValue) *Keys { return &Keys{bucket} }

// Raced reports whether an error is that another has changed or made the record meanwhile.
func Raced(err error) bool {
	return errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch)
}

// Create makes a record that is not there yet, and returns its revision.
func (k *Keys) Create(ctx context.Context, key string, r *Record) (revision uint64, err error) {
	text, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	return k.bucket.Create(ctx, key, text)
}

// Update replaces the record of a revision, 0 if there is none yet, and returns the next one.
func (k *Keys) Update(ctx context.Context, key string, r *Record, revision uint64) (uint64, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	return k.bucket.Update(ctx, key, text, revision)
}

// Remove removes what is known of a key. With a revision, it does so only if that is the last one.
func (k *Keys) Remove(ctx context.Context, key string, revision uint64) error {
	if revision == 0 {
		return k.bucket.Purge(ctx, key)
	}
	return k.bucket.Purge(ctx, key, jetstream.LastRevision(revision))
}

// Head returns the record of a key without what is in the object store, and its revision; nil if there is none.
func (k *Keys) Head(ctx context.Context, key string) (*Record, uint64, error) {
	r, revision, _, err := k.Look(ctx, key)
	return r, revision, err
}

// Look is Head, and returns when the record was made as well, by the server's clock.
func (k *Keys) Look(ctx context.Context, key string) (r *Record, revision uint64, made time.Time, err error) {
	e, err := k.bucket.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, 0, made, nil
	}
	if err != nil {
		return nil, 0, made, err
	}
	r = &Record{}
	if err := json.Unmarshal(e.Value(), r); err != nil {
		return nil, 0, made, fmt.Errorf("the record %s: %w", key, err)
	}
	return r, e.Revision(), e.Created(), nil
}

// Left returns how often a message was left in the queue.
func (k *Keys) Left(ctx context.Context, number uint64) uint64 {
	e, err := k.bucket.Get(ctx, leftKey(number))
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseUint(string(e.Value()), 10, 64) // 0 if it is none
	return n
}

// SetLeft notes how often a message was left in the queue: that is no try.
func (k *Keys) SetLeft(ctx context.Context, number, times uint64) error {
	_, err := k.bucket.PutString(ctx, leftKey(number), strconv.FormatUint(times, 10))
	return err
}
