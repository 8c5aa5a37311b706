package verify

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"brig/internal/attack"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
)

// python is how attacks in Python are run in a root.
type python struct {
	words []string       // of the command line
	mount []nsjail.Mount // what shows it there
}

// own is the root's own python3.
func own() *python { return &python{words: []string{"python3"}} }

// usr is the directory of the machine that has the lent python3, and usrThere is where the jail shows it.
const usr, usrThere = "/usr", attack.Dir + "/usr"

// lent returns the machine's python3 for a root that has none: its /usr is shown elsewhere, and python is started by
// the loader that it names (ld.so(8)), with the libraries beside that.
func lent() (*python, error) {
	program, err := exec.LookPath("/usr/bin/python3")
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return nil, err
	}
	f, err := elf.Open(program)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	loader := ""
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			name, err := io.ReadAll(io.LimitReader(p.Open(), 4096))
			if err != nil {
				return nil, err
			}
			loader = strings.TrimRight(string(name), "\x00")
		}
	}
	if loader, err = filepath.EvalSymlinks(loader); err != nil {
		return nil, err
	}
	if !sys.Under(program, usr) || !sys.Under(loader, usr) {
		return nil, fmt.Errorf("%s or %s is not in %s", program, loader, usr)
	}
	there := func(p string) string { return usrThere + strings.TrimPrefix(p, usr) }
	return &python{
		words: []string{there(loader), "--library-path", there(filepath.Dir(loader)), there(program)},
		mount: []nsjail.Mount{{Type: nsjail.MountBind, Source: usr, Target: usrThere}},
	}, nil
}

// probe returns the python for a configuration, or why attacks cannot run there. An error means that there is no such
// jail.
func probe(ctx context.Context, s *nsjail.Spec) (p *python, why string, err error) {
	if runtime.GOARCH != "amd64" {
		return nil, "the attacks know the system calls of x86-64 only", nil
	}
	p = own()
	if why, err = p.try(ctx, s); !errors.Is(err, nsjail.ErrNotFound) || s.Rootfs == (nsjail.Rootfs{}) {
		return p, why, err
	}
	if p, err = lent(); err != nil {
		return nil, "there is no python3 in this root, in which the attacks are written, and this machine's cannot be " +
			"lent: " + err.Error(), nil
	}
	why, err = p.try(ctx, s)
	return p, why, err
}

// try returns why python does not run in a configuration, or "".
func (p *python) try(ctx context.Context, s *nsjail.Spec) (why string, err error) {
	args := append(p.words[:len(p.words):len(p.words)], s.Args[1:]...)
	c := nsjail.CommandContext(ctx, args[0])
	c.Spec = *s.Clone()
	c.Spec.TTY, c.Spec.Args, c.Spec.Mounts = false, args, append(c.Spec.Mounts, p.mount...)
	said := &bounded{limit: 400}
	c.Stderr = said
	res, err := c.Run()
	if err != nil {
		return "", err
	}
	for i := range res.Changes {
		err = errors.Join(err, res.Changes[i].Close())
	}
	if res.Status != nsjail.StatusOK {
		why = fmt.Sprintf("python3 does not run in this jail: %s %s", res.Status, words.Quote(string(said.kept)))
	}
	return why, err
}

// run has a jail run a command with this python.
func (p *python) run(s *nsjail.Spec) {
	if s.Args[0] == "python3" {
		s.Args = append(p.words[:len(p.words):len(p.words)], s.Args[1:]...)
		s.Mounts = append(s.Mounts, p.mount...)
	}
}
