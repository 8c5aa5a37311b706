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

// template is a head that is made once, and what it takes to write the rest of a run's program.
type template struct {
	key    spec.Spec
	prefix *plan.Prefix
	file   *launcher.File
	filter []byte
	group  string // the keeper's own control groups, if the head has to do with them

	sumOnce sync.Once // of the head
	sum     []byte
	sumErr  error

	starts int // without a jail that was parked

	uses int  // starts that are using file and the sources just now
	gone bool // nobody will begin to
}

// newTemplate plans and encodes the prefix for a Spec and a Host.
func newTemplate(s *spec.Spec, h *host.Host, m *plan.Mode) (*template, error) {
	prefix, err := plan.NewPrefix(s, h, m)
	if err != nil {
		return nil, err
	}
	t := &template{key: plan.PrefixSpec(s), filter: h.Filter, group: ownGroups(s), prefix: prefix}
	if t.file, err = launcher.NewFile(prefix.Plan.Head, prefix.Plan.Request()); err != nil {
		return nil, err
	}
	return t, nil
}

// ownGroups is where the keeper is, for a Spec whose jails have a group below that.
func ownGroups(s *spec.Spec) string {
	if !host.WantsGroup(s) {
		return ""
	}
	return host.ReadText("/proc/self/cgroup")
}

// fits says whether the template is one for a Spec and the filter that it means now.
func (t *template) fits(key *spec.Spec, filter []byte) bool {
	return sameSpec(&t.key, key) && t.group == ownGroups(key) && (len(filter) == 0 || slices.Equal(t.filter, filter))
}

func sameSpec(a, b *spec.Spec) bool { return reflect.DeepEqual(a, b) }

// sameSources says whether what the head shows of the host is still what the template has seen.
func (t *template) sameSources(h *host.Host) bool {
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

// run gives the Host of one run: the template's facts of the machine, and the run's own sources, variables and filter.
func (t *template) run(s *spec.Spec) (*host.Host, error) {
	h := *t.prefix.Plan.Host
	h.Sources, h.Partial, h.Env = map[string]*host.Source{}, nil, nil
	steps := []func(*spec.Spec) error{h.LookEnv, h.LookSources}
	if spec.FileProfile(s.Seccomp) {
		steps = append(steps, h.LookFilter)
	} else {
		steps = append(steps, h.LookGuard)
	}
	if len(s.Mounts) > 0 || s.Rootfs.Path != "" { // what is mounted below them decides how they are shown
		steps = append([]func(*spec.Spec) error{h.LookMounts}, steps...)
	}
	for _, step := range steps {
		if err := step(s); err != nil {
			return nil, errors.Join(host.NeedProc(err), h.Close())
		}
	}
	return &h, nil
}

// preparable reports whether a Spec's jails can start from a prepared tree, which has neither the host's network nor
// more of its /etc than every jail has.
func preparable(s *spec.Spec) bool { return s.Net != spec.NetHost && len(s.Etc) == 0 }

func wantsPool(s *spec.Spec) bool {
	return (s.Net == "" || s.Net == spec.NetLoopback) && len(s.Publish) == 0
}

// prepareMissing says why this machine has no prepared trees, or "".
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
