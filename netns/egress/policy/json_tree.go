package policy

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"brig/internal/strictjson"
	"brig/internal/words"
)

// Bounds of a policy's text.
const (
	maxPolicy = 4 << 20 // bytes
	maxDepth  = 32      // objects and arrays within each other
)

// node is a JSON value that keeps the order and number of its keys. encoding/json accepts repeated keys, and keys in
// any case; a policy must mean the same to a reviewer and to brig.
type node struct {
	kind string // "object", "array", "string", "number", "bool", "null"
	text string // of a string, number or bool
	keys []string
	vals []*node // of an object, one for each key; of an array
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

// document is the JSON form of a policy and of its parts.
var document = strictjson.Document{MaxSize: maxPolicy, MaxDepth: maxDepth, Render: render}

// parseTree reads one JSON value and nothing after it.
func parseTree(data []byte) (n *node, problem *Problem) {
	err := document.Read(data, func(r *strictjson.Reader, path string) (err error) {
		n, err = readNode(r, path)
		return err
	})
	errors.As(err, &problem)
	return n, problem
}

func readNode(r *strictjson.Reader, path string) (*node, error) {
	t, err := r.Token(path)
	switch v := t.(type) {
	case string:
		return &node{kind: "string", text: v}, err
	case json.Number:
		return &node{kind: "number", text: v.String()}, err
	case bool:
		return &node{kind: "bool", text: strconv.FormatBool(v)}, err
	case json.Delim:
		n := &node{kind: "array"}
		add := func(path string) error {
			val, err := readNode(r, path)
			n.vals = append(n.vals, val)
			return err
		}
		if v == '[' {
			return n, r.ItemsAfter(path, func(_ int, path string) error { return add(path) })
		}
		n.kind = "object"
		return n, r.MembersAfter(path, t, func(key string) error {
			n.keys = append(n.keys, key)
			return add(path)
		})
	}
	return &node{kind: "null"}, err
}

// render converts an error of the JSON text to a Problem.
func render(e *strictjson.Error) error {
	switch e.Code {
	case strictjson.TooLarge:
		return &Problem{Reason: "the policy is longer than 4 MiB", Fix: "replace names below one suffix by *.suffix"}
	case strictjson.Encoding:
		if e.Line == 0 {
			return &Problem{Reason: "the policy is not UTF-8", Fix: "save it as UTF-8"}
		}
		return &Problem{Path: e.Path, Reason: "it has half of a surrogate pair", Fix: "write the character itself"}
	case strictjson.TooDeep:
		return &Problem{Path: e.Path, Reason: "it is nested deeper than " + strconv.Itoa(e.Limit),
			Fix: "a policy needs four levels"}
	case strictjson.Duplicate:
		return &Problem{e.Path, "the key stands there twice", "leave one of them out"}
	case strictjson.Trailing:
		if e.Err == nil {
			return &Problem{Reason: "something follows the policy", Fix: "write one JSON object"}
		}
	}
	if e.Code == strictjson.Early || errors.Is(e.Err, io.ErrUnexpectedEOF) {
		e.Err = errors.New("it ends too early")
	}
	return &Problem{Reason: "the policy is not JSON: line " + strconv.Itoa(e.Line) + ": " + e.Err.Error(),
		Fix: `write an object, as {"allow": ["example.com"]}`}
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
