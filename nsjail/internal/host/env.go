package host

import (
	"slices"
	"strings"

	"brig/nsjail/spec"
)

// BuildEnv returns the payload's environment: PATH, HOME, LANG and TERM unless it is bare, then what was passed, then
// Spec.Env. A later value replaces an earlier one in its place, so that the order depends on nothing but the arguments.
// term is the caller's TERM, which counts with a TTY only: that is when the payload talks to the caller's terminal.
func BuildEnv(s *spec.Spec, passed []string, term string) []string {
	switch {
	case !s.TTY:
		term = "dumb"
	case term == "":
		term = "xterm-256color"
	}
	own := []string{"PATH=" + spec.DefaultPath, "HOME=" + home(s), "LANG=C.UTF-8", "TERM=" + term}
	if s.BareEnv {
		own = nil
	}
	var env []string
	place := map[string]int{}
	for _, e := range slices.Concat(own, passed, s.Env) {
		name, _, _ := strings.Cut(e, "=")
		if i, have := place[name]; have {
			env[i] = e
			continue
		}
		place[name] = len(env)
		env = append(env, e)
	}
	return env
}

// home is the directory for programs' own files. It is the jail's own and ends with it. With a volume at /work it lies
// there, so that it is kept from run to run. An image need not have /home.
func home(s *spec.Spec) string {
	h := spec.DefaultHome
	if s.Rootfs.Path != "" {
		h = "/tmp"
	}
	for _, m := range s.Mounts {
		if m.Type == spec.MountVolume && m.Target == spec.DefaultWorkdir && m.Writable {
			return spec.DefaultWorkdir
		}
		if m.Type != spec.MountDir && strings.HasPrefix(spec.DefaultHome, m.Target+"/") { // it covers the jail's
			h = "/tmp"
		}
	}
	return h
}
