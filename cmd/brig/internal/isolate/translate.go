package isolate

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"brig/internal/words"
	"brig/nsjail"
)

// translate returns the jail that a command line of --run means. It is pure but for what facts ask.
func (o *Options) translate(f *facts) (*job, error) {
	j := &job{}
	s := &j.spec
	s.Args = append([]string(nil), o.Args...)
	if !strings.Contains(s.Args[0], "/") { // isolate looks for no name in PATH
		s.Args[0] = "./" + s.Args[0]
	}
	s.BareEnv, s.Env = true, o.environment(f.environ)
	s.Workdir = "/box"
	if o.Chdir != "" {
		if s.Workdir = path.Clean(o.Chdir); s.Workdir[0] != '/' {
			s.Workdir = path.Join("/box", s.Workdir)
		}
	}
	if o.ShareNet {
		s.Net = nsjail.NetHost
	}
	o.limits.apply(s, &o.own, f)
	if !o.standard() {
		s.Rootfs.Path = filepath.Join(f.dir, "root")
	}
	for i := range o.Rules {
		r := &o.Rules[i]
		if r.Default && o.NoDefault || r.Outside == "" {
			continue
		}
		if err := j.rule(r, f); err != nil {
			return nil, fmt.Errorf("--dir: %s: %w", words.Quote(r.Inside), err)
		}
		j.shared = j.shared || !r.Default && r.has("rw") && !r.has("tmp") && !r.has("fs")
	}
	if s.Rootfs.Path == "" && !slices.ContainsFunc(j.places, inEtc) { // no rule names it, so it is empty
		s.Mounts = append(s.Mounts, nsjail.Mount{Type: nsjail.MountBind, Source: filepath.Join(f.dir, "root"),
			Target: "/etc", Plain: true, Live: true})
	}
	if o.Special || j.shared { // as a way to another program: FIFOs are expected there
		s.Optional = []string{"sockets"}
	}
	return j, nil
}

func inEtc(p place) bool { return p.target == "/etc" || strings.HasPrefix(p.target, "/etc/") }
