package audit

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// Every change of a log is found, at the line where it is.
func TestTampering(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, Options{Path: path})
	e := Wrap(&echo{}, l)
	for i := range 5 {
		must.Get(e.Execute(context.Background(), newJob(fmt.Sprint("r", i))))(t)
	}
	closeLog(t, l)
	_, end := lines(t, path)
	seq, hash := end.LastSeq, end.LastHash
	good := must.Get(os.ReadFile(path))(t)
	split := func() [][]byte { return bytes.SplitAfter(bytes.Clone(good), []byte("\n")) }
	join := func(l [][]byte) []byte { return bytes.Join(l, nil) }
	rehash := func(line []byte, edit func(string) string) []byte { // a forger knows how to hash
		var old Line
		must.Do(t, json.Unmarshal(line, &old))
		_, fields, _ := strings.Cut(string(line[:len(line)-1-tailSize]), `"prev":"`+old.Prev+`",`)
		out, _ := build(old.Seq, old.Time, old.Prev, []byte(edit(fields)))
		return out
	}
	for what, c := range map[string]struct {
		line int
		edit func() []byte
	}{
		"edited": {3, func() []byte {
			l := split()
			l[2] = bytes.Replace(l[2], []byte(`"ci"`), []byte(`"cj"`), 1)
			return join(l)
		}},
		"hash edited": {3, func() []byte { l := split(); l[2][len(l[2])-6] ^= 1; return join(l) }},
		"edited, hashed": {4, func() []byte {
			l := split()
			l[2] = rehash(l[2], func(f string) string { return strings.Replace(f, `"ci"`, `"cj"`, 1) })
			return join(l)
		}},
		"deleted":                    {3, func() []byte { l := split(); return join(slices.Delete(l, 2, 3)) }},
		"two deleted":                {3, func() []byte { l := split(); return join(slices.Delete(l, 2, 4)) }},
		"first deleted, seq 2 first": {0, func() []byte { return join(split()[1:]) }},
		"doubled":                    {4, func() []byte { l := split(); return join(slices.Insert(l, 3, l[2])) }},
		"exchanged":                  {3, func() []byte { l := split(); l[2], l[3] = l[3], l[2]; return join(l) }},
		"inserted": {4, func() []byte {
			l := split()
			return join(slices.Insert(l, 3, rehash(l[2], func(f string) string { return f })))
		}},
		"empty line":    {3, func() []byte { l := split(); return join(slices.Insert(l, 2, []byte("\n"))) }},
		"blank in line": {3, func() []byte { l := split(); l[2] = append([]byte(" "), l[2]...); return join(l) }},
		"cut in a line": {12, func() []byte { return good[:len(good)-9] }},
		"no newline":    {12, func() []byte { return good[:len(good)-1] }},
		"CRLF":          {1, func() []byte { return bytes.ReplaceAll(good, []byte("\n"), []byte("\r\n")) }},
		"field twice": {3, func() []byte {
			l := split()
			l[2] = rehash(l[2], func(f string) string { return f + `,"seq":3,"seq":9` })
			return join(l)
		}},
		"long line": {3, func() []byte {
			l := split()
			return join(slices.Insert(l, 2,
				bytes.Repeat([]byte("x"), MaxLine+9)))
		}},
		"NUL": {13, func() []byte { return append(bytes.Clone(good), 0, '\n') }},
	} {
		must.Do(t, os.WriteFile(path, c.edit(), 0o600))
		_, err := (VerifyOptions{}).Verify(path)
		var bad *BadLine
		if c.line == 0 && err == nil {
			_, err = VerifyOptions{AnchorSeq: 1, AnchorHash: hash}.Verify(path)
			if err == nil {
				t.Errorf("%s: not found", what)
			}
			continue
		}
		if !errors.As(err, &bad) || bad.Line != c.line {
			t.Errorf("%s: %v, want line %d", what, err, c.line)
		}
	}
	cut := join(split()[:8]) // whole lines from the end: only who has noted the end can tell
	must.Do(t, os.WriteFile(path, cut, 0o600))
	if _, err := (VerifyOptions{}).Verify(path); err != nil {
		t.Error(err)
	}
	if _, err := (VerifyOptions{AnchorSeq: seq, AnchorHash: hash}).Verify(path); err == nil {
		t.Error("a log without its end has passed the anchor")
	}
	if _, err := (VerifyOptions{AnchorSeq: 3, AnchorHash: hash}).Verify(path); err == nil {
		t.Error("another hash has passed the anchor")
	}
}

func TestCheckpoints(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, Options{Path: path, Key: private, CheckpointEvery: 10})
	many(t, Wrap(&echo{}, l), 2, 10)
	closeLog(t, l)
	if r, err := (VerifyOptions{Keys: []ed25519.PublicKey{other, public}}).Verify(path); err != nil ||
		r.Signed != r.LastSeq {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := (VerifyOptions{Keys: []ed25519.PublicKey{other}}).Verify(path); err == nil {
		t.Error("a signature by another key holds")
	}
	list, _ := lines(t, path)
	forged := bytes.Buffer{} // all of it written anew, with other names, by somebody without the key
	hash := origin
	for _, old := range list {
		old.Agent = strings.Replace(old.Agent, "ci", "xx", 1)
		fields := must.Get(old.Event.encode())(t)
		var line []byte
		line, hash = build(old.Seq, old.Time, hash, fields)
		forged.Write(line)
	}
	must.Do(t, os.WriteFile(path, forged.Bytes(), 0o600))
	if _, err := (VerifyOptions{}).Verify(path); err != nil {
		t.Error(err)
	}
	if _, err := (VerifyOptions{Keys: []ed25519.PublicKey{public}}).Verify(path); err == nil {
		t.Error("a log that was written anew passes for signed")
	}
}
