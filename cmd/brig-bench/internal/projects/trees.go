package projects

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// tree is what the files of the projects hold, by their path.
type tree map[string]string

// trees returns the files of all projects.
var trees = sync.OnceValue(func() tree {
	t := tree{}
	t.c()
	t.golang()
	t.node()
	t.python()
	return t
})

// list writes one text for each number below n.
func list(n int, format string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(format, "N", fmt.Sprint(i)))
	}
	return b.String()
}

func (t tree) c() {
	t["c/Makefile"] = "all: out/program\n\nout/program: $(patsubst %.c,out/%.o,$(wildcard *.c))\n\tgcc -o $@ $^\n\n" +
		"out/%.o: %.c | out\n\tgcc -O1 -c -o $@ $<\n\nout:\n\tmkdir out\n"
	t["c/main.c"] = list(sources, "int fN(int);\n") +
		"\nint main(int n, char **argv) {\n\treturn (0" + list(sources, " + fN(n)") + ") == 1;\n}\n"
	helpers := "#include <errno.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n" +
		list(20, "static int gN(int n) {\n\tint s = N;\n\tfor (int i = 0; i < n; i++)\n\t\ts = s * 31 + i % 7;\n"+
			"\treturn s;\n}\n\n")
	for i := range sources {
		sum := fmt.Sprintf("int f%d(int n) {\n\treturn 0", i) + list(20, " + gN(n)")
		t[fmt.Sprintf("c/f%d.c", i)] = helpers + sum + ";\n}\n"
	}
}

func (t tree) golang() {
	const parts = 10
	t["go/go.mod"] = "module project\n\ngo 1.21\n"
	for i := range parts {
		t[fmt.Sprintf("go/p%d/p.go", i)] = fmt.Sprintf("package p%d\n\nimport (\n\t\"encoding/json\"\n\t\"fmt\"\n)\n\n", i) +
			"// F returns the JSON of what it is passed.\nfunc F(v any) string {\n\tb, err := json.Marshal(v)\n" +
			"\treturn fmt.Sprint(string(b), err)\n}\n"
	}
	t["go/main.go"] = "package main\n\nimport (\n\t\"fmt\"\n\n" + list(parts, "\t\"project/pN\"\n") +
		")\n\nfunc main() {\n" + list(parts, "\tfmt.Println(pN.F(stamp))\n") + "}\n"
}

func (t tree) node() {
	type object = map[string]any
	needs, locked := object{}, object{}
	for i := range packages {
		name := fmt.Sprintf("p%d", i)
		file := fmt.Sprintf("packages/%s.tgz", name)
		t["npm/"+file] = tarball(name)
		sum := sha512.Sum512([]byte(t["npm/"+file]))
		needs[name] = "file:" + file
		locked["node_modules/"+name] = object{"version": "1.0.0", "resolved": "file:" + file,
			"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
	}
	locked[""] = object{"name": "project", "version": "1.0.0", "dependencies": needs}
	t["npm/package.json"] = encode(object{"name": "project", "version": "1.0.0", "dependencies": needs})
	t["npm/package-lock.json"] = encode(object{"name": "project", "version": "1.0.0", "lockfileVersion": 3,
		"requires": true, "packages": locked})
}

// tarball returns a package as npm packs it.
func tarball(name string) string {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	w := tar.NewWriter(zip)
	for _, f := range []struct{ name, text string }{
		{"package.json", fmt.Sprintf(`{"name":%q,"version":"1.0.0","main":"index.js"}`, name)},
		{"index.js", list(20, "exports.fN = () => N\n")},
		{"README.md", "# " + name + "\n"}, {"LICENSE", "MIT\n"},
	} {
		// writes into memory do not fail
		_ = w.WriteHeader(&tar.Header{Name: "package/" + f.name, Mode: 0o644, Size: int64(len(f.text))})
		_, _ = w.Write([]byte(f.text))
	}
	_, _ = w.Close(), zip.Close()
	return b.String()
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings can be encoded
	}
	return string(text)
}

func (t tree) python() {
	const files = 20
	for i := range files {
		t[fmt.Sprintf("py/test_%d.py", i)] = "import json, pathlib, pytest\n\n" +
			list(tests/files, "def test_N(tmp_path):\n    (tmp_path / 'a').write_text(json.dumps({'n': N}))\n"+
				"    assert json.loads((tmp_path / 'a').read_text()) == {'n': N}\n\n")
	}
}
