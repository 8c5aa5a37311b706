// Command brig runs an untrusted command in a jail and reports truthfully what happened.
//
// This package is only the table of commands (program.go) and the guess of a jail before Go starts (early.go). Package
// wish parses flags into an nsjail.Spec, and a package for each command does what they ask.
package main

import (
	"os"
	"path/filepath"
	"syscall"

	"brig/cmd/brig/internal/bwrap"
	"brig/internal/cli"
)

func main() {
	args := os.Args[1:]
	name := os.Args[0]
	if exe, err := os.Executable(); err == nil && name == "/proc/self/exe" {
		name = exe
	}
	std := cli.Stdio{Name: "brig", In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	switch filepath.Base(name) {
	case "bwrap": // the table of commands would cost its start a hundredth
		os.Exit(bwrap.Main(args, std))
	case "isolate":
		args = append([]string{"isolate"}, args...)
	case "isolate-check-environment":
		args = append([]string{"doctor"}, args...)
	}
	// What brig keeps it can use itself, whatever umask(2) it was started with.
	syscall.Umask(syscall.Umask(0o077) &^ 0o700)
	os.Exit(program().Main(args, std))
}
