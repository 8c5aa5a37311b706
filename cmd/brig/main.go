// Command brig runs an untrusted command in a jail and says truthfully what happened.
//
// This package is the command line and nothing else: it parses flags into an nsjail.Spec, hands it over, and turns
// the answer into text and an exit code. The flags stand in one table (flags.go), from which parsing, help, the man
// page and the shell completions are made.
package main

import (
	"os"

	"brig/internal/cli"
)

func main() {
	os.Exit(program().Main(os.Args[1:], cli.Stdio{Name: "brig", In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
