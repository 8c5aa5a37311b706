package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"brig/internal/words"
)

func (c *checker) rootfs(r Rootfs) {
	c.hostPath("rootfs.path", r.Path)
	if c.text("rootfs.image", r.Image) && r.Image != "" && r.Path == "" {
		c.add("rootfs.image", words.Quote(r.Image)+" has not been looked up",
			"set rootfs.path to its tree (package image/asroot)")
	}
	c.store("rootfs.store", r.Store)
	const noChanges, noRoom = "a read-only rootfs has no changes", "a read-only rootfs holds nothing"
	const orRemove = "make it writable or remove "
	for _, f := range []struct {
		wrong               bool
		field, why, instead string
	}{
		{r.System != "" && r.System != SystemPrivate && r.System != SystemShared, "system",
			words.Quote(string(r.System)) + " is not how the host's /usr is shown", "write private or shared"},
		{r.System != "" && r.Path != "", "system", "a jail with a root of its own does not show the host's /usr",
			"remove it, or leave the root out"},
		{r.Path == "" && r.Image == "" && r.Writable, "writable", "there is no rootfs to write to",
			"name a directory as its path"},
		{r.Keep && !r.Writable, "keep", noChanges, orRemove + "this"},
		{r.Store != "" && !r.Writable, "store", noChanges, orRemove + "this"},
		{r.Size < 0, "size", strconv.Itoa(int(r.Size)) + " is negative", "write a size, as in 1g"},
		{r.Size > 0 && !r.Writable, "size", noRoom, orRemove + "the size"},
		{r.Inodes < 0 || r.Inodes > DefaultRootInodes, "inodes",
			fmt.Sprintf("%d is not between 1 and %d", r.Inodes, DefaultRootInodes), "write a number of files, as in 1000"},
		{0 < r.Inodes && r.Inodes <= DefaultRootInodes && !r.Writable, "inodes", noRoom, orRemove + "the number of files"},
	} {
		if f.wrong {
			c.add("rootfs."+f.field, f.why, f.instead)
		}
	}
}

// minScratch has room for the /etc of a jail and the mount points of any Spec, in bytes.
const minScratch = 1 << 20

func (c *checker) scratch(s *Spec) {
	if s.Scratch != 0 && s.Scratch < minScratch {
		c.add("scratch", fmt.Sprintf("%d has no room for the jail's own files", s.Scratch), "write 1m or more")
	} else if s.Scratch > 0 && s.Rootfs.Writable && s.Rootfs.Store != StoreDisk {
		c.problems = append(c.problems, Problem{"scratch", "a writable root in memory holds /tmp and the like, too",
			"write the size of both as rootfs.size, as in " + words.Set("rootfs.size", "2g") +
				", or keep the root's changes on disk"})
	}
}

// hostPath checks a path of the host, which may hold any byte but NUL.
func (c *checker) hostPath(field, p string) bool {
	if len(p) >= maxPath {
		c.add(field, fmt.Sprintf("%s is longer than %d bytes", words.Quote(p), maxPath-1), "shorten it")
		return false
	}
	return c.bytes(field, p)
}

func (c *checker) mounts(mounts []Mount) {
	if len(mounts) > maxMounts {
		c.add("mounts", fmt.Sprintf("%d is more than %d", len(mounts), maxMounts), "bind a common parent directory instead")
		return
	}
	data := 0
	for i, m := range mounts {
		if data += len(m.Content); data > maxData {
			c.add("mounts", fmt.Sprintf("their contents are more than %s together", Bytes(maxData)), "bind files instead")
			return
		}
		field := Index("mounts", i)
		c.mountFields(field, m)
		if c.target(field+".target", m) {
			c.overlap(mounts, i)
		}
	}
}

// overlap rejects a target that an earlier mount has, and a mount that would hide an earlier one.
func (c *checker) overlap(mounts []Mount, i int) {
	field, m := Index("mounts", i)+".target", mounts[i]
	for j, earlier := range mounts[:i] {
		if earlier.Target == m.Target {
			c.add(field, words.Quote(m.Target)+" is already the target of "+Index("mounts", j), "remove one of the two")
			return
		}
		if m.Type != MountDir && strings.HasPrefix(earlier.Target, m.Target+"/") {
			c.add(field, fmt.Sprintf("%s would hide %s of %s", words.Quote(m.Target), words.Quote(earlier.Target),
				Index("mounts", j)),
				"put it before that one")
			return
		}
	}
}

// target checks the target of a mount and reports whether it is usable.
func (c *checker) target(field string, m Mount) bool {
	if !c.text(field, m.Target) || !c.cleanPath(field, m.Target) {
		return false
	}
	if m.Target == "/" {
		c.add(field, `"/" is the root itself`, "use rootfs, or a target below /")
		return false
	}
	if m.Target == "/dev/shm" && m.Type == MountTmpfs { // allowed: it changes the size of /dev/shm
		return true
	}
	for _, reserved := range []string{"/proc", "/dev", "/sys"} {
		if m.Target == reserved || strings.HasPrefix(m.Target, reserved+"/") {
			c.add(field, words.Quote(m.Target)+" is reserved: the jail makes its own "+reserved, "choose another target")
			return false
		}
	}
	return true
}

// mountType is a row of the table of types of mounts: what Check and policies know of a type.
type mountType struct {
	name   MountType
	source string // what to write if Source is empty; "" if the type has no source
	fields string // the optional fields that the type has, separated by blanks
	own    bool   // it shows nothing of the host, nor of another jail
}

var mountTypes = []mountType{
	{name: MountBind, source: hostSource, fields: "writable plain no_exec"},
	{name: MountTmpfs, fields: "mode size inodes no_exec", own: true},
	{name: MountDir, fields: "mode", own: true},
	{name: MountSymlink, source: "write the text of the symlink", own: true},
	{name: MountFile, source: hostSource, fields: "mode"},
	{name: MountData, fields: "mode content", own: true},
	{name: MountVolume, source: hostSource, fields: "writable no_exec"},
	{name: MountCOW, source: "name a directory of the host", fields: "size inodes store"},
}

const hostSource = "name a path of the host"

// OwnFiles reports whether a mount of this type shows nothing of the host, nor of another jail.
func (t MountType) OwnFiles() bool {
	return slices.ContainsFunc(mountTypes, func(row mountType) bool { return row.name == t && row.own })
}

// having lists the types that have a field: "a tmpfs or a cow".
func having(field string) string {
	var types []string
	for _, t := range mountTypes {
		if slices.Contains(strings.Fields(t.fields), field) {
			types = append(types, "a "+string(t.name))
		}
	}
	return words.Or(types)
}

// mountFields checks that a mount has the fields of its type and no others.
func (c *checker) mountFields(field string, m Mount) {
	row := slices.IndexFunc(mountTypes, func(t mountType) bool { return t.name == m.Type })
	if row < 0 {
		c.unknownType(field+".type", string(m.Type))
		return
	}
	t := mountTypes[row]
	c.source(field+".source", t, m.Source)
	for _, f := range []struct {
		name string
		set  bool
	}{{"writable", m.Writable}, {"content", m.Content != ""}, {"plain", m.Plain},
		{"no_exec", m.NoExec}, {"mode", m.Mode != ""}, {"size", m.Size > 0}, {"inodes", m.Inodes > 0},
		{"store", m.Store != ""}} {
		switch {
		case !f.set || slices.Contains(strings.Fields(t.fields), f.name):
		case f.name == "writable" && m.Type == MountCOW:
			c.add(field+".writable", "a cow is always writable", "remove it")
		default:
			c.add(field+"."+f.name, "it is only for "+having(f.name), "remove it")
		}
	}
	if len(m.Content) > MaxFileCopy {
		c.add(field+".content", fmt.Sprintf("%d bytes are more than %s", len(m.Content), Bytes(MaxFileCopy)),
			"bind a file instead")
	}
	if m.Held != nil && (m.Type != MountBind && m.Type != MountCOW || m.Held.File == nil) {
		c.add(field+".held", "it is an open file, and only for a bind or a cow", "leave it nil")
	}
	if h := m.Held; h != nil && (h.Internal || h.Most != 0) &&
		(m.Type != MountBind || !m.Writable || min(h.Used, h.Most) < 0) {
		c.add(field+".held", "internal and most are for a directory that is bound writable", "leave them out")
	}
	if m.Live && (m.Type != MountBind || m.Writable) {
		c.add(field+".live", "it is only for a read-only bind", "remove it")
	}
	c.mode(field+".mode", m.Mode)
	if n := min(int64(m.Size), m.Inodes); n < 0 {
		name := "size"
		if m.Size >= 0 {
			name = "inodes"
		}
		c.add(field+"."+name, fmt.Sprintf("%d is negative", n), "write a positive number")
	}
	c.store(field+".store", m.Store)
}

func (c *checker) store(field, store string) {
	if store != "" && store != "memory" && store != StoreDisk {
		c.add(field, words.Quote(store)+" is not a store", "write memory or disk")
	}
}

// source checks the source of a mount. That of a volume is its id and a directory of it.
func (c *checker) source(field string, t mountType, source string) {
	id, dir, _ := strings.Cut(source, "/")
	switch {
	case t.source != "" && source == "":
		c.add(field, "is empty", t.source)
	case t.source == "" && source != "":
		c.add(field, fmt.Sprintf("%s: a %s has no source", words.Quote(source), t.name), "remove it")
	case t.name == MountVolume && (id == "" || dir == "" || dir == "." || dir == ".." || strings.Contains(dir, "/")):
		c.add(field, words.Quote(source)+" does not name a directory of a volume",
			`write the volume's id, "/", and one directory`)
		c.hostPath(field, source)
	default:
		c.hostPath(field, source)
	}
}

func (c *checker) unknownType(field, value string) {
	types := make([]string, len(mountTypes))
	for i, t := range mountTypes {
		types[i] = string(t.name)
	}
	if value == "" {
		c.add(field, "is empty", "write one of "+strings.Join(types, ", "))
		return
	}
	c.add(field, words.Quote(value)+" is not a type of mount", words.DidYouMean(value, types))
}

func (c *checker) mode(field, mode string) {
	v, err := strconv.ParseUint(mode, 8, 16)
	if mode != "" && (err != nil || v > 0o1777 || !utf8.ValidString(mode)) {
		c.add(field, words.Quote(mode)+" is not a mode", "write up to 1777 in octal digits, as in 755")
	}
}
