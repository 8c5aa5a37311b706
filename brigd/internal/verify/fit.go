package verify

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"brig/internal/attack"
	"brig/internal/sys"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// config is the configuration that is verified.
type config struct {
	spec *nsjail.Spec
	tree any    // its JSON
	lane string // the caller: "root" or "user"
	temp string // where the scenes of attacks are
	abi  int    // of the kernel's Landlock
}

// fit is how an attack fits a configuration.
type fit struct {
	skip    string       // why it does not apply
	givenUp string       // the settings with which the configuration does not claim it
	jail    *nsjail.Spec // the configuration with the attack's stand-ins; names such as $DIR stand in it
}

// newConfig returns the configuration of a Spec.
func newConfig(s *nsjail.Spec, lane, temp string) (*config, error) {
	c := &config{spec: s, lane: lane, temp: temp}
	return c, json.Unmarshal(s.JSON(), &c.tree)
}

// fit decides whether an attack applies, and makes its jail. It is pure.
func (c *config) fit(a *attack.Attack) (*fit, error) {
	if a.Lane != "" && a.Lane != c.lane {
		return &fit{skip: "it is for callers that are " + map[string]string{"root": "root", "user": "not root"}[a.Lane] +
			": " + a.LaneReason}, nil
	}
	if a.Landlock > c.abi {
		return &fit{skip: fmt.Sprintf("it takes Landlock's ABI %d, and this kernel has %d", a.Landlock, c.abi)}, nil
	}
	for _, p := range a.Plans {
		if p.Kind != "leak" {
			return &fit{skip: "it is for a jail without the fences before this one"}, nil
		}
	}
	want, err := merge(a.Specs)
	if err != nil {
		return nil, err
	}
	if want.Tier != c.spec.Tier {
		return &fit{skip: "it is for a jail of another tier"}, nil
	}
	var weak []string
	for _, o := range a.Offs {
		if o.Kind == "spec" && (o.Lane == "" || o.Lane == c.lane) {
			weak = append(weak, o.Value)
		}
	}
	off, err := merge(weak)
	if err != nil {
		return nil, err
	}
	f := &fit{jail: c.base(a)}
	mounts, lacks := want.Mounts, c.lacks(want.Mounts)
	if lacks == "" {
		off.Mounts = nil
	} else { // a weaker kind may be there instead of the one that the claim is made for
		mounts = off.Mounts
	}
	f.givenUp = c.weakness(a, off)
	if lacks != "" && (f.givenUp == "" || len(mounts) == 0) {
		f.skip = lacks
		return f, nil
	}
	for _, n := range needs {
		if f.skip = n(c, want, f.jail); f.skip != "" {
			return f, nil
		}
	}
	c.standIn(f.jail, mounts)
	return f, nil
}

// merge reads texts of JSON as one Spec; a later text replaces the fields of one before.
func merge(texts []string) (*nsjail.Spec, error) {
	fields := map[string]json.RawMessage{}
	for _, t := range texts {
		if err := json.Unmarshal([]byte(t), &fields); err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return spec.ParseSpec(data)
}

// secret is the value of secrets that are made for attacks to find.
const secret = "host-secret-env"

// base returns the configuration with changes that keep an attack from harming the caller's files: writable mounts
// become read-only, secrets get another value, and no core is dumped. There is no terminal and no published port, since
// several jails run at the same time.
func (c *config) base(a *attack.Attack) *nsjail.Spec {
	s := c.spec.Clone()
	s.TTY, s.Publish = false, nil
	for i, m := range s.Mounts {
		if m.Writable {
			s.Mounts[i].Writable, s.Mounts[i].Live = false, m.Type == nsjail.MountBind
		}
	}
	for i, e := range s.Env {
		if name, _, _ := strings.Cut(e, "="); spec.Sensitive(name) {
			s.Env[i] = name + "=" + secret
		}
	}
	if s.Limits.Wall >= 0 && s.Limits.Wall < most {
		s.Limits.Wall = most
	}
	if a.Title() != "host-core-helper" {
		delete(s.Limits.Rlimits, "core")
	}
	return s
}

// needs has a function for each thing that attacks need. It adds the thing to the jail, or returns why the
// configuration does not have it.
var needs = []func(c *config, want, jail *nsjail.Spec) string{
	func(c *config, want, jail *nsjail.Spec) string {
		if want.Rootfs.Path == "" {
			return ""
		}
		switch root := c.spec.Rootfs; {
		case root.Path == "":
			return "the root is not an image or a directory"
		case want.Rootfs.Writable && !root.Writable:
			return "the root is not writable"
		}
		jail.Rootfs.Path, jail.Rootfs.Image, jail.Workdir = want.Rootfs.Path, "", want.Workdir
		return ""
	},
	func(c *config, want, jail *nsjail.Spec) string {
		if want.Net != "" && want.Net != c.spec.Net {
			return "the network is not " + string(want.Net)
		}
		return ""
	},
	func(c *config, want, jail *nsjail.Spec) string {
		if len(want.PassEnv) > 0 && !slices.ContainsFunc(c.spec.PassEnv, isGlob) {
			return "no pattern passes variables"
		}
		return ""
	},
	func(c *config, want, jail *nsjail.Spec) string {
		is, will := &want.Limits, &jail.Limits
		switch {
		case is.Output > 0 && will.Output == 0:
			return "the output is not limited"
		case is.Memory > 0 && will.Memory == 0:
			return "memory is not limited"
		case is.Output > 0:
			will.Output = min(is.Output, will.Output)
		case is.Processes > 0 && will.Processes >= 0: // or it is tried without
			will.Processes = is.Processes
		}
		if will.Rlimits == nil {
			will.Rlimits = map[string]spec.Rlimit{}
		}
		maps.Copy(will.Rlimits, is.Rlimits) // which are lower than those of any program
		return ""
	},
	func(c *config, want, jail *nsjail.Spec) string {
		if slices.Contains(c.spec.Protect, spec.ProtectGit) {
			for _, p := range want.Protect {
				if p != spec.ProtectGit {
					jail.Protect = append(jail.Protect, p)
				}
			}
		}
		return ""
	},
}

func isGlob(pattern string) bool { return strings.ContainsAny(pattern, `*?[\`) }

// kind is what a mount has in common with its stand-in.
type kind struct {
	of             spec.MountType
	writable, live bool
}

func kindOf(m *nsjail.Mount) kind { return kind{m.Type, m.Writable, m.Live && !m.Writable} }

// top returns the mounts of an attack that the configuration must have, too: those of the host's directories that
// are not below another one.
func top(mounts []nsjail.Mount) (list []nsjail.Mount) {
	for i, m := range mounts {
		below := slices.ContainsFunc(mounts[:i], func(o nsjail.Mount) bool { return sys.Under(m.Target, o.Target) })
		if (m.Type == nsjail.MountBind || m.Type == nsjail.MountCOW) && strings.HasPrefix(m.Source, "$") && !below {
			list = append(list, m)
		}
	}
	return list
}

// find returns a mount of the configuration that is of the same kind. An attack that fails on one read-only bind of a
// live directory fails on any other, too.
func (c *config) find(m *nsjail.Mount) *nsjail.Mount {
	for i := range c.spec.Mounts {
		if own := &c.spec.Mounts[i]; kindOf(own) == kindOf(m) {
			return own
		}
	}
	if kindOf(m).live {
		private := *m
		private.Live = false
		return c.find(&private)
	}
	return nil
}

// lacks returns which kind of mount the configuration does not have, or "".
func (c *config) lacks(mounts []nsjail.Mount) string {
	for _, m := range top(mounts) {
		if c.find(&m) == nil {
			return "there is no " + flagOf(&m)
		}
	}
	return ""
}

// standIn replaces what the jail has at the targets of an attack's mounts by directories that are made for the attack.
func (c *config) standIn(jail *nsjail.Spec, mounts []nsjail.Mount) {
	for i, m := range mounts {
		if !slices.ContainsFunc(mounts[:i], func(o nsjail.Mount) bool { return sys.Under(m.Target, o.Target) }) {
			jail.Mounts = slices.DeleteFunc(jail.Mounts, func(o nsjail.Mount) bool {
				return sys.Under(o.Target, m.Target) || sys.Under(m.Target, o.Target)
			})
		}
	}
	for _, m := range mounts {
		if own := c.find(&m); own != nil {
			m.Live, m.Size, m.Inodes, m.Store = own.Live && m.Live, own.Size, own.Inodes, own.Store
		}
		jail.Mounts = append(jail.Mounts, m)
	}
	if !slices.ContainsFunc(jail.Mounts, func(m nsjail.Mount) bool { return m.Writes() }) {
		jail.Protect = nil // nothing is writable
	}
}

// shown returns where the jail has a file of the host: in its binds.
func (c *config) shown(file string) (places []string, by *nsjail.Mount) {
	for i := range c.spec.Mounts {
		m := &c.spec.Mounts[i]
		if m.Type != nsjail.MountBind && m.Type != nsjail.MountCOW {
			continue
		}
		source, err := sys.Abs(m.Source)
		if err == nil && sys.Under(file, source) {
			by = m
			places = append(places, filepath.Join(m.Target, strings.TrimPrefix(file, strings.TrimSuffix(source, "/"))))
		}
	}
	return places, by
}
