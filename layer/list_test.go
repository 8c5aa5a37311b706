package layer

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brig/internal/owned"
	"brig/internal/sys"
	"brig/internal/test/must"
)

// list describes what is in a directory, sorted by name.
func list(t testing.TB, dir *os.File) (lines []string) {
	t.Helper()
	root, first := dir.Name(), map[uint64]string{}
	must.Do(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		name := strings.TrimPrefix(path, root+"/")
		shown := name
		if q := strconv.Quote(name); q != `"`+name+`"` {
			shown = q
		}
		line := fmt.Sprintf("file %s %o", shown, st.Mode&0o7777)
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			if to, ok := first[st.Ino]; ok {
				lines = append(lines, "hard "+shown+" => "+to)
				return nil
			}
			first[st.Ino] = name
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if len(text) > 10_000 {
				line += fmt.Sprintf(" %d bytes", len(text))
			} else if len(text) > 0 {
				line += " " + string(text)
			}
		case unix.S_IFDIR:
			line = fmt.Sprintf("dir %s %o", shown, st.Mode&0o7777)
		case unix.S_IFLNK:
			to, err := os.Readlink(path)
			lines = append(lines, "link "+shown+" -> "+to)
			return err
		default:
			return fmt.Errorf("%s has the mode %o", path, st.Mode)
		}
		lines = append(lines, line+attributes(t, path))
		return nil
	}))
	slices.SortFunc(lines, func(a, b string) int {
		return strings.Compare(unquote(strings.Fields(a)[1]), unquote(strings.Fields(b)[1]))
	})
	return lines
}

// attributes lists a file's extended attributes but for those of a security module.
func attributes(t testing.TB, path string) (out string) {
	t.Helper()
	names, value := make([]byte, 64<<10), make([]byte, 64<<10) // the kernel's bounds
	n := must.Get(unix.Llistxattr(path, names))(t)
	for _, name := range slices.Sorted(strings.SplitSeq(string(names[:n]), "\x00")) {
		if name == "" || strings.HasPrefix(name, "security.") {
			continue
		}
		n := must.Get(unix.Lgetxattr(path, name, value))(t)
		out += " " + name + "=" + string(value[:n])
	}
	return out
}

// remove removes a name of a directory, with all that is in it.
func remove(dir *os.File, name string) error {
	return sys.Control(dir, func(fd int) error { return owned.Remove(fd, name) })
}
