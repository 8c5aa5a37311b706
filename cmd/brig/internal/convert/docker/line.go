package docker

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"brig/cmd/brig/internal/convert"
	"brig/internal/cli"
	"brig/internal/words"
)

// Line is a command line of docker run.
type Line struct {
	convert.Jail
	network, quota, period *given
	ports                  []convert.Step
	readOnly, dropsAll     bool
	rootSize               string
	err                    error
}

// Convert converts the words after docker: [container] run|create [FLAG...] IMAGE [COMMAND].
func Convert(args []string) (*convert.Jail, error) {
	if len(args) > 0 && args[0] == "container" {
		args = args[1:]
	}
	if len(args) == 0 || args[0] != "run" && args[0] != "create" {
		return nil, fmt.Errorf("%s is not docker run; write docker run [FLAG...] IMAGE",
			words.Quote(strings.Join(append([]string{"docker"}, args[:min(len(args), 1)]...), " ")))
	}
	l := &Line{}
	rest, _, err := (&cli.Table{Flags: l.flags()}).Parse(args[1:])
	switch {
	case err != nil:
		return nil, err
	case len(rest) == 0 || rest[0] == "":
		return nil, errors.New("there is no image; write docker run [FLAG...] IMAGE [COMMAND]")
	}
	return l.Finish(rest[0], rest[1:])
}

func (l *Line) fail(f *given, err error) {
	if l.err == nil && err != nil {
		l.err = fmt.Errorf("%s: %w", words.Quote(f.of), err)
	}
}

// Finish adds what follows from several flags and from docker's defaults.
func (l *Line) Finish(image string, command []string) (*convert.Jail, error) {
	l.Image, l.Args = image, command
	l.processors()
	switch {
	case l.readOnly: // also if it has a size
	case l.rootSize != "":
		l.Flag("--storage-opt", "rootfs-writable", l.rootSize)
	default:
		l.Flag("the root", "rootfs-writable")
	}
	l.Flag("the time", "timeout", "0") // docker has no limit
	l.networks()
	if !l.dropsAll {
		l.Note("docker's default", convert.Missing, "root in a container has 14 capabilities, such as CHOWN and SETUID; "+
			"the payload has none")
	}
	return &l.Jail, l.err
}

// Internal is a network without a way out, and without another container.
const Internal = "\x00internal"

// networks converts the network and the ports.
func (l *Line) networks() {
	f, drop := cmp.Or(l.network, &given{of: "docker's default"}), ""
	switch f.value {
	case "none", Internal:
		l.Flag(f.of, "net", "loopback") // lo is up in docker's none, too
		drop = "a container without a network publishes nothing"
	case "host":
		l.Flag(f.of, "net", "host")
		drop = "with the host's network every port is the host's already"
	default:
		l.Note(f.of, convert.Missing, "a container reaches everything through a bridge, and a jail what rules name; "+
			"write --allow HOST for each name")
	}
	for _, p := range l.ports {
		if drop == "" {
			l.Steps = append(l.Steps, p)
		} else {
			l.Note(p.Of, convert.Ignored, drop)
		}
	}
}

func (l *Line) entrypoint(f *given) {
	if l.Entrypoint = []string{}; f.value != "" {
		l.Entrypoint = []string{f.value}
	}
}

func (l *Line) capDrop(f *given) {
	l.dropsAll = l.dropsAll || strings.TrimPrefix(strings.ToUpper(f.value), "CAP_") == "ALL"
}
