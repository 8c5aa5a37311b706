package workspace

import (
	"crypto/rand"

	"golang.org/x/sys/unix"

	"brig/internal/owned"
)

// Remove removes a file of any type, or a directory with everything in it, regardless of their modes. It removes a
// symbolic link itself, not its target. If it takes too long, the rest remains (CodeTooMuch), and another call
// continues.
func (t *Tree) Remove(path string) error {
	p, err := t.begin(path, below)
	if err != nil {
		return err
	}
	dir, name := p.split()
	fd, err := t.open(dir, lookDir)
	if err != nil {
		return explain("remove", p, err)
	}
	defer unix.Close(fd)
	defer t.changed()
	left := t.newBudget("remove")
	m := owned.Remover{Prefix: ".rm-" + rand.Text() + "-", Step: func() error { return left.spend(p) }}
	if err = m.Remove(fd, name, p.slash); err == unix.ENOTDIR && isLink(fd, name) {
		err = unix.ELOOP
	}
	if err != nil {
		return explain("remove", p, err)
	}
	return nil
}
