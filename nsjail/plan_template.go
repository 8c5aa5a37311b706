package nsjail

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/spec"
)

// planTemplate is the planned and encoded prefix that all Specs with the same key share.
type planTemplate struct {
	key    spec.Spec
	prefix *plan.Prefix
	file   *launcher.File
	filter []byte
	group  string // the keeper's control groups, if the prefix depends on them

	sumOnce sync.Once // guards sum and sumErr, the digest of the prefix
	sum     []byte
	sumErr  error

	starts int // without a parked jail

	uses int  // current starts that use file and the sources
	gone bool // no other start may use it
}

// newPlanTemplate plans and encodes the prefix for a Spec and a Host.
func newPlanTemplate(s *spec.Spec, h *host.Host, m *plan.Mode) (*planTemplate, error) {
	prefix, err := plan.NewPrefix(s, h, m)
	if err != nil {
		return nil, err
	}
	t := &planTemplate{key: plan.PrefixSpec(s), filter: h.Filter, group: ownGroups(s), prefix: prefix}
	if t.file, err = launcher.NewFile(prefix.Plan.Prefix, prefix.Plan.Request()); err != nil {
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

// fits reports whether the template matches a key and the current content of the filter that the Spec names.
func (t *planTemplate) fits(key *spec.Spec, filter []byte) bool {
	return sameSpec(&t.key, key) && t.group == ownGroups(key) && (len(filter) == 0 || slices.Equal(t.filter, filter))
}

func sameSpec(a, b *spec.Spec) bool { return reflect.DeepEqual(a, b) }

// sameSources reports whether the host files that the prefix uses are unchanged.
func (t *planTemplate) sameSources(h *host.Host) bool {
	for key, was := range t.prefix.Plan.Host.Sources {
		if now := h.Sources[key]; now == nil || was.Content != now.Content || was.Copied != now.Copied ||
			now.Copied && was.Mode != now.Mode {
			return false
		}
	}
	for _, m := range t.prefix.Plan.Passed {
		was, now := t.prefix.Plan.Host.Sources[m.Key], h.Sources[m.Key]
		if now == nil || was.Dev != now.Dev || was.Ino != now.Ino || was.UID != now.UID || was.GID != now.GID {
			return false
		}
	}
	return true
}

// run returns the Host for one run: the template's facts with the sources, variables and filter of the run.
func (t *planTemplate) run(s *spec.Spec) (*host.Host, error) {
	h := *t.prefix.Plan.Host
	h.Sources, h.Partial, h.Env = map[string]*host.Source{}, nil, nil
	steps := []func(*spec.Spec) error{h.LookEnv, h.LookSources}
	if spec.FileProfile(s.Seccomp) {
		steps = append(steps, h.LookFilter)
	} else {
		steps = append(steps, h.LookGuard)
	}
	if len(s.Mounts) > 0 || s.Rootfs.Path != "" { // mounts below a source decide how it is shown
		steps = append([]func(*spec.Spec) error{h.LookMounts}, steps...)
	}
	for _, step := range steps {
		if err := step(s); err != nil {
			return nil, errors.Join(host.NeedProc(err), h.Close())
		}
	}
	return &h, nil
}

// preparable reports whether jails of this Spec can start in a prepared root. The prepared root has its own network
// namespace and only the default /etc.
func preparable(s *spec.Spec) bool { return s.Net != spec.NetHost && len(s.Etc) == 0 }

func wantsPool(s *spec.Spec) bool {
	return (s.Net == "" || s.Net == spec.NetLoopback) && len(s.Publish) == 0
}

// prepareMissing returns the reason why this machine cannot have a prepared root, or "".
func prepareMissing(h *host.Host) string {
	for _, m := range []string{"user", "proc"} {
		if why := h.Missing[m]; why != "" {
			return why
		}
	}
	if h.Drop && h.Missing["idmap"] != "" {
		return h.Missing["idmap"]
	}
	if h.Kernel.AtLeast(host.MinKernel.Major, host.MinKernel.Minor) {
		return ""
	}
	return fmt.Sprintf("Linux %d.%d is too old", h.Kernel.Major, h.Kernel.Minor)
}
