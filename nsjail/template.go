package nsjail

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"brig/internal/program"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/spec"

	"golang.org/x/sys/unix"
)

// prefixSpec is the part of a Spec on which the head of its program depends: two Specs with the same one share a template.
// What a run may change at no cost is left out: command, environment, working directory, clocks and output. The
// caller's mounts belong to the rest, but for an image, whose mount points cannot be made once it is the root.
func prefixSpec(s *spec.Spec) spec.Spec {
	k := *s
	k.Args, k.Env, k.PassEnv, k.Workdir = nil, nil, nil, ""
	l := &k.Limits
	l.Wall, l.Idle, l.Grace, l.Output, l.OutputLimit = 0, 0, 0, 0, 0
	if mountsComeLater(s) {
		k.Mounts = []spec.Mount{{}}
		for _, d := range scratchDirs {
			if slices.ContainsFunc(s.Mounts, func(m spec.Mount) bool { return m.Target == d }) {
				k.Mounts = append(k.Mounts, spec.Mount{Target: d})
			}
		}
		if ownEtc(s) {
			k.Mounts = append(k.Mounts, spec.Mount{Target: "/etc"})
		}
	}
	return k
}

// ownEtc says that a Spec puts something into /etc, which then cannot be one overlay.
func ownEtc(s *spec.Spec) bool {
	return slices.ContainsFunc(s.Mounts, func(m spec.Mount) bool { return m.Target == "/etc" || strings.HasPrefix(m.Target, "/etc/") })
}

// template is a head that is made once, and what it takes to write the rest of a run's program.
type template struct {
	key    spec.Spec
	base   resolver
	order  sequence
	first  int // slot of the first descriptor that comes with the rest
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

// newTemplate resolves the prefix for a Spec and a Host.
func newTemplate(s *spec.Spec, h *host.Host, m *Mode) (*template, error) {
	s = s.Clone()
	t := &template{key: prefixSpec(s), filter: h.Filter, group: ownGroups(s), base: *newResolver(s, m.facts(s, h), m)}
	r := &t.base
	r.Prepared = m.root.steps
	if err := r.decide(); err != nil {
		return nil, err
	}
	if r.shape = r.shapeOf(); !r.shape.mountsLater {
		if err := r.mounts(); err != nil {
			return nil, err
		}
	}
	r.groupSlots()
	if m.Net {
		r.netns = r.in
		r.in++
	}
	r.Jail = program.New(int(r.in))
	t.order = derive(&r.shape)
	if err := r.write(t.order.prefix); err != nil {
		return nil, err
	}
	t.first = int(r.Jail.Park("park", launcher.SlotReport))
	r.Head = r.Jail
	var err error
	if t.file, err = launcher.NewFile(r.Head, r.request()); err != nil {
		return nil, err
	}
	t.file.Keep = true
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

// plan writes the suffix for one run. host is the template's, with what is the run's own.
func (t *template) plan(s *spec.Spec, h *host.Host) (*Plan, error) {
	r, p := t.base, *t.base.Plan
	p.Spec, p.Host = s, h
	p.Enforced, p.Notes, p.Passed = maps.Clone(p.Enforced), slices.Clone(p.Notes), slices.Clone(p.Passed)
	r.Plan, r.spec, r.host, r.mode = &p, s, h, &p.Mode
	r.in = program.Slot(t.first)
	r.stdio = r.in
	r.in += 3
	if r.shape.mountsLater {
		if err := r.mounts(); err != nil {
			return nil, err
		}
	}
	r.Jail = r.Head.Rest(int(r.in) - t.first)
	r.tree = t.base.tree.On(r.Jail)
	return &p, r.finish(t.order.suffix)
}

// sameSources says whether what the head shows of the host is still what the template has seen.
func (t *template) sameSources(h *host.Host) bool {
	for key, was := range t.base.host.Sources {
		if now := h.Sources[key]; now == nil || was.Content != now.Content || was.Copied != now.Copied ||
			now.Copied && was.Mode != now.Mode {
			return false
		}
	}
	for _, m := range t.base.Passed {
		was, now := t.base.host.Sources[m.Key], h.Sources[m.Key]
		if now == nil || was.Dev != now.Dev || was.Ino != now.Ino || was.UID != now.UID || was.GID != now.GID {
			return false
		}
	}
	return true
}

// run gives the Host of one run: the template's facts of the machine, and the run's own sources, variables and filter.
func (t *template) run(s *spec.Spec) (*host.Host, error) {
	h := *t.base.host
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

const rootCaps = uint32(1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_NET_ADMIN)
