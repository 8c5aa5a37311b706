package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"brig/internal/words"
)

// Bounds of a policy's text.
const (
	maxPolicy = 4 << 20 // bytes
	maxDepth  = 32      // objects and arrays within each other
)

// node is a JSON value that keeps the order and number of its keys. encoding/json accepts a repeated key, and a key in
// any case; a policy must not mean one thing to a reviewer and another to us.
type node struct {
	kind string // "object", "array", "string", "number", "bool", "null"
	text string // of a string, number or bool
	keys []string
	vals []*node // of an object, one a key; of an array
}

// get returns an object's value, nil if the key is missing.
func (n *node) get(key string) *node {
	for i, k := range n.keys {
		if k == key {
			return n.vals[i]
		}
	}
	return nil
}

// want checks the kind.
func (n *node) want(kind, example string) *Problem {
	if n.kind == kind {
		return nil
	}
	return &Problem{Reason: "it is " + article(n.kind) + ", not " + article(kind), Fix: "write " + example}
}

func article(kind string) string {
	switch kind {
	case "object", "array":
		return "an " + kind
	case "null":
		return kind
	}
	return "a " + kind
}

// parseTree reads one JSON value and nothing after it.
func parseTree(data []byte) (*node, *Problem) {
	switch {
	case len(data) > maxPolicy:
		return nil, &Problem{Reason: "the policy is longer than 4 MiB", Fix: "replace names below one suffix by *.suffix"}
	case !utf8.Valid(data):
		return nil, &Problem{Reason: "the policy is not UTF-8", Fix: "save it as UTF-8"}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	n, problem, err := readNode(d, 0)
	if err == nil && problem == nil {
		if _, err = d.Token(); err == nil {
			problem = &Problem{Reason: "something follows the policy", Fix: "write one JSON object"}
		} else if errors.Is(err, io.EOF) {
			return n, nil
		}
	}
	if problem != nil {
		return nil, problem
	}
	text := err.Error()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		text = "it ends too early"
	}
	line := 1 + bytes.Count(data[:min(int(d.InputOffset()), len(data))], []byte("\n"))
	return nil, &Problem{Reason: "the policy is not JSON: line " + strconv.Itoa(line) + ": " + text,
		Fix: `write an object, as {"allow": ["example.com"]}`}
}

// readNode reads one value. An error is in the text, a problem in the content.
func readNode(d *json.Decoder, depth int) (*node, *Problem, error) {
	token, err := d.Token()
	if err != nil {
		return nil, nil, err
	}
	switch t := token.(type) {
	case string:
		return &node{kind: "string", text: t}, nil, nil
	case json.Number:
		return &node{kind: "number", text: t.String()}, nil, nil
	case bool:
		return &node{kind: "bool", text: strconv.FormatBool(t)}, nil, nil
	case json.Delim:
		if depth == maxDepth {
			return nil, &Problem{Reason: "it is nested deeper than " + strconv.Itoa(maxDepth), Fix: "a policy needs four levels"}, nil
		}
		if t == '{' {
			return readObject(d, depth)
		}
		return readArray(d, depth)
	}
	return &node{kind: "null"}, nil, nil
}

func readObject(d *json.Decoder, depth int) (*node, *Problem, error) {
	n := &node{kind: "object"}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		key := token.(string) // the decoder accepts nothing else here
		if seen[key] {
			return nil, &Problem{shown(key), "the key stands there twice", "leave one of them out"}, nil
		}
		seen[key] = true
		val, problem, err := readNode(d, depth+1)
		if problem != nil || err != nil {
			return nil, problem.at(shown(key)), err
		}
		n.keys, n.vals = append(n.keys, key), append(n.vals, val)
	}
	_, err := d.Token()
	return n, nil, err
}

func readArray(d *json.Decoder, depth int) (*node, *Problem, error) {
	n := &node{kind: "array"}
	for d.More() {
		val, problem, err := readNode(d, depth+1)
		if problem != nil || err != nil {
			return nil, problem.at(index("", len(n.vals))), err
		}
		n.vals = append(n.vals, val)
	}
	_, err := d.Token()
	return n, nil, err
}

// shown returns a key as a path repeats it: plain if it is a plain word, else quoted.
func shown(key string) string {
	for _, r := range key {
		if r >= utf8.RuneSelf || !plainRune(r) || r == '"' || r == '.' || r == '[' {
			return words.QuoteASCII(key)
		}
	}
	if key == "" || len(key) > words.MaxShown {
		return words.QuoteASCII(key)
	}
	return key
}

// unmarshal implements the UnmarshalJSON methods.
func unmarshal(data []byte, read func(*node) *Problem) error {
	n, problem := parseTree(data)
	if problem == nil {
		problem = read(n)
	}
	if problem != nil {
		return problem
	}
	return nil
}

// field is one key of an object.
type field struct {
	name string
	set  func(*node) *Problem
}

// readFields reads an object that may have these keys only.
func readFields(n *node, example string, fields []field) *Problem {
	if problem := n.want("object", example); problem != nil {
		return problem
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	for i, key := range n.keys {
		var set func(*node) *Problem
		for _, f := range fields {
			if f.name == key {
				set = f.set
			}
		}
		if set == nil {
			return &Problem{shown(key), "there is no such field", words.DidYouMean(key, names)}
		}
		if problem := set(n.vals[i]); problem != nil {
			return problem.at(key)
		}
	}
	return nil
}

// list reads an array into out, which stays nil when it is empty.
func list[T any](out *[]T, example string, read func(*node) (T, *Problem)) func(*node) *Problem {
	return func(n *node) *Problem {
		if problem := n.want("array", example); problem != nil {
			return problem
		}
		*out = nil
		for i, element := range n.vals {
			v, problem := read(element)
			if problem != nil {
				return problem.at(index("", i))
			}
			*out = append(*out, v)
		}
		return nil
	}
}
