package queue

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// bucket is a jetstream.KeyValue in memory.
type bucket struct {
	jetstream.KeyValue
	has map[string]entry
}

type entry struct {
	jetstream.KeyValueEntry
	text     []byte
	revision uint64
}

func (e entry) Value() []byte      { return e.text }
func (e entry) Revision() uint64   { return e.revision }
func (e entry) Created() time.Time { return time.Now() }

func (b *bucket) Get(_ context.Context, key string) (jetstream.KeyValueEntry, error) {
	if e, ok := b.has[key]; ok {
		return e, nil
	}
	return nil, jetstream.ErrKeyNotFound
}

func (b *bucket) Create(_ context.Context, key string, text []byte, _ ...jetstream.KVCreateOpt) (uint64, error) {
	if _, ok := b.has[key]; ok {
		return 0, jetstream.ErrKeyExists
	}
	b.has[key] = entry{text: text, revision: 1}
	return 1, nil
}

func (b *bucket) Update(_ context.Context, key string, text []byte, revision uint64) (uint64, error) {
	if b.has[key].revision != revision {
		return 0, jetstream.ErrKeyExists
	}
	b.has[key] = entry{text: text, revision: revision + 1}
	return revision + 1, nil
}

func (b *bucket) Purge(_ context.Context, key string, _ ...jetstream.KVDeleteOpt) error {
	delete(b.has, key)
	return nil
}

func (b *bucket) Put(_ context.Context, key string, text []byte) (uint64, error) {
	b.has[key] = entry{text: text, revision: b.has[key].revision + 1}
	return b.has[key].revision, nil
}

// objects is a jetstream.ObjectStore in memory, which cannot be read while broken is set.
type objects struct {
	jetstream.ObjectStore
	has    map[string][]byte
	broken error
}

func (o *objects) PutBytes(_ context.Context, name string, text []byte) (*jetstream.ObjectInfo, error) {
	o.has[name] = text
	return nil, nil
}

func (o *objects) GetBytes(_ context.Context, name string, _ ...jetstream.GetObjectOpt) ([]byte,
	error) {
	if text, ok := o.has[name]; ok || o.broken != nil {
		return text, o.broken
	}
	return nil, jetstream.ErrObjectNotFound
}

func (o *objects) List(context.Context, ...jetstream.ListObjectsOpt) (list []*jetstream.ObjectInfo, err error) {
	for name, text := range o.has {
		list = append(list, &jetstream.ObjectInfo{ObjectMeta: jetstream.ObjectMeta{Name: name}, Size: uint64(len(text))})
	}
	return list, o.broken
}

func (o *objects) Delete(_ context.Context, name string) error {
	delete(o.has, name)
	return nil
}

// stream has messages in memory.
type stream struct {
	jetstream.Stream
	has    map[uint64]bool
	counts map[string]uint64
}

func (s stream) GetMsg(_ context.Context, number uint64, _ ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	if s.has[number] {
		return &jetstream.RawStreamMsg{}, nil
	}
	return nil, jetstream.ErrMsgNotFound
}

// published collects messages. None is taken while broken is set.
type published struct {
	jetstream.JetStream
	list   []*nats.Msg
	broken error
}

func (p *published) PublishMsg(_ context.Context, m *nats.Msg, _ ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if p.broken != nil {
		return nil, p.broken
	}
	p.list = append(p.list, m)
	return &jetstream.PubAck{Sequence: uint64(len(p.list))}, nil
}

// nowhere is a connection's dialer that fails.
type nowhere struct{}

func (nowhere) Dial(string, string) (net.Conn, error) { return nil, errors.New("there is no server") }

// memory returns a queue without a server. Nothing fits into a message, and what is sent to the connection fails.
func memory(t *testing.T) (q *Queue, large, files *objects, sent *published) {
	t.Helper()
	large, files, sent = &objects{has: map[string][]byte{}}, &objects{has: map[string][]byte{}}, &published{}
	nc, err := nats.Connect("nats://localhost", nats.SetCustomDialer(nowhere{}), nats.RetryOnFailedConnect(true))
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	return &Queue{o: Options{Logger: slog.New(slog.DiscardHandler), MaxDeliver: 3}, nc: nc, js: sent,
		results: &bucket{has: map[string]entry{}}, large: large, files: files, ackWait: time.Hour}, large, files, sent
}
