package spec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"brig/internal/words"
)

// MaxSpecSize is the largest JSON that ParseSpec reads, in bytes.
const MaxSpecSize = 4 << 20

// JSON is the Spec in its canonical form: fields in the order of the type, defaults left out, two blanks of
// indent, a newline at the end. ParseSpec reads it back. Bytes that are not UTF-8 become U+FFFD, since JSON cannot
// carry them (see NotUTF8). It is nil when Limits.CPUs is not a number, which Check refuses.
func (s *Spec) JSON() []byte {
	var indented bytes.Buffer
	if err := json.Indent(&indented, s.compact(), "", "  "); err != nil {
		return nil
	}
	indented.WriteByte('\n')
	return indented.Bytes()
}

// Digest names what the Spec says: "sha256:" and the hash of its canonical form without indent, and without the
// contents of mounts, whose hashes follow. Strings that JSON cannot carry are hashed again byte by byte, so that two
// different Specs never share a digest.
func (s *Spec) Digest() string {
	h := sha256.New()
	c := *s
	for i, m := range s.Mounts {
		if m.Content == "" {
			continue
		}
		if &c.Mounts[0] == &s.Mounts[0] {
			c.Mounts = slices.Clone(s.Mounts)
		}
		c.Mounts[i].Content = ""
	}
	h.Write(c.compact())
	for i, m := range s.Mounts {
		if m.Content != "" {
			fmt.Fprintf(h, "\n%s.content=%x", Index("mounts", i), sha256.Sum256([]byte(m.Content)))
		}
	}
	c.eachRaw(func(path, value string) {
		if !utf8.ValidString(value) {
			fmt.Fprintf(h, "\n%s=%q", path, value)
		}
	})
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// NotUTF8 lists the strings that the Spec may hold and JSON cannot carry.
func (s *Spec) NotUTF8() []Problem {
	c := &checker{}
	s.eachRaw(c.textOnly)
	return c.problems
}

func (c *checker) textOnly(path, value string) {
	if !utf8.ValidString(value) {
		c.add(path, words.Quote(value)+" is not UTF-8, which JSON cannot carry",
			"rename it, or pass it as a flag of brig run")
	}
}

// eachRaw visits the strings that Check lets hold any byte but NUL.
func (s *Spec) eachRaw(visit func(path, value string)) {
	for i, a := range s.Args {
		visit(Index("args", i), a)
	}
	for i, e := range s.Env {
		visit(Index("env", i), e)
	}
	for i, m := range s.Mounts {
		visit(Index("mounts", i)+".source", m.Source)
		visit(Index("mounts", i)+".content", m.Content)
	}
	for i, l := range s.Limits.IO {
		visit(Index("limits.io", i)+".path", l.Path)
	}
	visit("cgroup_parent", s.CgroupParent)
	visit("rootfs.path", s.Rootfs.Path)
	visit("seccomp", s.Seccomp)
}

// compact is the canonical form without indent, or nil when Limits.CPUs is not a number.
func (s *Spec) compact() []byte {
	c := *s
	if c.Args == nil {
		c.Args = []string{} // null is not a list to ParseSpec
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(&c); err != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
