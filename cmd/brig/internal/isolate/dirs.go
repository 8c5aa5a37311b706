package isolate

import (
	"errors"
	"path"
	"strings"

	"brig/internal/words"
	"brig/nsjail"
)

// rule translates a directory rule.
func (j *job) rule(r *Rule, f *facts) error {
	own, err := r.ownDir()
	if own || err != nil {
		return err
	}
	target := "/" + r.Inside
	switch {
	case r.has("fs") && r.Outside == "tmpfs":
		j.spec.Mounts = append(j.spec.Mounts, nsjail.Mount{Type: nsjail.MountTmpfs, Target: target})
		return nil
	case r.has("fs"):
		return errors.New(r.Outside + " is mounted at its own place only; leave the rule out")
	case r.has("dev"):
		return errors.New("brig shows no devices but its own in /dev; leave out dev")
	}
	m := nsjail.Mount{Type: nsjail.MountBind, Source: r.Outside, Target: target, Writable: r.has("rw"),
		NoExec: r.has("noexec"), Plain: true}
	if strings.HasPrefix(r.Outside, "./") {
		m.Source = f.dir + r.Outside[1:] // ".." behind a link is the kernel's
	}
	if r.has("tmp") {
		j.temps = append(j.temps, path.Base(r.Outside))
	} else if r.has("maybe") && !f.exists(m.Source) {
		return nil
	}
	if r.has("norec") && f.below(m.Source) {
		return errors.New("something is mounted below " + words.Quote(m.Source) +
			", and brig shows a directory with all that is mounted below it; leave out norec, or name another directory")
	}
	j.places = append(j.places, place{target, m.Source, m.Writable})
	if !r.Default || j.spec.Rootfs.Path != "" || !systemDir(r.Inside) {
		j.spec.Mounts = append(j.spec.Mounts, m)
	}
	return nil
}

// systemDir reports whether the minimal root has a directory by itself.
func systemDir(name string) bool {
	return name == "bin" || name == "lib" || name == "lib64" || name == "usr"
}

// ownDir reports whether a rule asks for what every jail has in any case: its own /proc, /dev and /dev/shm.
func (r *Rule) ownDir() (bool, error) {
	first, _, _ := strings.Cut(r.Inside, "/")
	if first != "proc" && first != "dev" && first != "sys" {
		return false, nil
	}
	switch {
	case r.Inside == "proc" && r.has("fs") && r.Outside == "proc",
		r.Inside == "dev" && !r.has("fs") && r.Outside == "/dev",
		r.Inside == "dev/shm" && (r.has("tmp") || r.has("fs") && r.Outside == "tmpfs"),
		r.Inside == "dev/pts" && r.has("fs") && r.Outside == "devpts":
		return true, nil
	}
	return false, errors.New("the jail makes its own /" + first + "; choose another path inside")
}

// standard reports whether the program sees the system's directories as by default, so that the minimal root serves.
func (o *dirs) standard() bool {
	for i := range o.Rules {
		switch r := &o.Rules[i]; r.Inside {
		case "bin", "lib", "lib64", "usr":
			if !r.Default || o.NoDefault {
				return false
			}
		}
	}
	return true
}
