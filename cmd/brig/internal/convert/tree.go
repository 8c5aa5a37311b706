package convert

import (
	"slices"
	"strings"

	"brig/nsjail"
)

// system is what the minimal root has of the host's, read-only, and devices what each jail has of its own.
const (
	system  = "/bin /lib /lib32 /lib64 /libx32 /sbin /usr"
	devices = "/dev /dev/fd /dev/full /dev/null /dev/ptmx /dev/pts /dev/random /dev/shm /dev/tty /dev/urandom /dev/zero " +
		"/proc"
)

// Tree adds the mounts of a tool whose root is empty before them, and whose later mounts hide earlier ones.
func (j *Jail) Tree(steps []Step) {
	visible := slices.Clone(steps[:0])
	for _, s := range steps {
		if m := s.Mount; m != nil && m.Type != nsjail.MountDir {
			visible = slices.DeleteFunc(visible, func(e Step) bool {
				return e.Mount != nil && below(e.Mount.Target, strings.TrimSuffix(m.Target, "/"))
			})
		}
		visible = append(visible, s)
	}
	at := func(name string) func(Step) bool {
		return func(s Step) bool { return s.Mount != nil && s.Mount.Target == name && s.Mount.Type == nsjail.MountBind }
	}
	root := slices.ContainsFunc(visible, at("/"))
	if !root && !slices.ContainsFunc(visible, at("/usr")) {
		j.Note("the root", Weaker, "besides its mounts it has all of the host's /usr and a public /etc; make an empty "+
			"directory, and write --rootfs DIR to have no more")
	}
	for _, s := range visible {
		j.place(s, root)
	}
}

// place adds a mount, unless the jail has the same by itself. root is set if the root is a mount.
func (j *Jail) place(s Step, root bool) {
	m := s.Mount
	switch {
	case m == nil:
		j.Steps = append(j.Steps, s)
	case m.Target == "/" && m.Type == nsjail.MountBind:
		if j.Flag(s.Of, "rootfs", m.Source); m.Writable {
			j.Flag(s.Of, "rootfs-writable")
			j.Note(s.Of, Missing, "changes of the root end with the run; write --bind DIR DIR for what is to stay")
		}
	case m.Target == "/": // an empty one
	case m.Type == nsjail.MountBind && m.Source == m.Target && slices.Contains(strings.Fields(devices), m.Target):
	case !root && slices.Contains(strings.Fields(system), m.Target) && !m.Writable &&
		(m.Source == m.Target || m.Type == nsjail.MountSymlink):
	default:
		j.Mount(s.Of, *m)
	}
}
