package spec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"brig/internal/strictjson"
	"brig/internal/words"
	egress "brig/netns/egress/policy"
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
	var c problems
	s.eachRaw(func(path, value string) {
		if !utf8.ValidString(value) {
			c.add(path, words.Quote(value)+" is not UTF-8, which JSON cannot carry",
				"rename it, or pass it as a flag of brig run")
		}
	})
	return c
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

// ParseSpec parses the JSON form of a Spec. It is strict, because a misspelt protection would be missing: unknown and
// repeated keys, null, values of the wrong type and data after the object are errors that name the place. Check
// examines what the values mean.
func ParseSpec(data []byte) (*Spec, error) {
	s := &Spec{}
	if err := document.Read(data, s); err != nil {
		return nil, err
	}
	return s, nil
}

// document describes the JSON form of a Spec: the tags of its type, and the types with a special syntax.
var document = strictjson.Document{Name: "the spec", MaxSize: MaxSpecSize, Special: special, Render: render}

func special(r *strictjson.Reader, path string, to any) (bool, error) {
	switch to := to.(type) {
	case *Bytes:
		return true, readBytes(r, path, to)
	case *Duration:
		return true, r.Quantity(path, `a duration, as in "30s"`, func(s string) (err error) {
			*to, err = ParseDuration(s)
			return err
		})
	case *map[string]Rlimit:
		return true, readMap(r, path, to, func(name string) error {
			if slices.Contains(RlimitNames(), name) {
				return nil
			}
			return fmt.Errorf("%s is not a resource of getrlimit(2); %s", words.Quote(name),
				words.DidYouMean(name, RlimitNames()))
		})
	case *map[string]Bytes:
		return true, readMap(r, path, to, func(size string) error {
			if hugePageSize(size) {
				return nil
			}
			return fmt.Errorf("%s is not a size of huge pages; %s", words.Quote(size), hugePageFix)
		})
	}
	return false, nil
}

// readBytes parses a size or, if the limit's row has AnyOf, -1 for no limit.
func readBytes(r *strictjson.Reader, path string, to *Bytes) error {
	want := `a size, as in "64m"`
	name, limit := strings.CutPrefix(path, "limits.")
	unlimited := limit && slices.ContainsFunc(limitRows, func(row Limit) bool { return row.Name == name && row.AnyOf })
	if unlimited {
		want += ", or -1"
	}
	return r.Quantity(path, want, func(s string) (err error) {
		if unlimited && s == "-1" {
			*to = -1
			return nil
		}
		*to, err = ParseBytes(s)
		return err
	})
}

// readMap parses an object whose keys check accepts. Accepted keys are safe to print in a path.
func readMap[T any](r *strictjson.Reader, path string, to *map[string]T, check func(key string) error) error {
	*to = map[string]T{}
	return r.Members(path, func(key string) error {
		if _, twice := (*to)[key]; twice {
			return r.Fail(path, fmt.Errorf("%s is there twice; remove one", words.Quote(key)))
		}
		if err := check(key); err != nil {
			return r.Fail(path, err)
		}
		var v T
		err := r.Value(path+"."+key, &v)
		(*to)[key] = v
		return err
	})
}

// render returns the message for a problem within an egress policy, with its place.
func render(e *strictjson.Error) error {
	if problem, ok := errors.AsType[*egress.Problem](e.Err); ok {
		return fmt.Errorf("%s: %s; %s", strings.TrimSuffix(e.Path+"."+problem.Path, "."), problem.Reason, problem.Fix)
	}
	return e
}
