// Package tools reads tools declared in a YAML file and turns a call of a tool into a request for the engine. Only this
// package imports go.yaml.in/yaml/v3.
//
// A tool is a command with templates for its arguments, or program text with arguments. A parameter's value becomes
// (part of) one element of argv, of the environment, of a file or of stdin: no shell reads it, it is not expanded
// again, and it cannot become an option unless the file allows it. The reader is strict: it reports the line and the
// field of everything that it does not understand.
package tools

import (
	"fmt"

	"brig/cmd/brigd/internal/files"
)

// The bounds of a tools file.
const (
	MaxFile   = 256 << 10 // bytes
	MaxTools  = 128
	maxParams = 32
	maxList   = 128 // elements of one list in the file
)

// Set holds the declarations of one file.
type Set struct {
	// Name is the name that the file gives itself: "sandboxed-agent".
	Name string
	// Tools are in the order of the file; their names are distinct.
	Tools []*Tool
}

// Tool is one declared tool. It is immutable.
type Tool struct {
	// Name identifies the tool to a model: 1 to 64 letters, digits, '_' and '-'.
	Name string
	// Title is for people and Description for the model.
	Title, Description string
	// ReadOnly is the author's promise that the tool changes nothing in the sandbox.
	ReadOnly bool
	// Params are the parameters, in the order of the file.
	Params []Param

	command        []element // of argv, or of a program's arguments
	language, code string
	stdin          template
	env            []namedTemplate
	files          []namedTemplate
	cwd            string
	box            box
}

// Network returns the destinations that a run of the tool may reach: rules like "example.org:443".
func (t *Tool) Network() []string { return t.box.network }

// Fresh reports whether the tool runs in a new, temporary sandbox instead of the session's.
func (t *Tool) Fresh() bool { return t.box.fresh }

// Param is a parameter of a tool.
type Param struct {
	Name, Description string
	// Type is string, integer, number, boolean, array or object. Items is the type of an array's elements.
	Type, Items string
	Required    bool
	// AllowDash permits a value that begins with '-' in a position where a command parses options.
	AllowDash bool

	def  *value // the default
	rule rule
}

// Load reads a tools file: a regular file of at most MaxFile bytes.
func Load(path string) (*Set, error) {
	data, err := files.Read(path, MaxFile)
	if err != nil {
		return nil, fmt.Errorf("the file of tools: %w", err)
	}
	return Parse(path, data)
}
