package policy

import (
	"os"
	"path/filepath"
	"testing"

	"brig/brigd/job"
	"brig/internal/test/must"
	"brig/nsjail"
)

// parsed reads a policy that must be right.
func parsed(t testing.TB, text string) *Policy {
	t.Helper()
	p, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

// decided runs one policy over a Spec.
func decided(t testing.TB, p *Policy, s nsjail.Spec) *job.Job {
	t.Helper()
	j := &job.Job{Spec: s}
	p.Decide(j)
	if r := j.Verdict.Refusal; r != nil &&
		(r.Layer != "policy" && r.Code != "invalid_request" || r.Code == "" || r.Message == "" || r.Rule == "" ||
			len(r.NextSteps) == 0 || r.NextSteps[0] == "") {
		t.Errorf("a refusal that nobody can act on: %+v", r)
	}
	return j
}

// image makes a tree to be a jail's root: real files, a chain of links, a program that is many, links out of the tree.
func image(t testing.TB) string {
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
