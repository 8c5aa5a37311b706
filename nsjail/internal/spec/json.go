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

// MaxSpecSize is the largest JSON that ParseSpec accepts, in bytes.
const MaxSpecSize = 4 << 20

// JSON returns the Spec in its canonical form: fields in the order of the type, defaults omitted, an indent of two
// blanks, a newline at the end. ParseSpec parses it. Bytes that are not UTF-8 become U+FFFD, since JSON cannot carry
// them (see NotUTF8). JSON returns nil if Limits.CPUs is not a number, which Check rejects.
func (s *Spec) JSON() []byte {
	var indented bytes.Buffer
	if err := json.Indent(&indented, s.compact(), "", "  "); err != nil {
		return nil
	}
	indented.WriteByte('\n')
	return indented.Bytes()
}

// Digest returns "sha256:" and a hash of the Spec's meaning: its canonical form without indent and without the contents
// of mounts, followed by the hashes of those contents. Strings that JSON cannot carry are also hashed byte by byte, so
// that different Specs have different digests.
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

// NotUTF8 returns the strings that the Spec may hold but JSON cannot carry.
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

// eachRaw calls visit for each string in which Check allows any byte but NUL.
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

// compact returns the canonical form without indent, or nil if Limits.CPUs is not a number.
func (s *Spec) compact() []byte {
	c := *s
	if c.Args == nil {
		c.Args = []string{} // ParseSpec does not accept null as a list
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(&c); err != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
