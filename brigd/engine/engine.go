package engine

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"brig/brigd/audit"
	"brig/brigd/job"
	"brig/brigd/lang"
	"brig/brigd/policy"
	"brig/brigd/share"
	"brig/brigd/token"
	"brig/brigd/workspace"
	"brig/internal/sys"
	"brig/nsjail"
)

// Options configure an Engine. The zero value is for one trusted caller: no policies, no audit log, no tokens, and
// defaults for the rest.
type Options struct {
	// Runner configures the nsjail.Runner that makes the jails.
	Runner nsjail.RunnerOptions
	// Base is the Spec that every request adds to: limits, system-call filter, optional mechanisms. Its Args and Mounts
	// are ignored.
	Base nsjail.Spec
	// Timeout and Memory apply to a request that sets none. 0 means DefaultTimeout, and no limit on memory.
	Timeout nsjail.Duration
	Memory  nsjail.Bytes
	// MaxTimeout is how long any run may take, even if a request asks for more and policies allow it; 0 is
	// DefaultMaxTimeout, or Timeout if that is more.
	MaxTimeout nsjail.Duration
	// MaxOutput bounds how much of each stream is returned. A request may ask for less. 0 means DefaultMaxOutput.
	MaxOutput nsjail.Bytes
	// Policies must all allow a run. New seals them (policy.Seal): from then on they must not be modified.
	Policies []*policy.Policy
	// TokenKeys are the keys that capability tokens are signed with, and Ledger counts their runs.
	TokenKeys []ed25519.PublicKey
	Ledger    *token.Ledger
	// Audit is the log that every run is written to, before and after; nil for none.
	Audit *audit.Log
	// Wrap, if set, wraps the Runner, for metrics and traces. The audit log then wraps the result.
	Wrap func(job.Executor) job.Executor
	// Warm lists languages with interpreters that are started before their runs are known. Prestart starts them.
	Warm []Warm
	// WarmFailed, if set, is called when interpreters of a language cannot be replaced by those with other limits.
	WarmFailed func(language string, err error)
	// JailFailed, if set, is called when this machine could not make the jail of a run. The error has paths of the host
	// and the remedy, which are the operator's: the answer has neither.
	JailFailed func(run string, err error)
	// Shares are directories of the host that requests may mount.
	Shares []share.Share
	// Images are names of images that requests may name as their root, and ImageStore is the store that has them; "" is
	// image.DefaultStore. New fails if one is missing.
	Images     []string
	ImageStore string
	// Interpreters replace the programs that were found for their languages. New fails if one names a missing share.
	Interpreters []Interpreter
	// ChangesDir is where change sets of shares in mode cow are kept; "" is brigd below changes.DefaultDir. AllowApply
	// lets callers apply and remove theirs.
	ChangesDir string
	AllowApply bool
	// Sandboxes bounds the work areas; Make is the engine's own.
	Sandboxes workspace.StoreOptions
	// Store is a directory that keeps sandboxes and snapshots; "" keeps them in memory only. A sandbox that has changed is
	// saved every SaveEvery (DefaultSaveEvery) and by Close.
	Store     string
	SaveEvery time.Duration
	// Pool, if set, keeps the snapshots, in place of Store and of memory.
	Pool Pool
	// StoreFailed, if set, is called when a sandbox, snapshot or change set cannot be saved, restored or removed.
	StoreFailed func(id, what string, err error)
}

// Defaults of Options.
const (
	DefaultTimeout     = nsjail.Duration(time.Minute)
	DefaultMaxTimeout  = nsjail.Duration(time.Hour)
	DefaultMaxOutput   = nsjail.Bytes(1 << 20)   // of each stream, in a Response
	DefaultOutputLimit = nsjail.Bytes(256 << 20) // both streams together; more ends the run
)

// Engine runs requests. Its methods may be called from several goroutines.
type Engine struct {
	opts   Options
	runner *nsjail.Runner
	jails  job.Executor // on runner
	chain  job.Executor
	langs  *lang.Languages
	boxes  *workspace.Store
	shares *share.Set
	images map[string]*root // by full name

	tenants *tenants // nil without shares in mode cow
	leases  *leases
	grants  grants

	shelf   *shelf // nil without a store
	snaps   snapshots
	running sync.Map // the ids of sandboxes, by the *nsjail.Cmd in them

	warm    atomic.Pointer[map[string]*parked] // by language; nil before Prestart
	changes sync.WaitGroup                     // parked interpreters that are being replaced
}

// New returns an Engine. The caller must call Close, and closes the Ledger and the Log afterwards.
func New(o Options) (*Engine, error) {
	if len(o.TokenKeys) > 0 && o.Ledger == nil {
		return nil, errors.New("engine: tokens need a ledger that counts their runs and knows the revoked ones; set " +
			"Options.Ledger")
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.MaxTimeout = cmp.Or(o.MaxTimeout, max(DefaultMaxTimeout, o.Timeout))
	o.MaxOutput = cmp.Or(o.MaxOutput, DefaultMaxOutput)
	o.SaveEvery = cmp.Or(o.SaveEvery, DefaultSaveEvery)
	for _, p := range o.Policies {
		if err := p.Seal(); err != nil {
			return nil, fmt.Errorf("engine: policy %q: %w", p.Name, err)
		}
	}
	for _, dir := range []string{o.Store, o.ChangesDir, o.ImageStore} {
		if err := sys.AddStore(dir); err != nil { // no run may write to it by a share above it
			return nil, err
		}
	}
	r, err := nsjail.NewRunnerWith(o.Runner)
	if err != nil {
		return nil, err
	}
	e := &Engine{opts: o, runner: r, jails: job.On(r), grants: grants{known: map[[sha256.Size]byte]*Grant{}}}
	if e.shares, err = share.Open(o.Shares); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	if slices.ContainsFunc(o.Shares, func(s share.Share) bool { return s.Mode == "cow" }) {
		if e.tenants, err = openTenants(o.ChangesDir); err != nil {
			return nil, errors.Join(fmt.Errorf("the store of change sets: %w", err), r.Close(), e.shares.Close())
		}
	}
	e.chain = last{e}
	if o.Wrap != nil {
		e.chain = o.Wrap(e.chain)
	}
	if o.Audit != nil {
		e.chain = audit.Wrap(e.chain, o.Audit)
	}
	if err := cmp.Or(e.findLanguages(), e.openImages()); err != nil {
		return nil, errors.Join(err, r.Close(), e.shares.Close(), e.closeImages())
	}
	e.leases = newLeases(o.Ledger)
	o.Sandboxes.Make, o.Sandboxes.Removed = e.makeVolume, e.removed
	o.Sandboxes.Closing = func(b *workspace.Sandbox) {
		if e.shelf != nil {
			e.shelf.save(b)
		}
	}
	e.boxes = workspace.NewStore(o.Sandboxes)
	e.snaps.all = map[string]*snapshot{}
	if o.Store != "" {
		if err := e.openShelf(); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	return e, nil
}

// Close ends all runs, deletes all sandboxes and closes the Runner.
func (e *Engine) Close() error {
	e.leases.close()
	e.shelf.stop()
	err := errors.Join(e.boxes.Close(), e.closeSnapshots(), e.shelf.close(), e.runner.Close(), e.shares.Close(),
		e.closeImages())
	e.changes.Wait()
	return err
}

func (e *Engine) makeVolume(size, inodes int64) (workspace.Volume, error) {
	return e.runner.NewVolume(nsjail.VolumeOptions{Size: nsjail.Bytes(size), Inodes: inodes,
		Dirs: []string{"input", "work", "output"}})
}

// NewID returns a random name with 130 random bits, which cannot be guessed.
func NewID(kind string) string {
	return kind + "_" + strings.ToLower(rand.Text())
}
