package seccomp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"brig/internal/words"
)

// maxDepth is deeper than any profile; it bounds the recursion of a hostile file.
const maxDepth = 16

// node is a JSON value that remembers duplicate keys and exact numbers, which encoding/json's own decoding forgets.
type node struct {
	kind string // "an object", "an array", "a string", "a number", "a boolean", "null"
	keys []string
	vals []node
	text string
}

// parseTree reads the one JSON value of data.
func parseTree(data []byte) (node, error) {
	if !utf8.Valid(data) {
		return node{}, wrong("", "is not UTF-8 text", "save it as UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	n, err := readNode(d, "", 0)
	if err == nil {
		if _, err = d.Token(); err == io.EOF {
			return n, nil
		}
		err = errors.New("more text after the profile's closing brace")
	}
	var pe *ProfileError
	if errors.As(err, &pe) {
		return node{}, err
	}
	return node{}, syntaxError(data, d.InputOffset(), err)
}

func syntaxError(data []byte, at int64, err error) error {
	var se *json.SyntaxError
	if errors.As(err, &se) {
		at = se.Offset
	}
	before := data[:min(max(at, 0), int64(len(data)))]
	line := bytes.Count(before, []byte("\n")) + 1
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the file ends too early")
	}
	return wrong("", fmt.Sprintf("line %d: not JSON: %v", line, err),
		"correct the syntax (JSON has no comments and no trailing commas)")
}

func readNode(d *json.Decoder, path string, depth int) (node, error) {
	if depth > maxDepth {
		return node{}, wrong("", fmt.Sprintf("is nested deeper than %d levels", maxDepth), "flatten it")
	}
	t, err := d.Token()
	if err != nil {
		return node{}, err
	}
	switch v := t.(type) {
	case json.Delim:
		if v == '{' {
			return readObject(d, path, depth)
		}
		return readArray(d, path, depth)
	case string:
		return node{kind: "a string", text: v}, nil
	case json.Number:
		return node{kind: "a number", text: v.String()}, nil
	case bool:
		return node{kind: "a boolean"}, nil
	}
	return node{kind: "null"}, nil
}

func readObject(d *json.Decoder, path string, depth int) (node, error) {
	n := node{kind: "an object"}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return node{}, err
		}
		key, _ := t.(string) // the decoder admits nothing else as a key
		at := join(path, key)
		if seen[key] {
			return node{}, wrong(at, "stands twice in one object", "keep one of them")
		}
		seen[key] = true
		v, err := readNode(d, at, depth+1)
		if err != nil {
			return node{}, err
		}
		n.keys, n.vals = append(n.keys, key), append(n.vals, v)
	}
	_, err := d.Token() // the closing brace
	return n, err
}

func readArray(d *json.Decoder, path string, depth int) (node, error) {
	n := node{kind: "an array"}
	for d.More() {
		v, err := readNode(d, item(path, len(n.vals)), depth+1)
		if err != nil {
			return node{}, err
		}
		n.vals = append(n.vals, v)
	}
	_, err := d.Token()
	return n, err
}

// join and item build JSON paths; a key that is not a plain word is quoted, for it may hold any byte.
func join(path, key string) string {
	for _, r := range key {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' {
			return path + "[" + words.QuoteASCII(key) + "]"
		}
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func item(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// member is one key that an object may have, and what reads its value.
type member struct {
	key  string
	read func(path string, n node) error
}

// object reads the members of n. A null member is an absent one, as Docker writes them; an unknown key is an error.
func (n node) object(path string, members ...member) error {
	if n.kind != "an object" {
		return wrong(path, "is "+n.kind+", not an object", "write {…}")
	}
	for i, key := range n.keys {
		k := slices.IndexFunc(members, func(m member) bool { return m.key == key })
		if k < 0 {
			names := make([]string, len(members))
			for j, m := range members {
				names[j] = m.key
			}
			return wrong(join(path, key), "unknown key", suggest(key, names))
		}
		if n.vals[i].kind == "null" {
			continue
		}
		if err := members[k].read(join(path, key), n.vals[i]); err != nil {
			return err
		}
	}
	return nil
}

func (n node) has(key string) bool {
	i := slices.Index(n.keys, key)
	return i >= 0 && n.vals[i].kind != "null"
}

func (n node) each(path string, f func(path string, n node) error) error {
	if n.kind != "an array" {
		return wrong(path, "is "+n.kind+", not an array", "write […]")
	}
	for i, v := range n.vals {
		if err := f(item(path, i), v); err != nil {
			return err
		}
	}
	return nil
}

func (n node) number(path string, bits int) (uint64, error) {
	if n.kind != "a number" {
		return 0, wrong(path, "is "+n.kind+", not a number", "write a decimal integer")
	}
	v, err := strconv.ParseUint(n.text, 10, bits)
	if err != nil {
		return 0, wrong(path, "is "+words.QuoteASCII(n.text), fmt.Sprintf("write an integer from 0 to %d", uint64(1)<<bits-1))
	}
	return v, nil
}
