package host

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"unsafe"

	"brig/internal/words"
	"brig/nsjail/spec"
	"brig/seccomp"

	"golang.org/x/sys/unix"
)

// lookFilter reads the filter that the Spec names: that of a preset, or of a profile in a file, which it compiles.
func (h *Filters) lookFilter(s *spec.Spec, k Kernel) (err error) {
	if err := h.lookGuard(s); err != nil || s.Seccomp == "unconfined" {
		return err
	}
	name := cmp.Or(s.Seccomp, "default")
	if slices.Contains(seccomp.Presets(), name) {
		h.Filter, err = seccomp.PresetFilter(name, k.target(), !s.NoInit)
		return err
	}
	profile, data, err := readProfile(name)
	if err != nil {
		return err
	}
	table, err := profile.Resolve(k.target())
	if err != nil {
		return profileError(name, err)
	}
	h.Profile, h.FilterNotes, h.FilterFlags, h.FilterKills = data, nil, table.LoadFlags(), table.Kills()
	for _, n := range table.Notes {
		h.FilterNotes = append(h.FilterNotes, words.Plain(n))
	}
	if h.Filter, err = table.Compile(); err != nil {
		return profileError(name, err)
	}
	return nil
}

func (k Kernel) target() seccomp.Target {
	return seccomp.Target{Arch: runtime.GOARCH, KernelMajor: k.Major, KernelMinor: k.Minor}
}

// WritesHost reports whether the payload may write to a directory of the host.
func WritesHost(s *spec.Spec) bool {
	return s.MayUseDisk() || s.Tier == spec.TierProcess ||
		slices.ContainsFunc(s.Mounts, func(m spec.Mount) bool { return m.Type == spec.MountBind && m.Writable })
}

// lookGuard sets the filter beneath a profile from a file, and that of an unconfined jail where the payload may write
// to the host's files.
func (h *Filters) lookGuard(s *spec.Spec) error {
	if h.Guard = nil; s.Tier == spec.TierProcess {
		return nil // lookTier sets another one
	}
	if !spec.FileProfile(s.Seccomp) && (!WritesHost(s) || s.Seccomp != "unconfined") {
		return nil
	}
	bpf, err := seccomp.GuardFilter(WritesHost(s), !s.NoInit)
	if err != nil {
		return err
	}
	if h.Guard = bpf; spec.FileProfile(s.Seccomp) {
		h.Guard = seccomp.LeaveKills(bpf)
	}
	return nil
}

func profileError(name string, err error) error {
	return spec.CallerError("seccomp", words.Quote(name)+": "+err.Error(),
		"mend the profile, or use "+words.Set("seccomp", "default"))
}

// readProfile returns a preset, or the profile of a file and the file's content.
func readProfile(name string) (p *seccomp.Profile, data []byte, err error) {
	if slices.Contains(seccomp.Presets(), name) {
		p, err = seccomp.Preset(name)
		return p, nil, err
	}
	if data, err = ReadProfile(name); err != nil {
		return nil, nil, err
	}
	if p, err = seccomp.Parse(data); err != nil {
		return nil, nil, profileError(name, err)
	}
	return p, data, nil
}

// ReadProfile returns the content of a profile's file.
func ReadProfile(name string) ([]byte, error) {
	if !spec.FileProfile(name) {
		return nil, spec.CallerError("seccomp", words.Quote(name)+" is not a preset",
			words.DidYouMean(name, seccomp.Names())+" (the path of a file has a slash)")
	}
	if err := AnswerFile("seccomp", name); err != nil {
		return nil, err
	}
	data, err := readRegular(name, seccomp.MaxSize)
	switch {
	case errors.Is(err, errNotRegular), errors.Is(err, errTooLarge):
		return nil, fieldError("seccomp", name, err, "name a profile in JSON")
	case err != nil:
		return nil, fieldError("seccomp", name, err, "name a readable profile, or use "+words.Set("seccomp", "default"))
	}
	return data, nil
}

// FilterTable returns the effective system-call filter of a Spec's Seccomp on this machine, as text. init reports
// whether process 1 is brig's init.
func FilterTable(name string, init bool) (string, error) {
	if name == "unconfined" {
		return "no filter: every system call is allowed\n", nil
	}
	p, _, err := readProfile(cmp.Or(name, "default"))
	if err != nil {
		return "", err
	}
	h, err := LookVersion()
	if err != nil {
		return "", err
	}
	if !spec.FileProfile(name) {
		p = p.WithInit(init)
	}
	t, err := p.Resolve(h.Kernel.target())
	if err != nil {
		return "", profileError(name, err)
	}
	return t.String(), nil
}

// lookListener finds out whether init can listen to the payload's filter. A thread has at most one listener. If an
// outer filter has one already (that of a container's supervisor), the kernel returns EBUSY, which only an attempt
// shows.
func (h *Machine) lookListener(s *spec.Spec) error {
	mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	if err != nil || mode == 0 || s.NoInit || s.Seccomp == "unconfined" {
		return nil // without a filter above, nothing is in the way; the rest needs no listener
	}
	answer := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine, and its filter with it
		answer <- tryListener()
	}()
	if err := <-answer; err != nil {
		h.NoListener = "seccomp: " + err.Error() + ": the caller is under a filter that does not allow another listener"
	}
	return nil
}

// tryListener loads a filter that allows everything, with a listener, on the calling thread.
func tryListener() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	allow := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
	prog := unix.SockFprog{Len: 1, Filter: &allow}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
		uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}
