package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"brig/image"
	"brig/internal/cli"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

func (b *builder) fileFlags() []cli.Flag {
	return cli.InGroup("Files", []cli.Flag{
		{Name: "input", Args: "SRC[:DST]", Many: true, Files: true, Set: b.dirFlag("/input", false),
			Help: "show SRC of the host at /input, or DST, read-only"},
		{Name: "work", Args: "SRC[:DST]", Many: true, Files: true, Set: b.dirFlag("/work", true),
			Help: "show SRC at /work, or DST, writable; the payload starts in /work"},
		{Name: "cow", Args: "SRC[:DST][:size=1g,inodes=262144,store=disk]", Many: true, Files: true, Set: b.setCOW,
			Help: "show SRC at /work, or DST, writable; SRC does not change, and what is written is kept in memory, or on disk"},
		{Name: "apply-if-ok", Set: cli.Switch(&b.inv.applyIfOK, true),
			Help: "apply the changes of --cow at once if the command exits with 0 and has met no limit"},
		{Name: "output", Args: "SRC[:DST]", Many: true, Files: true, Set: b.dirFlag("/output", true),
			Help: "show SRC at /output, or DST, writable"},
		{Name: "bind", Args: "SRC DST", Many: true, Files: true, Set: b.mountFlag(nsjail.Mount{Type: nsjail.MountBind,
			Writable: true}),
			Help: "show SRC of the host at DST, writable"},
		{Name: "ro-bind", Args: "SRC DST", Many: true, Files: true, Set: b.mountFlag(nsjail.Mount{Type: nsjail.MountBind}),
			Help: "show SRC of the host at DST, read-only with everything mounted below it; a small file as a copy"},
		{Name: "ro-bind-live", Args: "SRC DST", Many: true, Files: true,
			Set:  b.mountFlag(nsjail.Mount{Type: nsjail.MountBind, Live: true}),
			Help: "the same, and the host's later changes show; locks and watches cross it"},
		{Name: "tmpfs", Args: "DST[:size=64m,inodes=1000,mode=1777,noexec]", Many: true, Set: b.setTmpfs,
			Help: "an empty directory in memory; what is written there is dropped at the end"},
		{Name: "symlink", Args: "TEXT LINKPATH", Many: true, Set: b.mountFlag(nsjail.Mount{Type: nsjail.MountSymlink}),
			Help: "a symbolic link at LINKPATH with the text TEXT"},
		{Name: "dir", Args: "DST", Many: true, Set: b.mountFlag(nsjail.Mount{Type: nsjail.MountDir}),
			Help: "an empty directory"},
		{Name: "file", Args: "SRC DST", Many: true, Files: true, Set: b.mountFlag(nsjail.Mount{Type: nsjail.MountFile}),
			Help: "a private read-only copy of the file SRC at DST"},
		{Name: "protect", Args: "PATH", Many: true, Set: b.setProtect,
			Help: "let the payload neither change nor create PATH, in each writable mount, or at /PATH of the jail; " +
				spec.ProtectGit + " is for files that git and other tools act on, the default for flags that bind " +
				"a directory of a git repository writable"},
		{Name: "no-protect", Args: "PATH", Many: true,
			Set:  b.list("protect", &b.inv.spec.Protect, func(p string) string { return "!" + clean(p) }),
			Bare: cli.Switch(&b.unprotected, true),
			Help: "do not protect PATH, or without =PATH, nothing by default"},
		{Name: "git", Args: "MODE", Path: "git", Words: spec.GitModes, Set: cli.Text(&b.inv.spec.Git, "data"),
			Help: "show git directories writable, of which only data comes back (data, the default), read-only, or all (rw)"},
		{Name: "etc", Args: "NAME", Many: true,
			Set: b.list("etc", &b.inv.spec.Etc, func(name string) string { return strings.TrimPrefix(name, "/etc/") }),
			Help: "show /etc/NAME of the host too, as far as everybody may read it; " +
				"brig doctor lists what programs look for there"},
		{Name: "image", Args: "NAME", Path: "image", Set: b.setImage,
			Help: "use an image as the root, as docker names it: python:3.12-slim; it gives the command, the variables, the " +
				"directory and the user that no flag gives"},
		{Name: "image-store", Args: "DIR", Files: true, Path: "image_store", Set: cli.Text(&b.inv.imageStore, "./images"),
			Help: "look for the image in DIR instead of /var/lib/brig/images for root, or brig/images in $XDG_DATA_HOME"},
		{Name: "pull", Args: "WHEN", Path: "pull", Words: pullWords, Set: cli.Text(&b.inv.pull, "missing"),
			Help: "fetch the image with brigd image pull: never, missing (the default) or always"},
		{Name: "entrypoint", Args: "COMMAND", Path: "entrypoint", Set: b.setEntrypoint,
			Help: "run this instead of the image's entrypoint and command, with the words after the flags; '' is none"},
		{Name: "rootfs", Args: "DIR", Files: true, Path: "rootfs.path", Set: b.setRootfs,
			Help: "use the directory tree DIR as the root instead of the host's /usr"},
		{Name: "rootfs-writable", Args: "SIZE,inodes=N,store=disk", Path: "rootfs.writable", Set: b.setRootfsWritable,
			Bare: cli.Switch(&b.inv.spec.Rootfs.Writable, true),
			Help: "let the payload write to its root; up to SIZE is kept in memory, or on disk, and dropped at the end"},
		{Name: "commit", Args: "NAME", Path: "rootfs.keep", Set: cli.Text(&b.inv.commit, "app:1"),
			Help: "make the image NAME of --image and what the command has changed in its writable root, if it exits with 0"},
	})
}

// mountFlag returns the setter of a mount flag. Its last value is the target. With two values, the first is the source.
func (b *builder) mountFlag(m nsjail.Mount) func([]string) error {
	return func(v []string) error {
		added := m
		added.Target = v[len(v)-1]
		if len(v) == 2 {
			added.Source = v[0]
		}
		b.mount(added)
		return nil
	}
}

func (b *builder) setTmpfs(v []string) error {
	target, options, has := strings.Cut(v[0], ":")
	m := nsjail.Mount{Type: nsjail.MountTmpfs, Target: target}
	if has {
		if err := mountOptions(&m, options, "mode"); err != nil {
			return err
		}
	}
	b.mount(m)
	return nil
}

// setCOW reads SRC, then a target if it is absolute, then options.
func (b *builder) setCOW(v []string) error {
	src, rest, _ := cutSource(v[0])
	m := nsjail.Mount{Type: nsjail.MountCOW, Source: src, Target: spec.DefaultWorkdir}
	if strings.HasPrefix(rest, "/") {
		m.Target, rest, _ = strings.Cut(rest, ":")
	}
	if rest != "" {
		if err := mountOptions(&m, strings.ReplaceAll(rest, ":", ","), "store"); err != nil {
			return err
		}
	}
	b.mount(m)
	return nil
}

// mountOptions reads size=, inodes= and the option of this type of mount.
func mountOptions(m *nsjail.Mount, options, own string) error {
	for option := range strings.SplitSeq(options, ",") {
		if err := mountOption(m, option, own); err != nil {
			return err
		}
	}
	return nil
}

func mountOption(m *nsjail.Mount, option, own string) error {
	name, value, has := strings.Cut(option, "=")
	switch name {
	case "noexec":
		if m.NoExec = true; has || m.Type != nsjail.MountTmpfs {
			return errors.New("noexec is an option of a tmpfs, without a value; write it alone, or leave it out")
		}
		return nil
	case "size":
		return setSize(&m.Size, value, "size=64m")
	case "inodes", "nr_inodes":
		return setInodes(&m.Inodes, value)
	case own:
		if value == "" {
			return fmt.Errorf("%s is empty; write it as in %s", own, map[string]string{"mode": "mode=1777",
				"store": "store=disk"}[own])
		}
		*map[string]*string{"mode": &m.Mode, "store": &m.Store}[own] = value
		return nil
	}
	fix := "write size=, inodes= or " + own + "="
	if near := words.Nearest(name, []string{"size", "inodes", own}); near != "" {
		fix = "did you mean " + near + "=?"
	}
	return fmt.Errorf("%s is not an option of a %s; %s", words.Quote(option), m.Type, fix)
}

func setSize(to *nsjail.Bytes, value, example string) (err error) {
	if *to, err = spec.ParseBytes(value); err == nil && *to == 0 {
		err = errors.New("size 0 holds nothing; write a size, as in " + example)
	}
	return err
}

func setInodes(to *int64, value string) error {
	if err := cli.Whole(to, value, 1, math.MaxInt64, "is not a number of files; write it as in inodes=1000"); err != nil {
		return fmt.Errorf("inodes %w", err)
	}
	return nil
}

func (b *builder) setRootfs(v []string) error {
	if v[0] == "" {
		return errors.New("it is empty; name a directory")
	}
	b.inv.origin["rootfs"] = b.flag // the path under which Look reports errors of the root
	b.inv.spec.Rootfs.Path = v[0]
	return nil
}

func (b *builder) setImage(v []string) error {
	if _, err := image.ParseName(v[0]); err != nil {
		return err
	}
	b.inv.image = v[0]
	return nil
}

func (b *builder) setEntrypoint(v []string) error {
	b.inv.entrypoint = &v[0]
	return nil
}

func (b *builder) setRootfsWritable(v []string) (err error) {
	root := &b.inv.spec.Rootfs
	for option := range strings.SplitSeq(v[0], ",") {
		name, value, _ := strings.Cut(option, "=")
		switch name {
		case "store":
			root.Store = value
		case "inodes":
			err = setInodes(&root.Inodes, value)
		default:
			size := strings.TrimPrefix(option, "size=")
			if _, err := spec.ParseBytes(size); err != nil {
				return fmt.Errorf("%w; it is SIZE, inodes=N and store=disk, as in --rootfs-writable=1g,store=disk", err)
			}
			err = setSize(&root.Size, size, "--rootfs-writable=1g")
		}
		if err != nil {
			return err
		}
	}
	for _, field := range []string{"rootfs.size", "rootfs.inodes", "rootfs.store"} {
		b.inv.origin[field] = b.flag
	}
	root.Writable = true
	return nil
}

func (b *builder) setProtect(v []string) error {
	b.inv.origin["protect"] = b.flag
	b.add("protect", &b.inv.spec.Protect, clean(v[0]))
	return nil
}

// clean removes slashes from the end of a path, which a shell's completion adds.
func clean(p string) string {
	if len(p) > 1 {
		return p[:1] + strings.TrimRight(p[1:], "/")
	}
	return p
}

// atOwnPaths changes the mounts of flags for a jail without a mount namespace, in which each directory is where it is
// on the host. With --work the payload starts there.
func (b *builder) atOwnPaths() error {
	s := &b.inv.spec
	for i := range s.Mounts {
		m := &s.Mounts[i]
		flag := b.inv.origin[place("mounts", i)]
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
			s.Workdir = cmp.Or(s.Workdir, m.Target)
		}
	}
	return nil
}

// protectByDefault protects the files of a git repository if a flag shows a directory writable.
func (b *builder) protectByDefault() {
	s := &b.inv.spec
	for i, m := range s.Mounts {
		if _, byFlag := b.inv.origin[place("mounts", i)]; byFlag && m.Writes() && !b.unprotected &&
			!slices.Contains(s.Protect, spec.ProtectGit) {
			s.Protect, b.inv.origin["protect"] = append(s.Protect, spec.ProtectGit), "--protect"
		}
	}
}
