package peers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"brig/cmd/brig-bench/internal/result"
	"brig/nsjail"
)

// bare is the command without a jail: what the kernel and the harness take by themselves.
func bare(*Host) *Tool {
	t := &Tool{Info: result.Tool{Name: "no jail", Differs: []string{"no isolation at all"}}, Kind: Bare}
	t.prepare = func(j Job) (*Ready, error) {
		c := &command{argv: func(string) []string { return j.Args }, env: []string{jailPath, jailHome}}
		return c.ready()
	}
	return t
}

// brigArgs is the command line that makes brig's jail of a job.
func brigArgs(brig string, j Job) []string {
	args := append([]string{brig, "run"}, j.Limits.flags()...)
	for _, b := range j.Binds {
		flag := "--ro-bind"
		if b.Writable {
			flag = "--bind"
		}
		args = append(args, flag, b.Source, b.Target)
	}
	return append(append(args, "--"), j.Args...)
}

func cold(h *Host) *Tool {
	t := &Tool{Info: result.Tool{Name: "brig run"}, Kind: Cold, Limits: true, Binds: true}
	if t.Info.Version = version(h.env(), h.Brig, "version"); t.Info.Version == "" {
		if _, err := output(h.env(), h.Brig, "version"); err != nil {
			t.Info.Absent = err.Error() + "; build it with make build, or name it with --brig"
		}
	}
	t.prepare = func(j Job) (*Ready, error) {
		c := &command{argv: func(string) []string { return brigArgs(h.Brig, j) }, env: h.env()}
		return c.ready()
	}
	return t
}

// spec is a job as the library takes it.
func spec(j Job) nsjail.Spec {
	s := nsjail.Spec{Args: j.Args, Limits: nsjail.Limits{Memory: nsjail.Bytes(j.Limits.Memory), CPUs: j.Limits.CPUs, Processes: j.Limits.Processes}}
	for _, b := range j.Binds {
		s.Mounts = append(s.Mounts, nsjail.Mount{Type: nsjail.MountBind, Source: b.Source, Target: b.Target, Writable: b.Writable})
	}
	return s
}

// ahead is how many jails, or network namespaces, a Runner keeps ready: enough for the most clients at once.
const ahead = 16

// library is package nsjail within this process. The Runner lives as long as the job.
func library(name string, differs []string, o nsjail.RunnerOptions, parked int) func(*Host) *Tool {
	return func(h *Host) *Tool {
		t := &Tool{Info: result.Tool{Name: name, Differs: differs}, Kind: Library, Limits: true, Binds: true}
		t.prepare = func(j Job) (*Ready, error) {
			r, err := h.Runner(o)
			if err != nil {
				return nil, err
			}
			if parked > 0 {
				if err := r.Prestart(spec(j), parked); err != nil {
					return nil, errors.Join(err, r.Close())
				}
			}
			return &Ready{close: r.Close, start: func(s Streams) (Running, error) { return within(r, j, s) }}, nil
		}
		return t
	}
}

// jailed is a jail of the library that runs.
type jailed struct {
	cmd    *nsjail.Cmd
	cancel context.CancelFunc
}

func within(r *nsjail.Runner, j Job, s Streams) (Running, error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &jailed{r.CommandSpec(ctx, spec(j)), cancel}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = s.In, s.Out, s.Err
	if err := p.cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	return p, nil
}

func (p *jailed) Pid() int { return p.cmd.Pid() }
func (p *jailed) Kill()    { p.cancel() }

func (p *jailed) Wait() error {
	defer p.cancel()
	r, err := p.cmd.Wait()
	switch {
	case err != nil:
		return err
	case r.Status != nsjail.StatusOK:
		return fmt.Errorf("status %s, exit code %d", r.Status, r.ExitCode)
	}
	return nil
}

// Host is what the tools are given.
type Host struct {
	Dir    string // a private directory that the harness removes
	Brig   string // the brig program
	Root   bool
	Runner func(nsjail.RunnerOptions) (*nsjail.Runner, error)

	tree   tree
	strays []string // directories of runtimes that were not there before
	once   sync.Once
	root   string
	err    error
}

// env is what the tools run with: nothing of the caller's.
func (h *Host) env() []string {
	return []string{jailPath, "HOME=" + h.Dir, "TMPDIR=" + h.Dir, "XDG_RUNTIME_DIR=" + h.Dir}
}

// name is what everything begins with that the tools make and that has a name: control groups, containers, units. It is that
// of the harness's directory, in workers of the harness, too, whose directories are below.
func (h *Host) name() string {
	name := filepath.Base(h.Dir)
	for _, part := range strings.Split(h.Dir, "/") {
		if strings.HasPrefix(part, "brig-") {
			name = part
		}
	}
	return strings.ToLower(name)
}
