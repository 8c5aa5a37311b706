package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
)

func (b *builder) fileFlags() []cli.Flag {
	return cli.InGroup("Files", []cli.Flag{
		{Name: "input", Args: "SRC[:DST]", Many: true, Files: true, Set: b.dirFlag("/input", false),
			Help: "show SRC of the host at /input, or DST, read-only"},
		{Name: "work", Args: "SRC[:DST]", Many: true, Files: true, Set: b.dirFlag("/work", true),
			Help: "show SRC at /work, or DST, writable; the payload starts in /work"},
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
		{Name: "tmpfs", Args: "DST[:size=64m,inodes=1000,mode=1777]", Many: true, Set: b.setTmpfs,
			Help: "an empty directory in memory; what is written there is dropped at the end"},
		{Name: "symlink", Args: "TEXT LINKPATH", Many: true, Set: b.mountFlag(nsjail.Mount{Type: nsjail.MountSymlink}),
			Help: "a symbolic link at LINKPATH that says TEXT"},
		{Name: "dir", Args: "DST", Many: true, Set: b.mountFlag(nsjail.Mount{Type: nsjail.MountDir}),
			Help: "an empty directory"},
		{Name: "file", Args: "SRC DST", Many: true, Files: true, Set: b.mountFlag(nsjail.Mount{Type: nsjail.MountFile}),
			Help: "a private read-only copy of the file SRC at DST"},
		{Name: "etc", Args: "NAME", Many: true, Set: b.setEtc,
			Help: "show /etc/NAME of the host too, as far as everybody may read it; " +
				"brig doctor lists what programs look for there"},
		{Name: "rootfs", Args: "DIR", Files: true, Path: "rootfs.path", Set: b.setRootfs,
			Help: "use the directory tree DIR as the root instead of the host's /usr"},
		{Name: "rootfs-writable", Args: "SIZE", Path: "rootfs.writable", Set: b.setRootfsWritable,
			Bare: cli.Switch(&b.inv.spec.Rootfs.Writable, true),
			Help: "let the payload write to its root; up to SIZE is kept in memory and dropped at the end"},
	})
}

// dirFlag returns the setter of --input, --work and --output.
func (b *builder) dirFlag(target string, writable bool) func([]string) error {
	return func(v []string) error {
		src, dst, hasDst := strings.Cut(v[0], ":")
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
		b.mount(nsjail.Mount{Type: nsjail.MountBind, Source: src, Target: dst, Writable: writable})
		return nil
	}
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
		for _, option := range strings.Split(options, ",") {
			if err := tmpfsOption(&m, option); err != nil {
				return err
			}
		}
	}
	b.mount(m)
	return nil
}

func tmpfsOption(m *nsjail.Mount, option string) (err error) {
	name, value, _ := strings.Cut(option, "=")
	switch name {
	case "size":
		if m.Size, err = nsjail.ParseBytes(value); err == nil && m.Size == 0 {
			err = errors.New("size 0 holds nothing; write a size, as in size=64m")
		}
		return err
	case "inodes", "nr_inodes":
		if m.Inodes, err = strconv.ParseInt(value, 10, 64); err != nil || m.Inodes < 1 {
			return fmt.Errorf("inodes %s is not a number of files; write it as in inodes=1000", words.Quote(value))
		}
		return nil
	case "mode":
		if m.Mode = value; value == "" {
			return errors.New("mode is empty; write it as in mode=1777")
		}
		return nil
	}
	fix := "write size=, inodes= or mode="
	if near := words.Nearest(name, []string{"size", "inodes", "mode"}); near != "" {
		fix = "did you mean " + near + "=?"
	}
	return fmt.Errorf("%s is not an option of a tmpfs; %s", words.Quote(option), fix)
}

func (b *builder) setRootfs(v []string) error {
	if v[0] == "" {
		return errors.New("it is empty; name a directory")
	}
	b.inv.origin["rootfs"] = b.flag // the path under which Look reports errors of the root
	b.inv.spec.Rootfs.Path = v[0]
	return nil
}

func (b *builder) setRootfsWritable(v []string) (err error) {
	if b.inv.spec.Rootfs.Size, err = nsjail.ParseBytes(v[0]); err == nil && b.inv.spec.Rootfs.Size == 0 {
		return errors.New("size 0 holds nothing; write a size, as in --rootfs-writable=1g")
	}
	b.inv.origin["rootfs.size"] = b.flag
	b.inv.spec.Rootfs.Writable = true
	return err
}

func (b *builder) setEtc(v []string) error {
	b.add("etc", &b.inv.spec.Etc, strings.TrimPrefix(v[0], "/etc/"))
	return nil
}
