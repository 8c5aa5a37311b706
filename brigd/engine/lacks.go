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

// Lacks returns an error if this machine cannot provide the mechanisms that every run needs: those that Options.Base
// and the policies require for every request. The error names all missing mechanisms, and refers to
// the setting that makes them optional.
func (e *Engine) Lacks() error {
	var missing []string
	var first *nsjail.Error
	for range spec.Mechanisms() {
		err := e.possible(missing)
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
		return e.lacksCOW()
	}
	return lacking("a policy or a default asks for "+strings.Join(missing, ", "), first,
		", or have runs do without: "+words.Add("optional", missing...))
}

// lacksCOW returns an error if this machine cannot mount a share in mode cow.
func (e *Engine) lacksCOW() error {
	for _, m := range e.shares.List() {
		if m.Mode != "cow" {
			continue
		}
		mount, no := e.mountOf(Caller{}, &Mount{Share: m.Name, Target: shareTargets[0], Mode: m.Mode})
		if no != nil {
			return no
		}
		s := e.base()
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
func (e *Engine) possible(optional []string) error {
	j := &job.Job{Spec: e.base()}
	s := &j.Spec
	s.Args, s.Optional = []string{"true"}, append(s.Optional, optional...)
	for _, p := range e.opts.Policies {
		p.Lower(s)
	}
	e.fill(j, &Request{})
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

// mechanism returns the name in Spec.Optional of the mechanism for a failed operation.
func mechanism(op string) (name string, known bool) {
	name = strings.TrimPrefix(op, "limits.")
	return name, slices.ContainsFunc(spec.Mechanisms(), func(m spec.Mechanism) bool { return m.Name == name })
}

// asks reports whether a request itself requires a mechanism. Otherwise a policy or the engine requires it.
func (r *Request) asks(mechanism string) bool {
	return mechanism == "memory" && r.Memory != 0 || mechanism == "cpus" && r.CPUs != 0 ||
		mechanism == "net" && len(r.Network) > 0
}

// tellOperator is what a caller can do about a fault of the machine.
const tellOperator = "tell the operator: the log of this server has the reason and the remedy"

// hostRefusal returns the Refusal for a jail that this machine cannot make. It suggests changing the request only if
// the request itself requires the missing mechanism. Paths of the host and commands for its operator, in the error's
// detail and remedy, are not for the caller, which may be a model that acts on them.
func hostRefusal(r *Request, jail *nsjail.Error) *job.Refusal {
	message := jail.Op + ": this machine lacks what the jail needs"
	if jail.Errno != 0 {
		message += ": " + jail.Errno.Error()
	}
	no := refuse("jail", "host_lacks", jail.Op, message)
	name, known := mechanism(jail.Op)
	asked := r.asks(name)
	if asked {
		no.NextSteps = []string{"send the request without what this machine cannot do: " + jail.Op}
	}
	no.NextSteps = append(no.NextSteps, tellOperator)
	if known && !asked {
		no.NextSteps = append(no.NextSteps, "a policy or a default of the operator's asks for "+name+", "+
			"and not the request: no other request will do")
	}
	return no
}
