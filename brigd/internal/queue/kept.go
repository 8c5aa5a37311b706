package queue

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/internal/front"
)

// part is how much of the server's store each of three may have: requests' bodies that are large, results, and results
// that are large. A quarter is left for the queue itself, so that what was accepted can run and leave it. One tenant
// has at most a quarter of a part.
const part = 4

// overfull reports whether an error is that a stream has as many bytes as it may have.
func overfull(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && strings.HasPrefix(api.Description, "maximum bytes")
}

// bytesOf returns how many bytes a part of the store may have; -1 is no bound.
func (o *Options) bytesOf() int64 {
	if o.Store <= 0 {
		return -1
	}
	return o.Store / part
}

// unknown is how many bytes of a part one tenant may have of a server whose size is not known.
const unknown = 1 << 30

// bytesOfTenant returns how many bytes of a part one tenant may have.
func (o *Options) bytesOfTenant() int64 {
	if o.Store <= 0 {
		return unknown
	}
	return o.bytesOf() / part
}

// learn finds how many bytes a server at an address keeps: what the brigd knew that has made the queue, or the
// account's limit. Without either it stays unknown.
func (q *Queue) learn(ctx context.Context) {
	if q.o.Store != 0 {
		return
	}
	if s, err := q.js.Stream(ctx, "OBJ_"+filesBucket); err == nil {
		q.o.Store = max(0, s.CachedInfo().Config.MaxBytes) * part
		return
	}
	info, err := q.js.AccountInfo(ctx)
	if err != nil {
		return // make meets the same error, and returns it
	}
	replicas := max(1, q.o.Replicas)
	if tier, ok := info.Tiers["R"+strconv.Itoa(replicas)]; ok { // its limit is for one of the replicas
		q.o.Store = max(0, tier.Limits.MaxStore)
	} else {
		q.o.Store = max(0, info.Limits.MaxStore) / int64(replicas)
	}
}

// kept remembers the results that this process has stored and that are fetched later, by tenant and the oldest first.
type kept struct {
	mu   sync.Mutex
	of   map[string][]keptResult
	sums map[string]int64
}

type keptResult struct {
	id       string
	size     int64
	revision uint64
}

// add notes a result, and returns the tenant's oldest ones that are too many then.
func (k *kept) add(tenant string, r keptResult, most int64) (over []keptResult) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		k.of, k.sums = map[string][]keptResult{}, map[string]int64{}
	}
	k.of[tenant] = append(k.of[tenant], r)
	for k.sums[tenant] += r.size; most > 0 && k.sums[tenant] > most && len(k.of[tenant]) > 1; {
		over = append(over, k.pop(tenant))
	}
	return over
}

// pop removes the oldest result of a tenant. The caller holds mu.
func (k *kept) pop(tenant string) keptResult {
	r := k.of[tenant][0]
	if k.of[tenant] = k.of[tenant][1:]; len(k.of[tenant]) == 0 {
		delete(k.of, tenant)
	}
	if k.sums[tenant] -= r.size; k.sums[tenant] == 0 {
		delete(k.sums, tenant)
	}
	return r
}

// largest removes the oldest result of the tenant who has the most.
func (k *kept) largest() (r keptResult, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	of := ""
	for tenant, n := range k.sums {
		if of == "" || n > k.sums[of] {
			of = tenant
		}
	}
	if len(k.of[of]) == 0 {
		return r, false
	}
	return k.pop(of), true
}

// keep notes a result that stays, and lets the tenant's oldest ones go.
func (q *Queue) keep(tenant string, r keptResult) {
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	for _, old := range q.kept.add(tenant, r, q.o.bytesOfTenant()) {
		q.letGo(ctx, old)
	}
}

// makeRoom lets results go until there is room for so many bytes: those of the tenant with the most first, and where
// none is known, since they are of an earlier process, the oldest.
func (q *Queue) makeRoom(ctx context.Context, size int) {
	for freed := int64(0); freed <= int64(size); {
		r, ok := q.kept.largest()
		if !ok {
			if r, ok = q.oldest(ctx); !ok {
				return
			}
		}
		q.letGo(ctx, r)
		freed += r.size
	}
}

// oldest returns the oldest result that is stored and was not let go.
func (q *Queue) oldest(ctx context.Context) (r keptResult, ok bool) {
	s, err := q.js.Stream(ctx, "KV_"+resultsBucket)
	if err != nil {
		return r, false
	}
	for seq := uint64(1); ; {
		m, err := s.GetMsg(ctx, seq, jetstream.WithGetMsgSubject("$KV."+resultsBucket+".r.*"))
		if err != nil {
			return r, false
		}
		var old record
		if err := json.Unmarshal(m.Data, &old); err == nil && (old.Object != "" || len(m.Data) > 1024) {
			id := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
			return keptResult{id: id, size: int64(len(m.Data)), revision: m.Sequence}, true
		}
		seq = m.Sequence + 1
	}
}

// letGo replaces a result by one that tells that it is gone: the run must not start again.
func (q *Queue) letGo(ctx context.Context, r keptResult) {
	key := "r." + r.id
	old, revision, err := q.head(ctx, key)
	if err != nil || old == nil || revision != r.revision {
		return // it is another by now
	}
	text, err := json.Marshal(&record{owner: old.owner, Digest: old.Digest, Result: refused(r.id, gone)})
	if err == nil {
		_, err = q.results.Update(ctx, key, text, revision)
	}
	if overfull(err) { // there is no room for that, either
		var s jetstream.Stream
		if s, err = q.js.Stream(ctx, "KV_"+resultsBucket); err == nil {
			err = s.DeleteMsg(ctx, revision)
		}
		if err == nil {
			_, err = q.results.Create(ctx, key, text)
		}
	}
	if err != nil {
		q.o.Logger.Warn("a result that is to make room is not removed", "run", r.id, "error", err)
		return
	}
	if old.Object != "" {
		q.drop(ctx, q.large, old.Object)
	}
}

// waitingBytes returns how many bytes of large bodies of a tenant's are in the object store. Their names end in the
// tenant.
func (q *Queue) waitingBytes(ctx context.Context, tenant string) (n int64, err error) {
	list, err := q.files.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return 0, nil
	}
	for _, o := range list {
		if strings.HasSuffix(o.Name, "."+tenant) {
			n += int64(o.Size)
		}
	}
	return n, err
}

// bodyName returns the name of the object with the body of a run.
func bodyName(id, tenant string) string { return "job." + id + "." + tenant }

// idOf returns the id of a run in the name of an object, or "".
func idOf(name string) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(name, "job."), ".")
	if !front.ID.MatchString(id) {
		return ""
	}
	return id
}
