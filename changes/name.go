package changes

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"brig/internal/words"
)

const (
	pathMax = 4096 // bytes of a path with its NUL: limits.h
	nameMax = 255  // bytes of one name
)

// whiteout is what the name of a deleted file begins with in an OCI layer. No file of a layer can have such a name.
const whiteout = ".wh."

// itself is the path of the directory of a set. It has no change but one of its mode.
const itself = "."

// checkPath returns an error if path cannot be a file below a directory: it is absolute, empty or too long, or has a
// name that is empty, . or .. or has a NUL.
func checkPath(path string) error {
	if path == "" || len(path) >= pathMax || strings.IndexByte(path, 0) >= 0 {
		return errors.New(words.Quote(path) + " is not a path of a file below a directory")
	}
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." || name == ".." || len(name) > nameMax {
			return fmt.Errorf("%s has the name %s in it", words.Quote(path), words.Quote(name))
		}
	}
	return nil
}

// at returns an error with the path that it is about.
func at(path string, err error) error { return fmt.Errorf("%s: %w", words.Quote(path), err) }

// join returns the path of a name in a directory; "" is the directory of the set itself.
func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// split returns the directory and the last name of a path.
func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

// under reports whether path is dir or below it.
func under(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/')
}

// Name is a path or the text of a symbolic link: any bytes but NUL. In JSON it is a string; one that is not UTF-8, or
// begins with a double quote, is there as GitQuote writes it.
type Name string

// MarshalText writes the name for JSON.
func (n Name) MarshalText() ([]byte, error) {
	if utf8.ValidString(string(n)) && !strings.HasPrefix(string(n), `"`) {
		return []byte(n), nil
	}
	return []byte(quoted(string(n))), nil
}

// UnmarshalText reads what MarshalText has written. Go's quoted strings have all escapes of GitQuote.
func (n *Name) UnmarshalText(text []byte) error {
	s := string(text)
	if strings.HasPrefix(s, `"`) {
		var err error
		if s, err = strconv.Unquote(s); err != nil {
			return errors.New(words.Quote(string(text)) + " is not a quoted name")
		}
	}
	*n = Name(s)
	return nil
}

// GitQuote returns a path as git(1) prints it: as it is, or if it has a quote, a backslash, a control character or a
// byte beyond ASCII, in double quotes with C's escapes (core.quotePath in git-config(1)).
func GitQuote(path string) string {
	if q := quoted(path); len(q) > len(path)+2 {
		return q
	}
	return path
}

func quoted(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(path) {
		switch c := path[i]; {
		case c >= 7 && c <= 13:
			b.WriteString(`\` + "abtnvfr"[c-7:c-6])
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(rune(c)))
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}
