// Command brigd runs untrusted programs on behalf of clients: by HTTP and JSON on a Unix socket or, for authenticated
// callers, on a TCP port, and by the Model Context Protocol. It also mints tokens, explains policies and verifies the
// audit log.
//
// This package reads settings, assembles the parts and closes them in order. Package brigd/engine performs the runs.
package main

import (
	"os"
	"syscall"

	"brig/internal/cli"
)

func main() {
	// What brigd keeps it can use itself, whatever umask(2) it was started with.
	syscall.Umask(syscall.Umask(0o077) &^ 0o700)
	os.Exit(program().Main(os.Args[1:], cli.Stdio{Name: "brigd", In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
