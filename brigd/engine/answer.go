package engine

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"brig/brigd/job"
	"brig/denial"
	"brig/internal/words"
	"brig/netns/egress"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// answer converts a Result, or the error if there is none, to a Response.
func answer(j *job.Job, r *Request, res *nsjail.Result, err error) *Response {
	a := &Response{ID: j.ID, Status: string(nsjail.StatusError), ExitCode: -1, Narrowed: j.Verdict.Narrowed}
	var no *job.Refusal
	var jail *nsjail.Error
	var exec *nsjail.ExecError
	switch {
	case errors.As(err, &no):
		a.Status, a.Error = "refused", no
		return a
	case res == nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		a.Status = string(nsjail.StatusCancelled)
		return a
	case res == nil && full(err):
		a.Error = machineFull()
		return a
	case errors.As(err, &exec):
		cause := *exec.Cause
		if exec.OfHost {
			cause.Remedy = "" // it is about files of the host
		}
		a.Error = jailRefusal(r, &cause)
		a.Denials = []denial.Denial{(&nsjail.ExecError{Cause: &cause}).Denial()}
		return a
	case errors.As(err, &jail):
		a.Error = jailRefusal(r, jail)
		return a
	case res == nil && err != nil:
		a.Error = refuse("jail", "jail_failed", "", "the jail has failed", tellOperator)
		return a
	}
	a.Status, a.ExitCode, a.Signal, a.TimedOut = string(res.Status), res.ExitCode, res.Signal, res.TimedOut
	a.Usage, a.LimitsHit, a.Enforced, a.Warm = &res.Usage, res.LimitsHit, enforced(res.Enforced), res.Warm
	a.Image = res.Image
	a.Violations, a.Denials = violations(res), slices.Clone(res.Denials)
	if res.Network != nil {
		if a.Network, err = json.Marshal(res.Network.Worded(inRequest)); err != nil {
			a.Network = nil // cannot happen: it is plain data
		}
	}
	return a
}

// enforced returns what enforces each mechanism, for requests.
func enforced(list map[string]words.Text) map[string]string {
	neutral := make(map[string]string, len(list))
	for name, t := range list {
		neutral[name] = t.String()
	}
	return neutral
}

// full reports whether an error is a temporary lack of descriptors, memory, processes or namespaces. For a step of the
// jail's program only a lack of memory is temporary; other limits would be reached again.
func full(err error) bool {
	if step, ok := errors.AsType[*nsjail.Error](err); ok && step.Of > 0 {
		return step.Errno == unix.ENOMEM
	}
	return slices.ContainsFunc([]error{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EAGAIN, unix.ENOSPC},
		func(e error) bool { return errors.Is(err, e) })
}

// machineFull returns the Refusal for a run for which the machine, or brigd's share of it, has no resources at present.
func machineFull() *job.Refusal {
	return refuse("jail", "machine_full", "", "this machine has no room for another jail at present",
		"send the same request again in a few seconds")
}

// jailRefusal returns the Refusal for a jail that could not be made.
func jailRefusal(r *Request, e *nsjail.Error) *job.Refusal {
	switch {
	case e.Op == "exec" && e.Fault != spec.FaultBrig:
		return refuse("jail", "command_not_runnable", e.Op, e.Error(), "name a program that is in the jail: "+
			"what the machine has in /usr/bin, or a file below /work that is executable")
	case e.Fault == spec.FaultHost:
		return hostRefusal(r, e)
	case e.Fault == spec.FaultCaller:
		op := strings.TrimPrefix(e.Op, "limits.") // the request has limits under their names
		no := refuse("jail", "bad_request", op, e.Named(op).In(inRequest))
		if fix := e.Remedy.In(inRequest); fix != "" {
			no.NextSteps = []string{fix}
		}
		return no
	}
	return refuse("jail", "jail_failed", e.Op, e.Op+": the jail could not be made", tellOperator)
}

// violations lists the forbidden operations that the run attempted.
func violations(res *nsjail.Result) (list []Violation) {
	if v := res.Violation; v != nil {
		list = append(list, Violation{Type: "syscall", Detail: v.Syscall, Count: int64(v.Count)})
	}
	if n := res.Network; n != nil && n.ByVerdict[egress.VerdictDeny] > 0 {
		var why []string
		for _, reason := range slices.Sorted(maps.Keys(n.ByReason)) {
			why = append(why, string(reason))
		}
		list = append(list, Violation{Type: "network", Detail: strings.Join(why, ", "),
			Count: int64(n.ByVerdict[egress.VerdictDeny])})
	}
	return list
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
