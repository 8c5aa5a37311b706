package tools

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"brig/internal/words"
)

// maxProblems is how many mistakes one error lists.
const maxProblems = 20

// reader collects the mistakes in a file, each with its line and its field.
type reader struct {
	name     string
	problems []error
	more     int
}

func (r *reader) problem(n *yaml.Node, path, format string, args ...any) {
	if len(r.problems) == maxProblems {
		r.more++
		return
	}
	line := 1
	if n != nil {
		line = max(n.Line, 1)
	}
	if path == "" {
		path = "the file"
	}
	r.problems = append(r.problems, fmt.Errorf("%s:%d: %s: %s", r.name, line, path, fmt.Sprintf(format, args...)))
}

func (r *reader) err() error {
	if r.more > 0 {
		r.problems = append(r.problems, fmt.Errorf("%s: and %d more mistakes", r.name, r.more))
	}
	return errors.Join(r.problems...)
}

// document parses the single document of a file. It refuses aliases, which could expand beyond any bound.
func document(name string, data []byte) (*yaml.Node, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: the file has more than %d bytes: divide it", name, maxFile)
	}
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	var doc yaml.Node
	if err := dec.Decode(&doc); err == io.EOF {
		return nil, fmt.Errorf("%s:1: the file is empty: write a list of tools", name)
	} else if err != nil {
		return nil, syntaxError(name, err)
	}
	var second yaml.Node
	if err := dec.Decode(&second); err == nil {
		return nil, fmt.Errorf("%s:%d: a second document begins: write one document", name, second.Line)
	} else if err != io.EOF {
		return nil, syntaxError(name, err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, fmt.Errorf("%s:1: the file is empty: write a list of tools", name)
	}
	r := &reader{name: name}
	r.plain(doc.Content[0], 0)
	return doc.Content[0], r.err()
}

// syntaxError adds the line, which the library omits if it is the first.
func syntaxError(name string, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if !strings.HasPrefix(text, "line ") {
		text = "line 1: " + text
	}
	return fmt.Errorf("%s: %s; correct the YAML", name, text)
}

// maxDepth is the maximum nesting of values; valid files need 8.
const maxDepth = 16

// plain refuses all but mappings, lists and scalars of JSON's types.
func (r *reader) plain(n *yaml.Node, depth int) {
	switch {
	case depth > maxDepth:
		r.problem(n, "", "values are nested more than %d deep: nest them less", maxDepth)
		return
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.problem(n, "", "anchors and aliases are not read: write the value out")
		return
	case n.Kind == yaml.ScalarNode && n.Tag == "!!merge":
		r.problem(n, "", "'<<' is not read: write the keys out")
		return
	case n.Kind == yaml.ScalarNode && !slices.Contains([]string{"!!str", "!!int", "!!float", "!!bool", "!!null",
		"!!timestamp"}, n.Tag),
		n.Kind == yaml.MappingNode && n.Tag != "!!map", n.Kind == yaml.SequenceNode && n.Tag != "!!seq":
		r.problem(n, "", "the tag %q is not read: leave it out", n.Tag)
		return
	}
	for _, c := range n.Content {
		r.plain(c, depth+1)
	}
}

// mapping calls one function for each key. Unknown and repeated keys are problems. It reports whether n is a mapping.
func (r *reader) mapping(n *yaml.Node, path string, fields map[string]func(n *yaml.Node, path string)) bool {
	if n.Kind != yaml.MappingNode {
		r.problem(n, path, "it is %s: write keys with values", kindOf(n))
		return false
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := strings.TrimPrefix(path+"."+short(key.Value), ".")
		read, known := fields[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode:
			r.problem(key, path, "a key is %s: write a word", kindOf(key))
		case seen[key.Value]:
			r.problem(key, at, "the key is there twice: keep one")
		case !known:
			r.problem(key, at, "%s", unknownKey(key.Value, fields))
		case value.Tag == "!!null":
			r.problem(value, at, "it has no value: write one, or remove the key")
		default:
			read(value, at)
		}
		seen[key.Value] = true
	}
	return true
}

// foreign suggests replacements for keys of other programs.
var foreign = map[string]string{
	"image":        "write it under sandbox, with the name of an image of the operator's (brigd --image), or remove it",
	"docker":       "brig is the sandbox, not docker. Remove it",
	"dockerfile":   "brig builds no image: write image under sandbox, with a name of brigd --image, or remove it",
	"volumes":      "a tool sees nothing of the host's files but shares. Name one under mounts, or pass a parameter",
	"privileged":   "a tool has no privileges. Remove it",
	"cap_add":      "a tool has no privileges. Remove it",
	"user":         "a tool runs as an unprivileged user of its own. Remove it",
	"ports":        "a tool cannot be reached from outside. Remove it",
	"shell":        "no shell reads a tool's command. Write script.command and script.args",
	"mem_limit":    "write memory",
	"memory_limit": "write memory",
	"cpu":          "write cpus",
	"environment":  "write env, under script",
}

func unknownKey(key string, fields map[string]func(*yaml.Node, string)) string {
	if text, ok := foreign[key]; ok {
		return text
	}
	known := slices.Sorted(maps.Keys(fields))
	if near := words.Nearest(key, known); near != "" {
		return "there is no such key: did you mean " + near + "?"
	}
	return "there is no such key: write one of " + strings.Join(known, ", ")
}

// list calls read for each element.
func (r *reader) list(n *yaml.Node, path string, most int, read func(n *yaml.Node, path string)) {
	if n.Kind != yaml.SequenceNode {
		r.problem(n, path, "it is %s: write a list", kindOf(n))
		return
	}
	if len(n.Content) > most {
		r.problem(n, path, "it has %d elements: write at most %d", len(n.Content), most)
		return
	}
	for i, c := range n.Content {
		read(c, fmt.Sprintf("%s[%d]", path, i))
	}
}

// text returns a scalar as it is written; a number or a boolean is not converted.
func (r *reader) text(n *yaml.Node, path string) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.problem(n, path, "it is %s: write a text", kindOf(n))
		return ""
	}
	if strings.ContainsRune(n.Value, 0) {
		r.problem(n, path, "it has a NUL byte: remove it")
	}
	return n.Value
}

func (r *reader) boolean(n *yaml.Node, path string) bool {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		r.problem(n, path, "it is %s: write true or false", kindOf(n))
		return false
	}
	return strings.EqualFold(n.Value, "true")
}

func kindOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "empty"
	case n.Tag == "!!bool":
		return n.Value
	case n.Tag == "!!int", n.Tag == "!!float":
		return "the number " + short(n.Value)
	}
	return fmt.Sprintf("the text %q", short(n.Value))
}

// short bounds how much of a file or a value an error repeats.
func short(s string) string { return words.Short(s, 48) }
