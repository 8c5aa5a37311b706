package nsjail

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"brig/internal/program"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"
)

// kind is what Specs must have in common to share a template. profile is the content of the filter's file, which may
// change; nil if the Spec names no file.
type kind struct {
	key     spec.Spec
	profile []byte
	living  bool // they are boxes
}

// kindOf returns the kind of a Spec.
func kindOf(s *spec.Spec) (k *kind, err error) {
	k = &kind{key: plan.PrefixSpec(s)}
	if spec.FileProfile(s.Seccomp) {
		k.profile, err = host.ReadProfile(s.Seccomp)
	}
	return k, err
}

// planTemplate is the planned and encoded prefix that all Specs of a kind share.
type planTemplate struct {
	kind
	prefix *plan.Prefix
	file   *launcher.File
	group  string                 // the keeper's control groups, if the prefix depends on them
	digest func() ([]byte, error) // of the prefix
	mounts int64                  // warmRoot.mounts.Changes before the Host was looked at

	starts int // starts without a parked jail

	uses int  // current starts that use file and the sources
	gone bool // no other start may use it
}

// newPlanTemplate plans and encodes the prefix for a Spec and a Host.
func newPlanTemplate(s *spec.Spec, h *host.Host, m *plan.Mode) (*planTemplate, error) {
	s = s.Clone() // the caller may change its own
	prefix, err := plan.NewPrefix(s, h, m)
	if err != nil {
		return nil, err
	}
	p := prefix.Plan
	t := &planTemplate{kind: kind{plan.PrefixSpec(s), h.Profile, m.Box}, group: ownGroups(s), prefix: prefix,
		digest: sync.OnceValues(func() ([]byte, error) { return digestOf(p.Prefix, p.Request()) })}
	if t.file, err = launcher.NewFile(p.Prefix, p.Request()); err != nil {
		return nil, err
	}
	return t, nil
}

// ownGroups returns the keeper's own control groups if the Spec's jails get a group below them, and "" otherwise.
func ownGroups(s *spec.Spec) string {
	if !host.WantsGroup(s) {
		return ""
	}
	return host.ReadText("/proc/self/cgroup")
}

// fits reports whether jails of a kind can have this prefix.
func (t *planTemplate) fits(k *kind) bool {
	return t.living == k.living && sameSpec(&t.key, &k.key) && t.group == ownGroups(&k.key) &&
		bytes.Equal(t.profile, k.profile)
}

func sameSpec(a, b *spec.Spec) bool { return reflect.DeepEqual(a, b) }

// errStale means that the Spec's paths no longer lead to the files that the prefix shows.
var errStale = errors.New("the sources of the jail's prefix were replaced")

// sameSources reports whether the host files that the prefix uses are unchanged.
func (t *planTemplate) sameSources(h *host.Host) bool {
	if t.prefix.Plan.Host.ImageComplete && !h.ImageComplete { // a place in it has been removed
		return false
	}
	if !slices.Equal(t.prefix.Plan.Host.ImageTops, h.ImageTops) {
		return false
	}
	for id, was := range t.prefix.Plan.Host.Sources.All() {
		if now := h.Sources.At(id); now == nil || was.Content != now.Content || was.Copied != now.Copied ||
			now.Copied && was.Mode != now.Mode {
			return false
		}
	}
	for _, m := range t.prefix.Plan.Passed {
		was, now := t.prefix.Plan.Host.Sources.At(m.Source), h.Sources.At(m.Source)
		if now == nil || was.Dev != now.Dev || was.Ino != now.Ino || was.UID != now.UID || was.GID != now.GID {
			return false
		}
	}
	return true
}

// run returns the Host for one run: the template's facts with the sources, variables and guard of the run. until is
// attempt.setUpEnd, and mounts is warmRoot.mounts.Changes now.
func (t *planTemplate) run(ctx context.Context, until time.Time, s *spec.Spec, mounts int64) (*host.Host, error) {
	return host.Again(ctx, until, s, t.prefix.Plan.Host, mounts == t.mounts)
}

// preparable reports whether jails of this Spec can start in a prepared root. The prepared root has its own network
// namespace and only the default /etc. With an image the mounts are in the prefix, which many jails share, but
// protected paths come and go, and each jail has its own directory on disk for changes.
func preparable(s *spec.Spec) bool {
	return s.Tier == "" && s.Net != spec.NetHost && len(s.Etc) == 0 &&
		(plan.MountsComeLater(s) || len(s.Protect) == 0 && !s.MayUseDisk())
}

func wantsPool(s *spec.Spec) bool {
	return (s.Net == "" || s.Net == spec.NetLoopback) && len(s.Publish) == 0
}

// prepareMissing returns the reason why this machine cannot have a prepared root, or "".
func prepareMissing(h *host.Host) string {
	for _, m := range []string{"user", "proc"} {
		if why := h.Missing[m]; why != "" {
			return why.String()
		}
	}
	if h.Drop && h.Missing["idmap"] != "" {
		return h.Missing["idmap"].String()
	}
	if h.Kernel.AtLeast(host.MinKernel.Major, host.MinKernel.Minor) {
		return ""
	}
	return fmt.Sprintf("Linux %d.%d is too old", h.Kernel.Major, h.Kernel.Minor)
}

// digestOf returns the SHA-256 of an encoded program.
func digestOf(p *program.Program, r program.Request) ([]byte, error) {
	b, err := p.Encode(r)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	return sum[:], nil
}
