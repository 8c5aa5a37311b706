package policy

import (
	"path"
	"path/filepath"
	"slices"

	"brig/internal/sys"
)

// covers reports whether a resolved path is in a list or below one of its paths. It compares whole path components.
func covers(list []string, where string) bool {
	return slices.ContainsFunc(list, func(dir string) bool { return sys.Under(where, settled(dir)) })
}

// settled returns a policy's path with its symbolic links resolved, or unchanged if it does not exist.
func settled(dir string) string {
	if where, err := filepath.EvalSymlinks(dir); err == nil {
		return where
	}
	return path.Clean(dir)
}
