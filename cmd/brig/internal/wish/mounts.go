package wish

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"brig/internal/cli"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// mounts applies the flags that add a mount.
type mounts struct{ *sheet }

// flags returns these, and --apply-if-ok behind --cow.
func (m mounts) flags(applyIfOK *bool) []cli.Flag {
	return []cli.Flag{
		{Name: "input", Args: "SRC[:DST]", Many: true, Files: true, Set: m.dirFlag("/input", false),
			Help: "show SRC of the host at /input, or DST, read-only"},
		{Name: "work", Args: "SRC[:DST]", Many: true, Files: true, Set: m.dirFlag("/work", true),
			Help: "show SRC at /work, or DST, writable; the payload starts in /work"},
		{Name: "cow", Args: "SRC[:DST][:size=1g,inodes=262144,store=disk]", Many: true, Files: true, Set: m.setCOW,
			Help: "show SRC at /work, or DST, writable; SRC does not change, and what is written is kept in memory, or on disk"},
		{Name: "apply-if-ok", Set: cli.Switch(applyIfOK, true),
			Help: "apply the changes of --cow at once if the command exits with 0 and has met no limit"},
		{Name: "output", Args: "SRC[:DST]", Many: true, Files: true, Set: m.dirFlag("/output", true),
			Help: "show SRC at /output, or DST, writable"},
		{Name: "bind", Args: "SRC DST", Many: true, Files: true, Set: m.mountFlag(nsjail.Mount{Type: nsjail.MountBind,
			Writable: true}),
			Help: "show SRC of the host at DST, writable"},
		{Name: "ro-bind", Args: "SRC DST", Many: true, Files: true, Set: m.mountFlag(nsjail.Mount{Type: nsjail.MountBind}),
			Help: "show SRC of the host at DST, read-only with everything mounted below it; a small file as a copy"},
		{Name: "ro-bind-live", Args: "SRC DST", Many: true, Files: true,
			Set:  m.mountFlag(nsjail.Mount{Type: nsjail.MountBind, Live: true}),
			Help: "the same, and the host's later changes show; locks and watches cross it"},
		{Name: "tmpfs", Args: "DST[:size=64m,inodes=1000,mode=1777,noexec]", Many: true, Set: m.setTmpfs,
			Help: "an empty directory in memory; what is written there is dropped at the end"},
		{Name: "symlink", Args: "TEXT LINKPATH", Many: true, Set: m.mountFlag(nsjail.Mount{Type: nsjail.MountSymlink}),
			Help: "a symbolic link at LINKPATH with the text TEXT"},
		{Name: "dir", Args: "DST", Many: true, Set: m.mountFlag(nsjail.Mount{Type: nsjail.MountDir}),
			Help: "an empty directory"},
		{Name: "file", Args: "SRC DST", Many: true, Files: true, Set: m.mountFlag(nsjail.Mount{Type: nsjail.MountFile}),
			Help: "a private read-only copy of the file SRC at DST"},
	}
}

// mountFlag returns the setter of a mount flag. Its last value is the target. With two values, the first is the source.
func (m mounts) mountFlag(of nsjail.Mount) func([]string) error {
	return func(v []string) error {
		added := of
		added.Target = v[len(v)-1]
		if len(v) == 2 {
			added.Source = v[0]
		}
		m.mount(added)
		return nil
	}
}

func (m mounts) setTmpfs(v []string) error {
	target, options, has := strings.Cut(v[0], ":")
	added := nsjail.Mount{Type: nsjail.MountTmpfs, Target: target}
	if has {
		if err := mountOptions(&added, options, "mode"); err != nil {
			return err
		}
	}
	m.mount(added)
	return nil
}

// setCOW reads SRC, then a target if it is absolute, then options.
func (m mounts) setCOW(v []string) error {
	src, rest, _ := cutSource(v[0])
	added := nsjail.Mount{Type: nsjail.MountCOW, Source: src, Target: spec.DefaultWorkdir}
	if strings.HasPrefix(rest, "/") {
		added.Target, rest, _ = strings.Cut(rest, ":")
	}
	if rest != "" {
		if err := mountOptions(&added, strings.ReplaceAll(rest, ":", ","), "store"); err != nil {
			return err
		}
	}
	m.mount(added)
	return nil
}

// dirFlag returns the setter of --input, --work and --output.
func (m mounts) dirFlag(target string, writable bool) func([]string) error {
	return func(v []string) error {
		src, dst, hasDst := cutSource(v[0])
		if !hasDst {
			dst = target
		}
		if strings.Contains(dst, ":") {
			other := "--ro-bind"
			if writable {
				other = "--bind"
			}
			return fmt.Errorf("%s has more than one colon; write %s SRC DST", words.Quote(v[0]), other)
		}
		m.mount(nsjail.Mount{Type: nsjail.MountBind, Source: src, Target: dst, Writable: writable})
		return nil
	}
}

// cutSource divides "SRC:REST". The names in SRC may have colons: it is as long as a file of that name exists. A target
// is absolute, and SRC ends before it.
func cutSource(text string) (src, rest string, found bool) {
	end := len(text)
	if at := strings.Index(text, ":/"); at >= 0 {
		end = at
	}
	for at := end; strings.Contains(text[:max(at, 0)], ":"); at = strings.LastIndexByte(text[:at], ':') {
		if _, err := os.Lstat(text[:at]); err == nil {
			return text[:at], strings.TrimPrefix(text[at:], ":"), at < len(text)
		}
	}
	return strings.Cut(text, ":")
}

// atOwnPaths changes the mounts of flags for a jail without a mount namespace, in which each directory is where it is
// on the host. With --work the payload starts there.
func (s *sheet) atOwnPaths() error {
	for i := range s.spec.Mounts {
		m := &s.spec.Mounts[i]
		flag := s.from.Of(place("mounts", i))
		if flag == "" || m.Type != nsjail.MountBind {
			continue
		}
		abs, err := sys.Abs(m.Source)
		if err != nil {
			return err
		}
		m.Source = abs
		if name, own := strings.CutPrefix(flag, "--"); own && m.Target == "/"+name {
			m.Target = abs
		}
		if flag == "--work" {
			s.spec.Workdir = cmp.Or(s.spec.Workdir, m.Target)
		}
	}
	return nil
}
