// Package docker converts the command line of docker run, and of podman run as far as it is the same.
package docker

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"strings"

	"brig/cmd/brig/internal/convert"
	"brig/internal/cli"
	"brig/internal/words"
)

// Table has every flag of docker run 28, and aliases that its help leaves out; its texts are hints of brig run, too.
//
//go:embed flags.txt
var Table string

// given is a flag with its value.
type given struct {
	*convert.Word
	of, value string // of is how messages name it
}

// setters returns the conversions that the table names.
func setters() map[string]func(l *Line, f *given) {
	note := func(text string) func(*Line, *given) {
		return func(l *Line, f *given) { l.Note(f.of, convert.Ignored, text) }
	}
	return map[string]func(*Line, *given){
		"always":        func(*Line, *given) {}, // it is so in every jail
		"cap-drop":      (*Line).capDrop,
		"cgroup-parent": func(l *Line, f *given) { l.Flag(f.of, "cgroup-parent", path.Clean("/"+f.value)) },
		"cpu-period":    func(l *Line, f *given) { l.period = f },
		"cpu-quota":     func(l *Line, f *given) { l.quota = f },
		"cpu-shares":    (*Line).cpuShares,
		"entrypoint":    (*Line).entrypoint,
		"mount":         (*Line).mount,
		"network":       func(l *Line, f *given) { l.network = f },
		"oom-score-adj": (*Line).oomScore,
		"publish":       (*Line).publish,
		"pull":          note("write --pull after brig run"),
		"read-only":     func(l *Line, f *given) { l.readOnly = true },
		"same":          (*Line).same,
		"security-opt":  (*Line).securityOpt,
		"shm-size":      func(l *Line, f *given) { l.Flag(f.of, "tmpfs", "/dev/shm:size="+f.value) },
		"storage-opt":   (*Line).storage,
		"tmpfs":         (*Line).tmpfs,
		"volume":        (*Line).volume,
		"windows":       note("it is for Windows"),
	}
}

// flags returns the table for a command line.
func (l *Line) flags() (list []cli.Flag) {
	words := convert.Words(Table)
	for i := range words {
		w := &words[i]
		f := cli.Flag{Name: w.Name, Args: "VALUE", Many: true}
		if w.Letter != "" {
			f.Short = w.Letter[0]
		}
		if w.Bare {
			f.Args = ""
		}
		f.Set = func(values []string) error {
			of := "--" + w.Name
			if len(values) > 0 && w.Name != "env" { // a variable may be a secret
				of += " " + values[0]
			}
			l.apply(&given{w, of, strings.Join(values, "")})
			return nil // Finish returns the first error
		}
		list = append(list, f)
	}
	return list
}

// Set converts a flag by its name. Finish returns the first error.
func (l *Line) Set(of, flag, value string) {
	for _, w := range convert.Words(Table) {
		if w.Name == flag && !(w.Bare && value == "false") {
			l.apply(&given{&w, of, value})
		}
	}
}

func (l *Line) apply(f *given) {
	switch set := setters()[f.How]; {
	case f.Idle(f.value):
	case set != nil:
		set(l, f)
	default:
		l.Lost(f.of, f.Word)
	}
}

// same converts a flag that brig run has, too.
func (l *Line) same(f *given) {
	if f.Bare {
		l.Flag(f.of, f.Flag)
		return
	}
	l.Flag(f.of, f.Flag, f.value)
}

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
