package record

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/internal/front"
	"brig/brigd/internal/queue/retry"
)

const (
	objectHeader = "Brig-Object"       // names the object with the body of a message that is too large
	sizeHeader   = "Brig-Object-Bytes" // its size
)

// Bodies are those of runs: in their messages, or as objects that a tenant has a part of the store for.
type Bodies struct {
	files  jetstream.ObjectStore
	bounds *Bounds
	log    *slog.Logger
}

// NewBodies returns the bodies whose objects are in a store.
func NewBodies(files jetstream.ObjectStore, bounds *Bounds, log *slog.Logger) *Bodies {
	return &Bodies{files, bounds, log}
}

// Pack returns the message of a run, whose body is put into the object store if it is too large.
func (b *Bodies) Pack(ctx context.Context, subject, id, tenant string, body []byte) (*nats.Msg, error) {
	m := &nats.Msg{Subject: subject, Data: body, Header: nats.Header{}}
	if b.bounds.Fit(body) {
		return m, nil
	}
	name := bodyName(id, tenant)
	m.Data = nil
	m.Header.Set(objectHeader, name)
	m.Header.Set(sizeHeader, strconv.Itoa(len(body)))
	_, err := b.files.PutBytes(ctx, name, body)
	return m, err
}

// Unpack returns the body of a message.
func (b *Bodies) Unpack(ctx context.Context, h nats.Header, body []byte) ([]byte, error) {
	name := h.Get(objectHeader)
	if name == "" {
		return body, nil
	}
	body, err := b.files.GetBytes(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, fmt.Errorf("%w: its body is not in the object store", retry.ErrPermanent)
	}
	return body, err
}

// Room reports whether a body may be stored: one tenant has a quarter of the room for large ones. Their names end in
// the tenant.
func (b *Bodies) Room(ctx context.Context, tenant string, body []byte) (bool, error) {
	if b.bounds.Fit(body) {
		return true, nil
	}
	list, err := b.files.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return false, err
	}
	has := int64(len(body))
	for _, o := range list {
		if strings.HasSuffix(o.Name, "."+tenant) {
			has += int64(o.Size)
		}
	}
	return has <= b.bounds.Tenant(), nil
}

// Withdraw removes what Pack has stored of a body.
func (b *Bodies) Withdraw(ctx context.Context, id, tenant string, body []byte) {
	if !b.bounds.Fit(body) {
		drop(ctx, b.files, bodyName(id, tenant), b.log)
	}
}

// Drop removes the object of a message that has left the queue.
func (b *Bodies) Drop(ctx context.Context, h nats.Header) {
	if name := h.Get(objectHeader); name != "" {
		drop(ctx, b.files, name, b.log)
	}
}

// SizeOf returns how many bytes the object of a message has; 0 if there is none.
func SizeOf(h nats.Header) int {
	size, _ := strconv.Atoi(h.Get(sizeHeader))
	return size
}

// MoveObject moves the object of a message to another message, if it has one: Drop of the first keeps it then.
func MoveObject(from, to nats.Header) {
	if name := from.Get(objectHeader); name != "" {
		to.Set(objectHeader, name)
		from.Del(objectHeader)
	}
}

// bodyName returns the name of the object with the body of a run.
func bodyName(id, tenant string) string { return "job." + id + "." + tenant }

// IDOf returns the id of a run in the name of its message's object, or "".
func IDOf(h nats.Header) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(h.Get(objectHeader), "job."), ".")
	if !front.ID.MatchString(id) {
		return ""
	}
	return id
}

// drop removes an object that is no longer needed. What cannot be removed now stays, which costs only its space.
func drop(ctx context.Context, from jetstream.ObjectStore, name string, log *slog.Logger) {
	if err := from.Delete(ctx, name); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		log.Warn("an object of the queue is not removed", "object", name, "error", err)
	}
}
