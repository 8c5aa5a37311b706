package engine

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"

	"brig/brigd/audit"
	"brig/brigd/job"
	"brig/brigd/policy"
	"brig/brigd/share"
	"brig/brigd/token"
	"brig/brigd/workspace"
	"brig/internal/store"
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
	// BoxIdle is the time after which a living sandbox is frozen that no call uses and whose processes neither write nor
	// work; 0 is never.
	BoxIdle time.Duration
	// StoreFailed, if set, is called when a sandbox, snapshot or change set cannot be saved, restored or removed.
	StoreFailed func(id, what string, err error)
}

// complete checks Options, and sets what they leave out.
func (o *Options) complete() error {
	if len(o.TokenKeys) > 0 && o.Ledger == nil {
		return errors.New("engine: tokens need a ledger that counts their runs and knows the revoked ones; set " +
			"Options.Ledger")
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.MaxTimeout = cmp.Or(o.MaxTimeout, max(DefaultMaxTimeout, o.Timeout))
	o.MaxOutput = cmp.Or(o.MaxOutput, DefaultMaxOutput)
	o.SaveEvery = cmp.Or(o.SaveEvery, DefaultSaveEvery)
	if o.StoreFailed == nil {
		o.StoreFailed = func(string, string, error) {}
	}
	if o.JailFailed == nil {
		o.JailFailed = func(string, error) {}
	}
	if o.WarmFailed == nil {
		o.WarmFailed = func(string, error) {}
	}
	for _, p := range o.Policies {
		if err := p.Seal(); err != nil {
			return fmt.Errorf("engine: policy %q: %w", p.Name, err)
		}
	}
	for _, dir := range []string{o.Store, o.ChangesDir, o.ImageStore} {
		if err := store.Protect(dir); err != nil { // no run may write to it by a share above it
			return err
		}
	}
	return nil
}

// chain returns the Executors that every Job passes.
func (o *Options) chain(jails job.Executor) job.Executor {
	chain := job.Executor(last{jails})
	if o.Wrap != nil {
		chain = o.Wrap(chain)
	}
	if o.Audit != nil {
		chain = audit.Wrap(chain, o.Audit)
	}
	return chain
}
