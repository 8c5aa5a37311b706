package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/spec"
	"brig/seccomp"
)

// maxProfile bounds a profile's file.
const maxProfile = 1 << 20

// LookFilter compiles the filter that the Spec names; the default one was compiled when brig was built.
func (h *Host) LookFilter(s *spec.Spec) error {
	if err := h.LookGuard(s); err != nil {
		return err
	}
	switch s.Seccomp {
	case "unconfined":
		return nil
	case "", "default":
		if bpf, ok := seccomp.DefaultBPF(); ok {
			h.Filter = bpf
			return nil
		}
	}
	data, profile, err := ReadProfile(s.Seccomp)
	if err != nil {
		return err
	}
	target := seccomp.Target{Arch: runtime.GOARCH, KernelMajor: h.Kernel.Major, KernelMinor: h.Kernel.Minor}
	table, err := profile.Resolve(target)
	if err != nil {
		return profileError(s.Seccomp, err)
	}
	h.FilterNotes, h.FilterFlags = table.Notes, table.LoadFlags()
	key := append(data, fmt.Sprint(target)...)
	h.Filter, err = compile(key, table)
	var cache *seccomp.CacheError
	if errors.As(err, &cache) { // the filter is good all the same
		h.FilterNotes = append(h.FilterNotes, err.Error())
		err = nil
	}
	if err != nil {
		return profileError(s.Seccomp, err)
	}
	return nil
}

// Shares reports whether the payload may write to a directory of the host.
func Shares(s *spec.Spec) bool {
	return slices.ContainsFunc(s.Mounts, func(m spec.Mount) bool { return m.Type == spec.MountBind && m.Writable })
}

// LookGuard sets the filter beneath a profile from a file, and that of an unconfined jail where the payload may write
// to the host's files.
func (h *Host) LookGuard(s *spec.Spec) error {
	if h.Guard = nil; !spec.FileProfile(s.Seccomp) && (!Shares(s) || s.Seccomp != "unconfined") {
		return nil
	}
	bpf, ok := seccomp.GuardBPF(Shares(s))
	if !ok {
		table, err := seccomp.GuardTable(Shares(s))
		if err != nil {
			return err
		}
		if bpf, err = table.Compile(); err != nil {
			return err
		}
	}
	if h.Guard = bpf; spec.FileProfile(s.Seccomp) {
		h.Guard = seccomp.LeaveKills(bpf)
	}
	return nil
}

// compile takes the filter from the caller's cache, where there is one.
func compile(key []byte, table *seccomp.Table) ([]byte, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return table.Compile() // no home, no cache
	}
	if _, err := os.Stat(dir); err != nil {
		return table.Compile()
	}
	return seccomp.Cached(filepath.Join(dir, "brig"), key, table.Compile)
}

func profileError(name string, err error) error {
	return &spec.Error{Fault: spec.FaultCaller, Op: "seccomp", Detail: words.Quote(name) + ": " + err.Error(),
		Remedy: "mend the profile, or use --seccomp default"}
}

// SeccompNames are the filters that Spec.Seccomp knows by name; anything else is a file.
func SeccompNames() []string { return append(seccomp.Presets(), "unconfined") }

// ReadProfile returns a preset or the content of a file, and the bytes that identify it.
func ReadProfile(name string) ([]byte, *seccomp.Profile, error) {
	if name == "" {
		name = "default"
	}
	if !strings.Contains(name, "/") {
		data, err := seccomp.PresetSource(name)
		if err != nil {
			return nil, nil, &spec.Error{Fault: spec.FaultCaller, Op: "seccomp", Detail: words.Quote(name) + " is not a preset",
				Remedy: words.DidYouMean(name, SeccompNames()) + " (the path of a file has a slash)"}
		}
		p, err := seccomp.Parse(data)
		return data, p, err
	}
	data, err := readRegular(name, maxProfile)
	switch {
	case errors.Is(err, errNotRegular), errors.Is(err, errTooLarge):
		return nil, nil, sourceError("seccomp", name, err, "name a profile in JSON")
	case err != nil:
		return nil, nil, sourceError("seccomp", name, err, "name a readable profile, or use --seccomp default")
	}
	p, err := seccomp.Parse(data)
	if err != nil {
		return nil, nil, profileError(name, err)
	}
	return data, p, nil
}

// FilterTable is the effective system-call filter of a Spec's Seccomp on this machine, as text.
func FilterTable(name string) (string, error) {
	if name == "unconfined" {
		return "no filter: every system call is allowed\n", nil
	}
	_, p, err := ReadProfile(name)
	if err != nil {
		return "", err
	}
	h := &Host{Missing: map[string]string{}}
	if err := h.lookKernel(nil); err != nil {
		return "", err
	}
	t, err := p.Resolve(seccomp.Target{Arch: runtime.GOARCH, KernelMajor: h.Kernel.Major, KernelMinor: h.Kernel.Minor})
	if err != nil {
		return "", profileError(name, err)
	}
	return t.String(), nil
}
