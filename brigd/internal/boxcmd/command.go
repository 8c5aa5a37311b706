package boxcmd

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"syscall"

	"brig/brigd/engine"
	"brig/brigd/internal/client"
	"brig/brigd/internal/front"
	"brig/brigd/internal/verbs"
	"brig/brigd/job"
	"brig/internal/words"
)

// command is one invocation of brigd box.
type command struct {
	client.Client
	in        io.Reader
	out, errs io.Writer
	words     []string // behind --

	box      engine.SandboxRequest
	env      []string
	process  engine.ProcessRequest
	tty      bool
	detached bool
	json     bool
	follow   bool
	offset   int64
	listen   string
}

// failed adds to a refusal how to proceed.
func failed(err error) (code int, text string) {
	text = err.Error()
	no, ok := errors.AsType[*job.Refusal](err)
	if !ok {
		return verbs.ExitUsage, text
	}
	text = strings.Replace(text, no.Error(), no.Message, 1)
	if len(no.NextSteps) > 0 {
		text += "\n  " + strings.Join(no.NextSteps, "\n  ")
	}
	return startCode(no), text
}

const (
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignal        = 128
)

// startCode returns the exit code for a process that was not started.
func startCode(no *job.Refusal) int {
	switch {
	case no.Code != "command_not_runnable":
		return verbs.ExitUsage
	case strings.Contains(no.Message, syscall.ENOENT.Error()):
		return exitNotFound
	}
	return exitNotExecutable
}

// at returns the path of a sandbox in requests.
func at(id string) (string, error) {
	if !front.ID.MatchString(id) {
		return "", fmt.Errorf("%.70q is no id of a box; brigd box ps lists them", id)
	}
	return "/v1/sandboxes/" + id, nil
}

// atProcess returns the path of a process in requests.
func atProcess(id, name string) (string, error) {
	path, err := at(id)
	if err == nil && !front.ID.MatchString(name) {
		err = fmt.Errorf("%.70q names no process; brigd box ps %s lists them", name, id)
	}
	return path + "/processes/" + url.PathEscape(name), err
}

// variables returns what -e asks for: NAME=VALUE, or NAME for the caller's own value.
func (c *command) variables() (map[string]string, error) {
	env := map[string]string{}
	for _, e := range c.env {
		name, value, set := strings.Cut(e, "=")
		if !set {
			if value, set = os.LookupEnv(name); !set {
				return nil, fmt.Errorf("-e: %.70q is not set here; write -e NAME=VALUE", name)
			}
		}
		env[name] = value
	}
	return env, nil
}

// say prints a line for the person.
func (c *command) say(format string, args ...any) {
	_, _ = fmt.Fprintln(c.errs, "brigd: "+words.Printable(fmt.Sprintf(format, args...))) // a closed stderr changes nothing
}
