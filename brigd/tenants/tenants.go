// Package tenants keeps the change sets of runs by owner: each owner has a store of package changes, and an account,
// which several owners may share, has bounds.
package tenants

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"brig/changes"
	"brig/internal/sys"
	"brig/internal/words"
)

// Bounds of the change sets of one account (engine.Caller.Key). The oldest sets that exceed them are removed.
const (
	MaxChanges      = 100
	MaxChangesBytes = 1 << 30
	maxChangesAge   = 30 * 24 * time.Hour
	maxTenants      = 10_000
	sweepEvery      = 24 * time.Hour
)

// Owner identifies the change sets in one directory: those of an agent, made with one token or with none.
type Owner struct {
	Agent   string   `json:"agent"`
	Chain   []string `json:"chain,omitempty"` // the ids of the token's blocks
	Account string   `json:"account"`
}

// Tenants keeps change sets by owner, each in a store of its own: DIR/HASH, with the owner in DIR/HASH.json. A store
// is removed when its last user releases it and it is empty.
type Tenants struct {
	dir string

	mu    sync.Mutex
	all   map[string]Owner // by the hash
	busy  map[string]int
	swept time.Time // when the sets of all owners were looked at
}

func (o Owner) hash() string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{o.Agent, o.Account}, o.Chain...), "\x00")))
	return hex.EncodeToString(sum[:16])
}

// Open reads the list of owners from a directory. The directory belongs to brigd alone (changes.Open).
func Open(dir string) (*Tenants, error) {
	if dir == "" {
		var err error
		if dir, err = changes.DefaultDir(); err != nil {
			return nil, err
		}
		dir = filepath.Join(dir, "brigd")
	}
	dir, err := sys.Abs(dir)
	if err != nil {
		return nil, err
	}
	store, err := changes.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	t := &Tenants{dir: dir, all: map[string]Owner{}, busy: map[string]int{}}
	list, err := filepath.Glob(filepath.Join(dir, "*.json"))
	for _, file := range list {
		var o Owner
		text, rerr := os.ReadFile(file)
		if rerr == nil {
			rerr = json.Unmarshal(text, &o)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if rerr == nil && o.hash() != name {
			rerr = errors.New("it has the name of another owner")
		}
		if rerr != nil {
			return nil, fmt.Errorf("%s is not what brigd has written: %w; remove it, and the directory beside it",
				words.Quote(file), rerr)
		}
		t.all[name] = o
	}
	return t, errors.Join(err, t.sweep())
}

// sweep removes the sets of all owners that are too old: an owner may never run anything again. It is called at the
// start, and once a day when a set is kept.
func (t *Tenants) sweep() error {
	t.mu.Lock()
	due := time.Since(t.swept) > sweepEvery
	if due {
		t.swept = time.Now()
	}
	t.mu.Unlock()
	if !due {
		return nil
	}
	var errs []error
	for _, o := range t.List(func(Owner) bool { return true }) {
		store, done, err := t.Use(o, false)
		if store != nil {
			_, err = store.Expire()
			done()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Use opens an owner's store. If it is missing, Use creates it if make is set, and otherwise returns a nil store.
func (t *Tenants) Use(o Owner, make bool) (store *changes.Store, done func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name := o.hash()
	if _, ok := t.all[name]; !ok {
		if !make {
			return nil, nil, nil
		}
		if len(t.all) >= maxTenants {
			return nil, nil, fmt.Errorf("change sets of %d owners are kept already; have the operator apply or remove some",
				maxTenants)
		}
		text, err := json.Marshal(o)
		file := filepath.Join(t.dir, name+".json")
		if err == nil {
			err = os.WriteFile(file+".new", text, 0o600)
		}
		if err == nil {
			err = os.Rename(file+".new", file) // a kill leaves no part of it under its name
		}
		if err != nil {
			return nil, nil, err
		}
		t.all[name] = o
	}
	if store, err = changes.Open(filepath.Join(t.dir, name)); err != nil {
		return nil, nil, err
	}
	store.Limits = changes.Limits{Age: maxChangesAge, Count: MaxChanges, Bytes: MaxChangesBytes}
	t.busy[name]++
	return store, func() { t.release(name, store) }, nil
}

// Dir returns the directory.
func (t *Tenants) Dir() string { return t.dir }

// release closes a store. If it is empty and has no other user, release removes it.
func (t *Tenants) release(name string, store *changes.Store) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sets, err := store.List()
	_ = store.Close() // it was read, or written durably
	if t.busy[name]--; t.busy[name] > 0 || len(sets) > 0 || err != nil {
		return
	}
	delete(t.busy, name)
	delete(t.all, name)
	if os.RemoveAll(filepath.Join(t.dir, name)) == nil { // otherwise the next start finds it again
		_ = os.Remove(filepath.Join(t.dir, name+".json"))
	}
}

// List returns the owners that a function selects, in a fixed order.
func (t *Tenants) List(want func(Owner) bool) (list []Owner) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(t.all)) {
		if want(t.all[name]) {
			list = append(list, t.all[name])
		}
	}
	return list
}

// Trim removes the oldest sets of an account that exceed its bounds. The Limits of a store do so for each owner.
func (t *Tenants) Trim(account string) error {
	errs := []error{t.sweep()}
	owners := t.List(func(o Owner) bool { return o.Account == account })
	if len(owners) < 2 {
		return errors.Join(errs...)
	}
	var sets []*changes.Set
	for _, o := range owners {
		store, done, err := t.Use(o, false)
		if store == nil {
			errs = append(errs, err)
			continue
		}
		defer done()
		list, err := store.List()
		sets, errs = append(sets, list...), append(errs, err)
	}
	slices.SortFunc(sets, func(a, b *changes.Set) int { return b.Run.Ended.Compare(a.Run.Ended) })
	bytes := int64(0)
	for i, s := range sets {
		if bytes += s.Layer.Size + s.Table.Size; i > 0 && (i >= MaxChanges || bytes > MaxChangesBytes) && !s.Interrupted {
			errs = append(errs, s.Discard(false))
		}
	}
	return errors.Join(errs...)
}
