package spec

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"brig/internal/words"
)

const (
	maxPath = 4096 // PATH_MAX, with the closing NUL
	maxName = 255  // NAME_MAX
)

// problems collects what is wrong, so that one call reports it all. Its methods that report a bool check the form of a
// string, whichever field has it.
type problems []Problem

func (c *problems) add(path, reason, fix string) { c.refer(path, reason, words.Plain(fix)) }

// refer is add with a remedy that refers to fields.
func (c *problems) refer(path, reason string, fix Text) {
	*c = append(*c, Problem{Path: path, Reason: reason, Fix: fix})
}

// bytes rejects a string with a NUL, which no system call can carry.
func (c *problems) bytes(path, value string) bool {
	if i := strings.IndexByte(value, 0); i >= 0 {
		c.add(path, fmt.Sprintf("%s has a NUL byte at offset %d, which no system call can carry", words.Quote(value), i),
			"remove it")
		return false
	}
	return true
}

// text rejects a string that no system call or no JSON can carry.
func (c *problems) text(path, value string) bool {
	if !c.bytes(path, value) {
		return false
	}
	if !utf8.ValidString(value) {
		c.add(path, words.Quote(value)+" is not UTF-8", "write it in UTF-8")
		return false
	}
	return true
}

// hostPath checks a path of the host, which may hold any byte but NUL.
func (c *problems) hostPath(field, p string) bool {
	if len(p) >= maxPath {
		c.add(field, fmt.Sprintf("%s is longer than %d bytes", words.Quote(p), maxPath-1), "shorten it")
		return false
	}
	return c.bytes(field, p)
}

// cleanPath checks a path inside the jail and reports whether it is usable.
func (c *problems) cleanPath(field, p string) bool {
	switch clean := path.Clean("/" + p); {
	case p == "":
		c.add(field, "is empty", `write an absolute path, as in "/data"`)
	case len(p) >= maxPath:
		c.add(field, fmt.Sprintf("%s is longer than %d bytes", words.Quote(p), maxPath-1), "shorten it")
	case !path.IsAbs(p):
		c.add(field, words.Quote(p)+" is not absolute", "write "+words.Quote(clean))
	case p != clean:
		c.add(field, words.Quote(p)+" is not a clean path", "write "+words.Quote(clean))
	default:
		for _, name := range strings.Split(p, "/") {
			if len(name) > maxName {
				c.add(field, fmt.Sprintf("%s is longer than the %d bytes of a file name", words.Quote(name), maxName), "shorten it")
				return false
			}
		}
		return true
	}
	return false
}

// Index returns the path of a list element: "mounts[3]".
func Index(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }
