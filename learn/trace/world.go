package trace

import (
	"io/fs"
	"os"
	"path/filepath"

	"brig/learn"
)

// World looks at directories of the host for learn.Advise. It remembers its answers.
type World struct{ secrets map[string]bool }

// Has reports whether there is such a file.
func (*World) Has(host string) bool {
	_, err := os.Lstat(host)
	return err == nil
}

// maxFiles bounds a search for private files. A larger directory is treated as if it had one.
const maxFiles = 100_000

// Secrets reports whether a directory has a private file in it. It does not search installed packages, whose files are
// public.
func (w *World) Secrets(host string, public bool) bool {
	if found, known := w.secrets[host]; known {
		return found
	}
	n, found := 0, false
	_ = filepath.WalkDir(host, func(p string, d fs.DirEntry, err error) error {
		switch n++; {
		case p == host:
			return nil
		case n > maxFiles || learn.SecretName(d.Name()) || public && !everybodys(d):
			found = true
			return fs.SkipAll
		case err != nil && d.IsDir(): // the payload could read no more of it than this user
			return fs.SkipDir
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "site-packages" || d.Name() == "dist-packages"):
			return fs.SkipDir
		}
		return nil
	})
	if w.secrets == nil {
		w.secrets = map[string]bool{}
	}
	w.secrets[host] = found
	return found
}

// everybodys reports whether every user may read a file, or pass a directory, that everybody can reach. It
// returns false for a file that has been removed.
func everybodys(d fs.DirEntry) bool {
	st, err := d.Info()
	return err == nil && readable(st.Mode())
}
