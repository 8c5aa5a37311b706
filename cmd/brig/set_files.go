package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"brig/nsjail"
)

// builder applies flags to an invocation, one after the other.
type builder struct {
	inv      *invocation
	read     readFunc
	flag     string // the flag that is being applied, as "--memory"
	fromSpec int    // how many mounts --spec brought
}

// mount adds a mount. One of the --spec with the same target gives way, since flags change the Spec; two flags with
// the same target are a slip, which Check finds.
func (b *builder) mount(m nsjail.Mount) {
	mounts := b.inv.spec.Mounts
	at := len(mounts)
	for i := range mounts[:min(b.fromSpec, at)] {
		_, byFlag := b.inv.origin[place("mounts", i)]
		if mounts[i].Target == m.Target && !byFlag {
			at = i
		}
	}
	if at == len(mounts) {
		mounts = append(mounts, m)
	}
	mounts[at] = m
	b.inv.spec.Mounts = mounts
	b.inv.origin[place("mounts", at)] = b.flag
}

// add appends to a list of the Spec and remembers which flag did.
func (b *builder) add(field string, to *[]string, value string) {
	b.inv.origin[place(field, len(*to))] = b.flag
	*to = append(*to, value)
}

func place(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// dirFlag sets --input, --work and --output.
func dirFlag(target string, writable bool) func(*builder, []string) error {
	return func(b *builder, v []string) error {
		src, dst, hasDst := strings.Cut(v[0], ":")
		if !hasDst {
			dst = target
		}
		if strings.Contains(dst, ":") {
			other := "--ro-bind"
			if writable {
				other = "--bind"
			}
			return fmt.Errorf("%s has more than one colon; write %s SRC DST", show(v[0]), other)
		}
		b.mount(nsjail.Mount{Type: nsjail.MountBind, Source: src, Target: dst, Writable: writable})
		return nil
	}
}

// mountFlag sets the flags whose last word is the target and whose first of two is the source.
func mountFlag(m nsjail.Mount) func(*builder, []string) error {
	return func(b *builder, v []string) error {
		added := m
		added.Target = v[len(v)-1]
		if len(v) == 2 {
			added.Source = v[0]
		}
		b.mount(added)
		return nil
	}
}

func setTmpfs(b *builder, v []string) error {
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
			return fmt.Errorf("inodes %s is not a number of files; write it as in inodes=1000", show(value))
		}
		return nil
	case "mode":
		if m.Mode = value; value == "" {
			return errors.New("mode is empty; write it as in mode=1777")
		}
		return nil
	}
	near := nsjail.Nearest(name, []string{"size", "inodes", "mode"})
	if near == "" {
		return fmt.Errorf("%s is not an option of a tmpfs; write size=, inodes= or mode=", show(option))
	}
	return fmt.Errorf("%s is not an option of a tmpfs; did you mean %s=?", show(option), near)
}

func setRootfs(b *builder, v []string) error {
	if v[0] == "" {
		return errors.New("it is empty; name a directory")
	}
	b.inv.origin["rootfs"] = b.flag // reading the machine names the place so
	b.inv.spec.Rootfs.Path = v[0]
	return nil
}

func setRootfsWritable(b *builder, v []string) (err error) {
	if b.inv.spec.Rootfs.Size, err = nsjail.ParseBytes(v[0]); err == nil && b.inv.spec.Rootfs.Size == 0 {
		return errors.New("size 0 holds nothing; write a size, as in --rootfs-writable=1g")
	}
	b.inv.origin["rootfs.size"] = b.flag
	b.inv.spec.Rootfs.Writable = true
	return err
}

func setRootfsBare(b *builder) error {
	b.inv.spec.Rootfs.Writable = true
	return nil
}

func setEtc(b *builder, v []string) error {
	b.add("etc", &b.inv.spec.Etc, strings.TrimPrefix(v[0], "/etc/"))
	return nil
}
