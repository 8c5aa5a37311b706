// Package tools reads tools that are declared in a YAML file, and turns a call of one into a request for the engine. It
// is the door of go.yaml.in/yaml/v3.
//
// A tool is a command with templates for its arguments, or a program's text with arguments. A parameter's value becomes
// (part of) one element of argv, of the environment, of a file or of stdin: no shell reads it, it is never expanded
// again, and it cannot become an option unless the file says so. The file's reader is strict: it names the line and the
// field of everything that it does not understand.
package tools

import (
	"fmt"

	"brig/cmd/brigd/internal/files"
)

// The bounds of a file of tools.
const (
	MaxFile   = 256 << 10 // bytes
	MaxTools  = 128
	maxParams = 32
	maxList   = 128 // elements of one list in the file
)

// Set is what one file declares.
type Set struct {
	// Name is the file's own name for it: "sandboxed-agent".
	Name string
	// Tools are in the order of the file; their names differ.
	Tools []*Tool
}

// Tool is one declared tool. It is not changed once it is read.
type Tool struct {
	// Name is what a model calls it by: 1 to 64 letters, digits, '_' and '-'.
	Name string
	// Title is for people and Description for the model.
	Title, Description string
	// ReadOnly says that the author promises that it changes nothing in the sandbox.
	ReadOnly bool
	// Params are what it takes, in the order of the file.
	Params []Param

	command        []element // of argv, or of a program's arguments
	language, code string
	stdin          template
	env            []namedTemplate
	files          []namedTemplate
	cwd            string
	box            box
}

// Network is what a run of the tool may reach: rules like "example.org:443".
func (t *Tool) Network() []string { return t.box.network }

// Fresh says that it runs in an empty sandbox of its own, which is gone afterwards, and not in the session's.
func (t *Tool) Fresh() bool { return t.box.fresh }

// Param is a parameter of a tool.
type Param struct {
	Name, Description string
	// Type is string, integer, number, boolean, array or object, and Items that of an array's elements.
	Type, Items string
	Required    bool
	// AllowDash lets a value that begins with '-' stand where a command reads options.
	AllowDash bool

	def  *value // what it is if the call has none
	rule rule
}

// Load reads a file of tools: a regular file of at most MaxFile bytes.
func Load(path string) (*Set, error) {
	data, err := files.Read(path, MaxFile)
	if err != nil {
		return nil, fmt.Errorf("the file of tools: %w", err)
	}
	return Parse(path, data)
}
