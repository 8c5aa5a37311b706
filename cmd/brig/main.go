// Command brig runs an untrusted command in a jail and says truthfully what happened.
//
// This package is the command line and nothing else: it parses flags into an nsjail.Spec, hands it over, and turns
// the answer into text and an exit code. The flags stand in one table (flags.go), from which parsing, help, the man
// page and the shell completions are made.
package main

import (
	"os"
)

// stdio is what a command reads and writes. They are files, not streams, because a jail inherits them.
type stdio struct {
	in, out, err *os.File
}

func main() {
	os.Exit(dispatch(os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}))
}
