// Command brigd-queue is the server of brigd's durable queue: NATS JetStream with its files in a directory, and a Unix
// socket there for brigds of the same user. It opens a port only where a configuration file of nats-server names one,
// and only with authentication. Only this program links the server, which is four fifths as large as brigd.
//
// brigd serve --jetstream DIR starts it. By itself it serves a machine of a cluster, as any nats-server would.
package main

import (
	"os"

	"brig/internal/cli"
)

func main() {
	_ = lazy() // without it the server only takes more processor time
	os.Exit(run(os.Args[1:], cli.Stdio{Name: "brigd-queue", In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
