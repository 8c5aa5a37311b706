// Command brigd runs untrusted programs for others who ask: by HTTP and JSON on a Unix socket or, with proof of who
// calls, by TCP, and by the Model Context Protocol. It also mints tokens, explains policies and verifies the audit log.
//
// This package reads settings, puts the parts together, and ends them in order. What a run is belongs to agent/engine.
package main

import (
	"os"

	"brig/internal/cli"
)

func main() {
	os.Exit(program().Main(os.Args[1:], cli.Stdio{Name: "brigd", In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
