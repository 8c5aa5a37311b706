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
	"regexp"

	"brig/brigd/engine"
	"brig/brigd/internal/files"
	"brig/brigd/internal/schema"
)

// The bounds of a tools file.
const (
	maxFile   = 256 << 10 // bytes
	maxTools  = 128
	maxParams = 32
	maxList   = 128 // elements of one list in the file
)

// Set holds the declarations of one file.
type Set struct {
	// Name is the name in the file: "sandboxed-agent".
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

	// Run has what each run of the tool is made of: language, code, directory, network and limits.
	Run engine.Request
	// Fresh reports whether the tool runs in a new, temporary sandbox instead of the session's.
	Fresh bool

	command    []element // of argv, or of a program's arguments
	stdin      template
	env, files []namedTemplate
}

// Param is a parameter of a tool. Its JSON schema has the type, the description and the rules.
type Param struct {
	*schema.Schema
	Name     string
	Required bool
	// AllowDash permits a value that begins with '-' in a position where a command parses options.
	AllowDash bool

	pattern *regexp.Regexp
	enum    []value
	def     *value // the default
}

// Load reads a tools file: a regular file of at most maxFile bytes.
func Load(path string) (*Set, error) {
	data, err := files.Read(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("the file of tools: %w", err)
	}
	return Parse(path, data)
}
