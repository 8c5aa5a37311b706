package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// makeImage is `image NAME CONFIG TREE`: put an image with this configuration into the store $WORK/store. Its root is a
// copy of TREE with sh and a few programs of this machine.
func makeImage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: image NAME CONFIG TREE")
	}
	hex := strings.Repeat("0", 64-2*len(args[0]))
	for _, c := range []byte(args[0]) {
		hex += string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15])
	}
	store := ts.MkAbs("store")
	dir := filepath.Join(store, "images", hex)
	name := filepath.Join(store, "names", "docker.io%library%"+args[0])
	tree := filepath.Join(dir, "tree")
	ts.Check(errors.Join(os.MkdirAll(dir, 0o755), os.MkdirAll(filepath.Dir(name), 0o755), os.CopyFS(tree, os.DirFS(ts.MkAbs(args[2])))))
	ts.Check(os.WriteFile(filepath.Join(dir, "image.json"), []byte(ts.ReadFile(args[1])), 0o644))
	ts.Check(os.Symlink("../images/"+hex, name))
	for _, program := range []string{"sh", "cat", "id", "ls", "env", "mkdir", "mv", "rm", "rmdir", "stat"} {
		found, err := exec.LookPath(program)
		ts.Check(err)
		libraries, err := exec.Command("ldd", found).Output()
		ts.Check(err)
		ts.Check(copyFile(found, filepath.Join(tree, "bin", program)))
		for _, word := range strings.Fields(string(libraries)) {
			if strings.HasPrefix(word, "/") {
				ts.Check(copyFile(word, filepath.Join(tree, word)))
			}
		}
	}
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, b, 0o755))
}
