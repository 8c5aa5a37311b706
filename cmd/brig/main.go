// Command brig runs an untrusted command in a jail and reports truthfully what happened.
//
// This package is only the command line: it parses flags into an nsjail.Spec, runs it, and converts the result to text
// and an exit code. Parsing, help, the man page and the shell completions use one table of flags (flags.go).
package main

import (
	"os"

	"brig/internal/cli"
)

func main() {
	os.Exit(program().Main(os.Args[1:], cli.Stdio{Name: "brig", In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
