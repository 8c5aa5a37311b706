// Command brig-bench compares, on this machine, what it costs to isolate a command: with brig, as a program and as a
// library, and with the other tools that are installed, in jobs and in empty jails.
//
//	brig-bench [--quick] [--only ID,ID] [--rounds N] [--json FILE] [--html FILE] [--brig PATH]
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/measure"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	syscall.Umask(0o022) // other users' jails read the roots that are made here
	if len(os.Args) > 1 && (os.Args[1] == load.Subcommand || os.Args[1] == measure.Subcommand) {
		os.Exit(hidden(ctx, os.Args[1], os.Args[2:]))
	}
	o, err := parse(os.Args[1:])
	if err != nil {
		os.Exit(fail(err, 2))
	}
	os.Exit(start(ctx, o))
}

// fail prints an error and returns the exit code.
func fail(err error, code int) int {
	fmt.Fprintln(os.Stderr, "brig-bench:", err)
	return code
}
