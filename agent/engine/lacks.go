package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"brig/nsjail"
)

// Lacks returns an error if this machine cannot provide the mechanisms that every run needs: those that Options.Base
// and the policies require for every request. The error names all missing mechanisms, and brigd's flag that makes them
// optional.
func (e *Engine) Lacks() error {
	var missing []string
	var first *nsjail.Error
	for range nsjail.Mechanisms() {
		err := e.possible(missing)
		var jail *nsjail.Error
		if !errors.As(err, &jail) || jail.Fault != nsjail.FaultHost {
			break
		}
		name, known := mechanism(jail.Op)
		if !known {
			return err
		}
		if slices.Contains(missing, name) {
			return lacking([]string{name}, jail, "every run would be refused: a policy requires %s", "")
		}
		missing = append(missing, name)
		if first == nil {
			first = jail
		}
	}
	if first == nil {
		return nil
	}
	return lacking(missing, first, "every run would be refused: a policy or a default asks for %s",
		", or have runs do without: --optional "+strings.Join(missing, ","))
}

// lacking returns an error with the missing mechanisms, the cause and the remedy.
func lacking(missing []string, why *nsjail.Error, asked, instead string) error {
	remedy, _, _ := strings.Cut(why.Remedy, ", or accept") // names one flag; several may be needed
	return fmt.Errorf(asked+", and this machine cannot hold that: %s: %s; %s%s", strings.Join(missing, ", "),
		why.Op, why.Detail, remedy, instead)
}

// possible resolves the Spec with which every run begins, as if the given mechanisms were optional. It runs nothing.
func (e *Engine) possible(optional []string) error {
	j := &nsjail.Job{Spec: e.base()}
	s := &j.Spec
	s.Args, s.Optional = []string{"true"}, append(s.Optional, optional...)
	for _, p := range e.opts.Policies {
		p.Lower(s)
	}
	e.fill(j, &Request{})
	h, err := nsjail.Look(s)
	if err != nil {
		return err
	}
	_, err = nsjail.Resolve(s, h)
	return errors.Join(err, h.Close())
}

// mechanism returns the name in Spec.Optional of the mechanism for a failed operation.
func mechanism(op string) (name string, known bool) {
	name = strings.TrimPrefix(op, "limits.")
	return name, slices.ContainsFunc(nsjail.Mechanisms(), func(m nsjail.Mechanism) bool { return m.Name == name })
}

// asks reports whether a request itself requires a mechanism. Otherwise a policy or the engine requires it.
func (r *Request) asks(mechanism string) bool {
	switch mechanism {
	case "memory":
		return r.Memory != 0
	case "cpus":
		return r.CPUs != 0
	case "net":
		return len(r.Network) > 0
	}
	return false
}

// hostRefusal returns the Refusal for a jail that this machine cannot make. It suggests changing the request only if
// the request itself requires the missing mechanism.
func hostRefusal(r *Request, jail *nsjail.Error) *nsjail.Refusal {
	no := &nsjail.Refusal{Message: jail.Error(), Code: "host_lacks", Layer: "jail", Rule: jail.Op}
	name, known := mechanism(jail.Op)
	if r.asks(name) {
		no.NextSteps = []string{"send the request without what this machine cannot do: " + jail.Op}
	}
	if jail.Remedy != "" {
		no.NextSteps = append(no.NextSteps, "have the operator see to it: "+jail.Remedy)
	}
	if known && !r.asks(name) {
		no.NextSteps = append(no.NextSteps, "a policy or a default of the operator's asks for "+name+", "+
			"and not the request: no other request will do")
	}
	return no
}
