package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/engine"
	"brig/brigd/internal/queue/retry"
)

// Bucket has the records of runs.
const Bucket = "BRIG_RESULTS"

// Results are the results of runs. The first of a run counts. Each tenant has a part of their store, and the oldest go
// where there is no room.
type Results struct {
	*Keys
	js     jetstream.JetStream
	large  jetstream.ObjectStore // of results, which are kept as long as their records
	bounds *Bounds
	log    *slog.Logger
	kept   kept
}

// NewResults returns the results of a server, whose records and large objects are in these stores.
func NewResults(js jetstream.JetStream, keys *Keys, large jetstream.ObjectStore, bounds *Bounds,
	log *slog.Logger) *Results {
	return &Results{Keys: keys, js: js, large: large, bounds: bounds, log: log}
}

// Find returns the record of a key with all that belongs to it; nil if there is none.
func (s *Results) Find(ctx context.Context, key string) (*Record, error) {
	r, _, err := s.Head(ctx, key)
	if err != nil || r == nil {
		return nil, err
	}
	if err := s.Load(ctx, r); err != nil {
		return nil, fmt.Errorf("the result of %s: %w", key[2:], err)
	}
	return r, nil
}

// Load reads what is in the object store of a record.
func (s *Results) Load(ctx context.Context, r *Record) error {
	if r.Object == "" {
		return nil
	}
	text, err := s.large.GetBytes(ctx, r.Object)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, r)
}

// Store stores the result of a run if it is the first, and tries that for limit. It returns the record's revision, 0 if
// there is one already.
func (s *Results) Store(ctx context.Context, limit time.Duration, id string, r *Record) (revision uint64, err error) {
	text, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	object := engine.NewID(ResultKey(id)) // a second result must not replace the object of the first
	err = retry.Do(ctx, limit, len(text), func(ctx context.Context) (err error) {
		if revision, err = s.storeText(ctx, id, object, r, text); Overfull(err) {
			s.makeRoom(ctx, len(text))
		}
		return err
	})
	return revision, err
}

// storeText stores a record, or puts it into the object store under this name if it is too large.
func (s *Results) storeText(ctx context.Context, id, object string, r *Record, text []byte) (revision uint64,
	err error) {
	large := ""
	if !s.bounds.Fit(text) {
		large = object
		if _, err := s.large.PutBytes(ctx, large, text); err != nil {
			return 0, err
		}
		if text, err = json.Marshal(&Record{Owner: r.Owner, Digest: r.Digest, Object: large}); err != nil {
			return 0, err
		}
	}
	revision, err = s.bucket.Create(ctx, ResultKey(id), text)
	if errors.Is(err, jetstream.ErrKeyExists) {
		if large != "" {
			drop(ctx, s.large, large, s.log)
		}
		return 0, nil
	}
	return revision, err
}

// forgotten is the record of a run whose result was delivered.
var forgotten = []byte(`{"dropped":true}`)

// Forget replaces the delivered result of a run without a key by a tombstone, which has no owner who could look it up,
// so that a run that is delivered again does not start again. Nobody waits for the server; a result that it does not
// remove is kept as long as those with a key. object is that of the result, or "".
func (s *Results) Forget(nc *nats.Conn, id string, revision uint64, object string) {
	m := &nats.Msg{Subject: "$KV." + Bucket + "." + ResultKey(id), Data: forgotten, Header: nats.Header{
		jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(revision, 10)}}}
	if err := nc.PublishMsg(m); err != nil {
		s.log.Warn("a result that was delivered is not removed yet", "run", id, "error", err)
	} else if object != "" {
		go drop(context.Background(), s.large, object, s.log)
	}
}

// Keep notes a result that stays, and lets the tenant's oldest ones go.
func (s *Results) Keep(tenant, id string, r *Record, revision uint64) {
	text, _ := json.Marshal(r) // Store has done it
	ctx, cancel := context.WithTimeout(context.Background(), retry.Soon)
	defer cancel()
	for _, old := range s.kept.add(tenant, keptResult{id, int64(len(text)), revision}, s.bounds.Tenant()) {
		s.letGo(ctx, old)
	}
}

// makeRoom lets results go until there is room for so many bytes: those of the tenant with the most first, and where
// none is known, since they are of an earlier process, the oldest.
func (s *Results) makeRoom(ctx context.Context, size int) {
	for freed := int64(0); freed <= int64(size); {
		r, ok := s.kept.largest()
		if !ok {
			if r, ok = s.oldest(ctx); !ok {
				return
			}
		}
		s.letGo(ctx, r)
		freed += r.size
	}
}

// oldest returns the oldest result that is stored and was not let go.
func (s *Results) oldest(ctx context.Context) (r keptResult, ok bool) {
	all, err := s.js.Stream(ctx, "KV_"+Bucket)
	if err != nil {
		return r, false
	}
	for seq := uint64(1); ; {
		m, err := all.GetMsg(ctx, seq, jetstream.WithGetMsgSubject("$KV."+Bucket+".r.*"))
		if err != nil {
			return r, false
		}
		var old Record
		if err := json.Unmarshal(m.Data, &old); err == nil && (old.Object != "" || len(m.Data) > 1024) {
			id := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
			return keptResult{id: id, size: int64(len(m.Data)), revision: m.Sequence}, true
		}
		seq = m.Sequence + 1
	}
}

// letGo replaces a result by one that tells that it is gone: the run must not start again.
func (s *Results) letGo(ctx context.Context, r keptResult) {
	key := ResultKey(r.id)
	old, revision, err := s.Head(ctx, key)
	if err != nil || old == nil || revision != r.revision {
		return // it is another by now
	}
	gone := &Record{Owner: old.Owner, Digest: old.Digest, Result: Refused(r.id, Gone)}
	_, err = s.Update(ctx, key, gone, revision)
	if Overfull(err) { // there is no room for that, either
		var all jetstream.Stream
		if all, err = s.js.Stream(ctx, "KV_"+Bucket); err == nil {
			err = all.DeleteMsg(ctx, revision)
		}
		if err == nil {
			_, err = s.Create(ctx, key, gone)
		}
	}
	if err != nil {
		s.log.Warn("a result that is to make room is not removed", "run", r.id, "error", err)
		return
	}
	if old.Object != "" {
		drop(ctx, s.large, old.Object, s.log)
	}
}
