package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"brig/internal/cli"
	"brig/internal/words"
)

const usage = `brigd-queue: the server of brigd's durable queue

  brigd-queue --dir DIR [--config FILE] [--until-eof]

Flags:
  --dir DIR        where the queue is kept, a directory for this user alone; it is made if it is
                   missing. The socket for brigd serve|worker --jetstream unix:DIR is in it
  --config FILE    a configuration file of nats-server: where to listen, users, TLS, a cluster.
                   A port without authentication, or without TLS off loopback, is refused
  --until-eof      end when standard input ends, as brigd does that has started it

Without --config no port is open. SIGTERM ends it; its runs wait in DIR.
`

// settings are the command line.
type settings struct {
	dir, config string
	untilEOF    bool
}

func run(args []string, std cli.Stdio) int {
	var s settings
	flags := []cli.Flag{
		{Name: "dir", Args: "DIR", Set: func(v []string) error { s.dir = v[0]; return nil }},
		{Name: "config", Args: "FILE", Set: func(v []string) error { s.config = v[0]; return nil }},
		{Name: "until-eof", Set: func([]string) error { return errors.New("it takes no value; write it alone") },
			Bare: func([]string) error { s.untilEOF = true; return nil }},
	}
	if len(args) == 1 && (args[0] == "help" || args[0] == "version") {
		args[0] = "--" + args[0]
	}
	if len(args) == 1 && args[0] == "--version" {
		return std.Emit("brigd-queue " + cli.Version + "\n")
	}
	rest, help, err := (&cli.Table{Flags: flags}).Parse(args)
	switch {
	case err != nil:
		return std.Fail(strings.Split(err.Error(), "\n")...)
	case help:
		return std.Emit(usage)
	case len(rest) > 0:
		return std.Fail(words.Quote(rest[0]) + " is not wanted here; brigd-queue takes flags only")
	case s.dir == "":
		return std.Fail("it does not know where to keep the queue; write --dir DIR")
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	q, err := start(s, std.Err)
	if err != nil {
		return std.Fail(words.Printable(err.Error()))
	}
	eof := make(chan struct{})
	if s.untilEOF {
		go func() {
			_, _ = io.Copy(io.Discard, std.In) // any end is the end
			close(eof)
		}()
	}
	select {
	case <-signals:
	case <-eof:
	case err = <-q.failed:
	}
	if err = errors.Join(err, q.stop()); err != nil {
		fmt.Fprintln(std.Err, "brigd-queue:", words.Printable(err.Error()))
		return 1
	}
	return 0
}
