// Package boxcmd implements brigd box, for a person at a terminal: living sandboxes of a running brigd, and the
// processes and ports in them.
//
// A command is a client of brigd's HTTP interface and does nothing that a caller of it could not do. What a process of
// a box writes is cleaned where it would steer the terminal of who looks at it, unless that person has asked for a
// terminal (-t, or attach to a process that has one).
package boxcmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"brig/brigd/internal/client"
	"brig/brigd/internal/verbs"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// Usage is the help text.
const Usage = `  box=$(brigd box new)
  brigd box exec $box -- python3 -c 'print(6*7)'
  brigd box exec -t $box -- bash                        # a terminal
  brigd box exec -d --tag web $box -- python3 -m http.server
  brigd box port $box 8000                              # prints a URL for your browser
  brigd box ps; brigd box ps $box; brigd box logs -f $box web; brigd box rm $box

Usage: brigd box COMMAND [FLAG...]

  new                   make a box, a sandbox that lives, and print its id
      --image NAME --memory SIZE --cpus N --ttl TIME --disk SIZE -e NAME[=VALUE] --from SNAPSHOT
      --network RULE, --mount SHARE:TARGET[:MODE]; these and -e may be repeated
  exec ID -- COMMAND    run a command in it, with your input; exit as it did
      -t                at your terminal; ~. at the start of a line ends it, ~? lists the others
      -d                let it go on in the background, and print its id
      --tag NAME, -w DIR, -e NAME[=VALUE], --timeout TIME
  ps [ID]               list the boxes, or the processes and ports of one; --json
  logs ID PROCESS       print what a process has written, as far as it is kept
      -f                go on until it ends
      --offset N        begin behind N bytes
  attach ID PROCESS     see what a process writes from now on, and send it your input; ~. leaves it alone
  port ID N             pass requests to a port of this machine on to port N of the box, until Ctrl-C
      --listen ADDR     127.0.0.1:PORT; a free port if left out
  rm ID...              end boxes, with their files

A process is named by its pid, its tag or its id. Output is text: bytes that are no UTF-8 become U+FFFD, and without -t
a terminal gets no control characters.

` + client.FlagsUsage + `
Exit codes: 0; exec and attach: as the command, 124 for its time limit, 128+N for a signal, 126 or 127 if it cannot be
executed or found; 125 brigd could not do it.
`

// Run runs brigd box with args, the arguments after these words, and returns the exit code.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &command{in: stdin, out: stdout, errs: stderr}
	if i := slices.Index(args, "--"); i >= 0 {
		args, c.words = args[:i], args[i+1:]
	}
	return c.verbs().Main(args, stdout, stderr)
}

// verbs returns the subcommands.
func (c *command) verbs() *verbs.Set {
	s := &verbs.Set{Name: "brigd box", Usage: Usage, Failed: failed}
	verb := func(name, args string, least, most int, do func(context.Context, []string) error, flags string) {
		run := func(list []string) error {
			if len(c.words) > 0 && name != "exec" {
				return fmt.Errorf("a command behind -- is for exec; write brigd box %s %s", name, args)
			}
			if err := c.Connect(); err != nil {
				return err
			}
			return do(context.Background(), list)
		}
		s.Verbs = append(s.Verbs, verbs.Verb{Name: name, Args: args, Least: least, Most: most, Run: run,
			Flags: client.Flags + " " + flags})
	}
	verb("new", "[FLAG...]", 0, 0, interrupted(c.make), "image network memory cpus e env ttl disk mount from")
	verb("exec", "[FLAG...] ID -- COMMAND", 1, 1, c.exec, "d t e env w tag timeout")
	verb("ps", "[ID]", 0, 1, interrupted(c.ps), "json")
	verb("logs", "[FLAG...] ID PROCESS", 2, 2, interrupted(c.logs), "f offset")
	verb("attach", "ID PROCESS", 2, 2, c.attach, "")
	verb("port", "[--listen 127.0.0.1:PORT] ID N", 2, 2, interrupted(c.port), "listen")
	verb("rm", "ID...", 1, 1000, interrupted(c.remove), "")
	c.flags(s)
	return s
}

// flags declares the flags of all subcommands.
func (c *command) flags(s *verbs.Set) {
	f := &s.Flags
	c.AddFlags(f)
	f.StringVar(&c.box.Image, "image", "", "")
	f.StringVar(&c.box.From, "from", "", "")
	f.Float64Var(&c.box.CPUs, "cpus", 0, "")
	f.StringVar(&c.process.Cwd, "w", "", "")
	f.StringVar(&c.process.Tag, "tag", "", "")
	f.StringVar(&c.listen, "listen", "127.0.0.1:0", "")
	f.Int64Var(&c.offset, "offset", 0, "")
	for name, to := range map[string]*bool{"t": &c.tty, "d": &c.detached, "json": &c.json, "f": &c.follow} {
		f.BoolVar(to, name, false, "")
	}
	for name, to := range map[string]*nsjail.Bytes{"memory": &c.box.Memory, "disk": &c.box.Disk} {
		f.Func(name, "", parsed(to, spec.ParseBytes))
	}
	for name, to := range map[string]*nsjail.Duration{"ttl": &c.box.TTL, "timeout": &c.process.Timeout} {
		f.Func(name, "", parsed(to, spec.ParseDuration))
	}
	for name, to := range map[string]*[]string{"network": &c.box.Network, "e": &c.env, "env": &c.env} {
		f.Func(name, "", func(text string) error {
			*to = append(*to, text)
			return nil
		})
	}
	f.Func("mount", "", c.addMount)
}

func parsed[T any](to *T, parse func(string) (T, error)) func(string) error {
	return func(text string) (err error) {
		*to, err = parse(text)
		return err
	}
}

// interrupted returns what does a command until Ctrl-C or a signal that asks for the end of this program.
func interrupted(do func(context.Context, []string) error) func(context.Context, []string) error {
	return func(ctx context.Context, args []string) error {
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		err := do(ctx, args)
		if ctx.Err() != nil && err != nil {
			return verbs.Exit(exitSignal + int(syscall.SIGINT))
		}
		return err
	}
}
