// Package peers describes the tools that brig is compared with, brig among them: how to find each, how to make it build
// the jail that brig makes by default, and where it cannot. Programs are rows of a table; package nsjail within this
// process is library.go, and the networks of jails are relay.go.
package peers

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"brig/cmd/brig-bench/internal/result"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Bare is the tool that makes no jail.
const Bare = "no jail"

// Streams are the payload's; nil is /dev/null.
type Streams struct {
	In  io.Reader
	Out io.Writer
}

// Running is a jail that has been started.
type Running struct {
	Wait  func() error // waits for the end; an error means that the payload did not exit with 0
	Kill  func()       // ends the jail; Wait must still be called
	Pid   int          // of the process that relays for the jail; 0 for none
	close func() error // removes the jail's network; nil for none
}

// Close removes the jail's network, after Wait.
func (r *Running) Close() error {
	if r.close == nil {
		return nil
	}
	return r.close()
}

// Ready can make the jails of one job.
type Ready struct {
	Tool  *Tool
	Start func(Streams) (*Running, error) // makes a fresh jail and starts the job in it, with its network ready
	Close func() error                    // removes what Prepare has made
}

// Run makes a fresh jail, runs the job in it and waits for its end, with empty streams.
func (r *Ready) Run() error {
	p, err := r.Start(Streams{})
	if err != nil {
		return err
	}
	return errors.Join(p.Wait(), p.Close())
}

// Tool is a contender. Info.Absent is the reason why it takes no part.
type Tool struct {
	Info   result.Tool
	Limits bool // takes Job.Limited
	Binds  bool // takes Job.Show and Job.Dir
	Box    bool // makes one jail at a time, and does not take Job.Show
	Slow   bool // takes a tenth of a second or more for a jail
	// Without is the same jail without the network; nil for tools that give none.
	Without *Tool
	// Prepare makes everything for a job that is not part of a start: bundles, runners, profiles.
	Prepare func(Job) (*Ready, error)
	open    func() error
	close   func() error
}

// Close undoes what Look has opened.
func (t *Tool) Close() error {
	if t.close == nil || t.Info.Absent != "" {
		return nil
	}
	return t.close()
}

// Host is what the tools are given.
type Host struct {
	Dir  string // a private directory that the harness removes
	Brig string // the brig program
	Root bool

	tree   tree
	strays []string // directories of runtimes that did not exist before
	once   sync.Once
	root   string
	err    error
}

// env returns the environment of the tools, without any variable of the caller.
func (h *Host) env() []string {
	return []string{"PATH=" + spec.DefaultPath, "HOME=" + h.Dir, "TMPDIR=" + h.Dir, "XDG_RUNTIME_DIR=" + h.Dir}
}

// name returns the beginning of the names of control groups, containers and units that the tools make. It is that of
// the harness's directory, also in a process of its own for the network, whose directory is below.
func (h *Host) name() string {
	name := filepath.Base(h.Dir)
	for _, part := range strings.Split(h.Dir, "/") {
		if strings.HasPrefix(part, "brig-") {
			name = part
		}
	}
	return strings.ToLower(name)
}

// All looks for every tool. Those with Info.Absent cannot be prepared. The caller closes the others.
func All(h *Host) (tools []*Tool) {
	h.tree = look()
	for _, dir := range []string{"/run/runc", "/run/crun"} { // made by a runtime that is asked for its version
		if !isDir(dir) {
			h.strays = append(h.strays, dir)
		}
	}
	for _, p := range table {
		tools = append(tools, p.tool(h))
		if p.program == "brig" && p.version != "" {
			tools = append(tools, libraries()...)
		}
	}
	return tools
}

// tool looks for a program of the table.
func (p peer) tool(h *Host) *Tool {
	further := p.user
	if h.Root {
		further = p.root
	}
	t := &Tool{Info: result.Tool{Name: p.name, Differs: append(p.differs[:len(p.differs):len(p.differs)], further...)},
		Limits: p.limits, Binds: p.binds, Box: p.box, Slow: p.slow}
	env := h.env()
	path, err := h.find(p.program)
	switch {
	case err != nil:
		t.Info.Absent = absent(p.program, p.pkg)
	case p.device != "" && unix.Access(p.device, unix.R_OK|unix.W_OK) != nil:
		t.Info.Absent = "makes no network here: " + p.device + " cannot be opened"
	}
	if err != nil {
		return t
	}
	if p.version != "" {
		t.Info.Version = version(env, path, p.version)
	}
	t.Prepare = func(j Job) (*Ready, error) { return p.prepare(h, path, env, j) }
	if p.open != nil {
		t.open = func() error { return p.runAll(h, path, env, p.open) }
	}
	if p.close != nil && (p.open != nil || !h.Root) {
		t.close = func() error { return p.runAll(h, path, env, p.close) }
	}
	return t
}

// absent returns the reason why a tool takes no part whose program was not found.
func absent(program, pkg string) string {
	switch {
	case program == "brig":
		return "there is no such program; build it with make build, or name it with --brig"
	case pkg == "":
		return "not installed; Debian has no package of it"
	}
	return "not installed; Debian's package is " + pkg
}

// find returns the path of a program.
func (h *Host) find(program string) (string, error) {
	switch program {
	case "":
		return "", nil
	case "brig":
		return h.Brig, unix.Access(h.Brig, unix.X_OK)
	}
	return lookPath(program)
}

// runAll runs command lines once.
func (p peer) runAll(h *Host, path string, env, lines []string) error {
	v := h.vars(path, Job{})
	if err := h.files(v, strings.Join(lines, " "), Job{}); err != nil {
		return err
	}
	for _, line := range lines {
		if _, err := output(env, expand(line, v)...); err != nil {
			return err
		}
	}
	return nil
}

// none matches what a tool prints of a jail that it has removed itself.
var none = regexp.MustCompile(`(?i)not exist|not loaded|no such`)

// prepare makes a job's files, and the command that starts it.
func (p peer) prepare(h *Host, path string, env []string, j Job) (*Ready, error) {
	if p.line == bareLine {
		j.Args = j.outside()
	}
	v := h.vars(path, j)
	if err := h.files(v, p.line+p.after, j); err != nil {
		return nil, err
	}
	with := func(line, id string) []string { // several at once
		v := maps.Clone(v)
		v.set("id", id)
		return expand(line, v)
	}
	c := &command{name: h.name(), argv: func(id string) []string { return with(p.line, id) }, env: env,
		namespaces: p.namespaces}
	switch p.name {
	case Egress: // the keeper relays
		c.network = func(pid int) (int, func() error, error) { return pid, nil, nil }
	case slirp:
		c.network = func(pid int) (int, func() error, error) { return runSlirp(env, path, pid) }
	}
	if p.filter {
		var err error
		if c.file, err = h.filter(); err != nil {
			return nil, err
		}
	}
	if p.after != "" {
		c.after = func(id string) error {
			if _, err := output(env, with(p.after, id)...); err != nil && !none.MatchString(err.Error()) {
				return err
			}
			return nil
		}
	}
	r, err := c.ready()
	if err != nil {
		return nil, err
	}
	if bundle := v["bundle"]; bundle != nil {
		closeErrors := r.Close
		r.Close = func() error {
			return errors.Join(closeErrors(), settle(v["state"][0][0]), unmount(bundle[0][0]), os.RemoveAll(bundle[0][0]))
		}
	}
	return r, nil
}
