// Package memory has a queue without a server, for tests.
package memory

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/internal/queue"
	"brig/brigd/internal/queue/record"
)

// Bucket is a jetstream.KeyValue in memory.
type Bucket struct {
	jetstream.KeyValue
	Has map[string]Entry
}

// Entry is one of a Bucket.
type Entry struct {
	jetstream.KeyValueEntry
	text     []byte
	revision uint64
}

// Value implements jetstream.KeyValueEntry.
func (e Entry) Value() []byte { return e.text }

// Revision implements jetstream.KeyValueEntry.
func (e Entry) Revision() uint64 { return e.revision }

// Created implements jetstream.KeyValueEntry.
func (e Entry) Created() time.Time { return time.Now() }

// Get implements jetstream.KeyValue.
func (b *Bucket) Get(_ context.Context, key string) (jetstream.KeyValueEntry, error) {
	if e, ok := b.Has[key]; ok {
		return e, nil
	}
	return nil, jetstream.ErrKeyNotFound
}

// Create implements jetstream.KeyValue.
func (b *Bucket) Create(_ context.Context, key string, text []byte, _ ...jetstream.KVCreateOpt) (uint64, error) {
	if _, ok := b.Has[key]; ok {
		return 0, jetstream.ErrKeyExists
	}
	b.Has[key] = Entry{text: text, revision: 1}
	return 1, nil
}

// Update implements jetstream.KeyValue.
func (b *Bucket) Update(_ context.Context, key string, text []byte, revision uint64) (uint64, error) {
	if b.Has[key].revision != revision {
		return 0, jetstream.ErrKeyExists
	}
	b.Has[key] = Entry{text: text, revision: revision + 1}
	return revision + 1, nil
}

// Purge implements jetstream.KeyValue.
func (b *Bucket) Purge(_ context.Context, key string, _ ...jetstream.KVDeleteOpt) error {
	delete(b.Has, key)
	return nil
}

// Put implements jetstream.KeyValue.
func (b *Bucket) Put(_ context.Context, key string, text []byte) (uint64, error) {
	b.Has[key] = Entry{text: text, revision: b.Has[key].revision + 1}
	return b.Has[key].revision, nil
}

// Objects is a jetstream.ObjectStore in memory, which cannot be read while Broken is set.
type Objects struct {
	jetstream.ObjectStore
	Has    map[string][]byte
	Broken error
}

// PutBytes implements jetstream.ObjectStore.
func (o *Objects) PutBytes(_ context.Context, name string, text []byte) (*jetstream.ObjectInfo, error) {
	o.Has[name] = text
	return nil, nil
}

// GetBytes implements jetstream.ObjectStore.
func (o *Objects) GetBytes(_ context.Context, name string, _ ...jetstream.GetObjectOpt) ([]byte,
	error) {
	if text, ok := o.Has[name]; ok || o.Broken != nil {
		return text, o.Broken
	}
	return nil, jetstream.ErrObjectNotFound
}

// List implements jetstream.ObjectStore.
func (o *Objects) List(context.Context, ...jetstream.ListObjectsOpt) (list []*jetstream.ObjectInfo, err error) {
	for name, text := range o.Has {
		list = append(list, &jetstream.ObjectInfo{ObjectMeta: jetstream.ObjectMeta{Name: name}, Size: uint64(len(text))})
	}
	return list, o.Broken
}

// Delete implements jetstream.ObjectStore.
func (o *Objects) Delete(_ context.Context, name string) error {
	delete(o.Has, name)
	return nil
}

// Stream has messages in memory.
type Stream struct {
	jetstream.Stream
	Has    map[uint64]bool
	Counts map[string]uint64
}

// GetMsg implements jetstream.Stream.
func (s Stream) GetMsg(_ context.Context, number uint64, _ ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	if s.Has[number] {
		return &jetstream.RawStreamMsg{}, nil
	}
	return nil, jetstream.ErrMsgNotFound
}

// Published collects messages. None is taken while Broken is set.
type Published struct {
	jetstream.JetStream
	List   []*nats.Msg
	Broken error
}

// PublishMsg implements jetstream.JetStream.
func (p *Published) PublishMsg(_ context.Context, m *nats.Msg, _ ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if p.Broken != nil {
		return nil, p.Broken
	}
	p.List = append(p.List, m)
	return &jetstream.PubAck{Sequence: uint64(len(p.List))}, nil
}

// nowhere is a connection's dialer that fails.
type nowhere struct{}

func (nowhere) Dial(string, string) (net.Conn, error) { return nil, errors.New("there is no server") }

// Queue is a queue without a server. Nothing fits into a message, and what is sent to the connection fails.
type Queue struct {
	*queue.Queue
	Records      *Bucket
	Large, Files *Objects
	Sent         *Published
}

// New returns a queue in memory.
func New() (*Queue, error) {
	nc, err := nats.Connect("nats://127.0.0.1", nats.SetCustomDialer(nowhere{}), nats.RetryOnFailedConnect(true))
	if err != nil {
		return nil, err
	}
	nc.Close()
	m := &Queue{Records: &Bucket{Has: map[string]Entry{}}, Large: &Objects{Has: map[string][]byte{}},
		Files: &Objects{Has: map[string][]byte{}}, Sent: &Published{}}
	m.Queue = &queue.Queue{Options: queue.Options{Logger: slog.New(slog.DiscardHandler), MaxDeliver: 3}, Conn: nc,
		JS: m.Sent, Bounds: &record.Bounds{Payload: nc.MaxPayload}, AckWait: time.Hour}
	m.Keep(m.Records, m.Large, m.Files)
	return m, nil
}
