package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"brig/brigd/job"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/explain"
	"brig/nsjail/spec"
)

// needs are what every run needs of this machine.
type needs struct {
	defaults *defaults
	own      policies
	shares   *shares
}

// Lacks returns an error if this machine cannot provide the mechanisms that every run needs: those that Options.Base
// and the policies require for every request. The error names all missing mechanisms, and refers to
// the setting that makes them optional.
func (n *needs) Lacks() error {
	var missing []string
	var first *nsjail.Error
	for range spec.Mechanisms() {
		err := n.possible(missing)
		var jail *nsjail.Error
		if !errors.As(err, &jail) || jail.Fault != spec.FaultHost {
			break
		}
		name, known := mechanism(jail.Op)
		switch {
		case !known:
			return err
		case slices.Contains(missing, name):
			return lacking("a policy requires "+name, jail, "")
		}
		missing = append(missing, name)
		first = cmp.Or(first, jail)
	}
	if first == nil {
		return n.lacksCOW()
	}
	return lacking("a policy or a default asks for "+strings.Join(missing, ", "), first,
		", or have runs do without: "+words.Add("optional", missing...))
}

// lacksCOW returns an error if this machine cannot mount a share in mode cow.
func (n *needs) lacksCOW() error {
	for _, m := range n.shares.set.List() {
		if m.Mode != "cow" {
			continue
		}
		mount, no := n.shares.mountOf(Caller{}, &Mount{Share: m.Name, Target: shareTargets[0], Mode: m.Mode})
		if no != nil {
			return no
		}
		s := n.defaults.base()
		s.Args, s.Mounts = []string{"true"}, []nsjail.Mount{mount}
		if err := resolve(&s); err != nil {
			return fmt.Errorf("every run with the share %s would be refused: %w; or share it in mode ro", m.Name, err)
		}
	}
	return nil
}

// lacking returns an error with what is asked for, the cause and the remedy.
func lacking(asked string, why *nsjail.Error, instead words.Text) error {
	remedy := why.Remedy.Bare() // it names one mechanism; several may be missing
	return words.Error(words.Textf("every run would be refused: %s, and this machine cannot hold that: %s: %s; %s%s",
		asked,
		why.Op, why.Detail, remedy, instead))
}

// possible resolves the Spec with which every run begins, as if the given mechanisms were optional. It runs nothing.
func (n *needs) possible(optional []string) error {
	j := &job.Job{Spec: n.defaults.base()}
	s := &j.Spec
	s.Args, s.Optional = []string{"true"}, append(s.Optional, optional...)
	for _, p := range n.own {
		p.Lower(s)
	}
	n.defaults.fill(j, &Request{})
	return resolve(s)
}

func resolve(s *nsjail.Spec) error {
	h, err := explain.Look(s)
	if err != nil {
		return err
	}
	_, err = explain.Resolve(s, h)
	return errors.Join(err, h.Close())
}
