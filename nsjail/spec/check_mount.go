package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"brig/internal/words"
)

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

// checkMount checks that a mount has the fields of its type and no others.
func checkMount(field string, m Mount) (c problems) {
	row := slices.IndexFunc(mountTypes, func(t mountType) bool { return t.name == m.Type })
	if row < 0 {
		return unknownType(field+".type", string(m.Type))
	}
	t := mountTypes[row]
	c = append(c, checkSource(field+".source", t, m.Source)...)
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
	c = append(c, checkMode(field+".mode", m.Mode)...)
	if n := min(int64(m.Size), m.Inodes); n < 0 {
		name := "size"
		if m.Size >= 0 {
			name = "inodes"
		}
		c.add(field+"."+name, fmt.Sprintf("%d is negative", n), "write a positive number")
	}
	return append(c, checkStore(field+".store", m.Store)...)
}

// checkSource checks the source of a mount. That of a volume is its id and a directory of it.
func checkSource(field string, t mountType, source string) (c problems) {
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
	return c
}

func unknownType(field, value string) (c problems) {
	types := make([]string, len(mountTypes))
	for i, t := range mountTypes {
		types[i] = string(t.name)
	}
	if value == "" {
		c.add(field, "is empty", "write one of "+strings.Join(types, ", "))
		return c
	}
	c.add(field, words.Quote(value)+" is not a type of mount", words.DidYouMean(value, types))
	return c
}

func checkMode(field, mode string) (c problems) {
	v, err := strconv.ParseUint(mode, 8, 16)
	if mode != "" && (err != nil || v > 0o1777 || !utf8.ValidString(mode)) {
		c.add(field, words.Quote(mode)+" is not a mode", "write up to 1777 in octal digits, as in 755")
	}
	return c
}
