// Package osroot has a small root of a machine, for tests that resolve paths, and knows what this machine's may lack.
package osroot

import (
	"os"
	"path/filepath"
	"testing"

	"brig/internal/test/must"
)

// New makes a tree to be a jail's root: real files, a chain of links, a program that is many, links out of the tree.
func New(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"usr/bin", "usr/local/bin", "etc", "opt/tools", "work"} {
		must.Do(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	for name, mode := range map[string]os.FileMode{"usr/bin/python3.11": 0o755, "usr/bin/busybox": 0o755,
		"usr/bin/git": 0o755, "usr/bin/plain": 0o644,
		"opt/tools/git": 0o755, "usr/bin/secretive": 0o750, "opt/tools/secretive": 0o755, "etc/passwd": 0o644} {
		must.Do(t, os.WriteFile(filepath.Join(root, name), []byte(name), mode))
		must.Do(t, os.Chmod(filepath.Join(root, name), mode))
	}
	for link, to := range map[string]string{
		"bin": "usr/bin", "usr/bin/python3": "python3.11", "usr/bin/ls": "busybox", "usr/bin/sh": "/usr/bin/busybox",
		"usr/bin/loop": "loop",
		"usr/bin/out":  "../../../../../../../../../../bin/sh", "usr/bin/nowhere": "missing",
	} {
		must.Do(t, os.Symlink(to, filepath.Join(root, link)))
	}
	return root
}

// PublicEtc returns the name of a directory of public configuration in /etc that this machine has.
func PublicEtc(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"fonts", "ld.so.conf.d", "profile.d", "terminfo"} {
		if st, err := os.Stat("/etc/" + name); err == nil && st.IsDir() {
			return name
		}
	}
	t.Fatal("/etc has none of the directories that are known here")
	return ""
}
