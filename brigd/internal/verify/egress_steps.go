package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"brig/internal/attack"
	"brig/internal/rig"
	"brig/internal/words"
	"brig/netns/egress/policy"
	"brig/nsjail"
	"brig/nsjail/spec"
	"brig/testdata"
)

// stepVariable names the step that a process of verify performs: the rest of verify in a new mount namespace, the
// attacks of a rig, or one jail in a rig. The second has the capabilities that the rig needs, and the third has those
// of the caller.
const (
	stepVariable = "BRIG_VERIFY_STEP"
	stepPrivate  = "private"
	stepRig      = "rig"
	stepJail     = "jail"
)

// step performs the step that stepVariable names. It reads its task from standard input, which stays open as long as
// the process that has started it lives.
func step(name string, stdin io.Reader, stdout io.Writer) error {
	in := json.NewDecoder(stdin)
	var answer any
	do := func() error { return fmt.Errorf("%s: there is no step %s", stepVariable, words.Quote(name)) }
	var err error
	switch name {
	case stepRig:
		var t task
		err = in.Decode(&t)
		do = func() error { answer = runRig(&t); return nil }
	case stepJail:
		var s json.RawMessage
		err = in.Decode(&s)
		do = func() (err error) { answer, err = runJail(s); return err }
	}
	if err != nil {
		return err
	}
	done, gone := make(chan error, 1), make(chan error, 1)
	go func() { done <- do() }()
	go func() {
		_ = in.Decode(new(any)) // returns at the end of the input
		gone <- errors.New("the process that waits for the answer has ended")
	}()
	select {
	case err = <-done:
	case err = <-gone:
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(answer)
}

// runRig makes a rig and performs the attacks of a task in it.
func runRig(t *task) (list []Row) {
	if _, err := exec.LookPath("ip"); err != nil {
		return missing(t, "there is no ip(8) to make an internet for it with: install iproute2")
	}
	r, err := rig.New(t.Dir)
	if err != nil {
		return missing(t, "no internet can be made here for it: "+err.Error())
	}
	for _, a := range t.Attacks {
		result, detail := t.perform(r, a)
		list = append(list, egressRow(a, result, detail))
	}
	return list
}

// perform runs one attack. The jail has held if that is the payload's verdict, and no server and no packet contradicts
// it.
func (t *task) perform(r *rig.Rig, a *rig.Attack) (Result, string) {
	if a.Needs6 && !r.IPv6 {
		return NotApplicable, "this machine has no IPv6"
	}
	spec, err := t.jail(r, a)
	if err != nil {
		return Unclear, err.Error()
	}
	r.Visits.Take()
	o, err := start(spec)
	if err != nil {
		return Unclear, err.Error()
	}
	reached, err := r.Reached(a)
	verdict, detail := attack.Judge(&o.Outcome, o.Stderr)
	switch {
	case len(reached) > 0:
		return GotThrough, reached[0]
	case verdict == attack.Unclear:
		return Unclear, detail
	case err != nil:
		return Unclear, err.Error()
	case verdict == attack.Escaped:
		return GotThrough, said(o.Output)
	}
	return Held, said(o.Output)
}

// jail returns the configuration with the attack's rules and files.
func (t *task) jail(r *rig.Rig, a *rig.Attack) (*nsjail.Spec, error) {
	s, err := spec.ParseSpec(t.Spec)
	if err != nil {
		return nil, err
	}
	redirect := s.Egress != nil && s.Egress.Redirect
	if s.Egress, err = rules(a); err != nil {
		return nil, err
	}
	s.Egress.Redirect = redirect
	files := map[string]string{"/egress/" + a.Name: a.Text, "/rig/ca.pem": string(r.CA.PEM())}
	for _, name := range []string{"kernel.py", "egress.py"} {
		text, err := testdata.Files.ReadFile("payload/" + name)
		if err != nil {
			return nil, err
		}
		files["/egress/"+name] = string(text)
	}
	for target, text := range files {
		s.Mounts = append(s.Mounts, nsjail.Mount{Type: nsjail.MountData, Content: text, Target: target})
	}
	s.Args = append(s.Args, "/egress/"+a.Name)
	return s, nil
}

// rules returns the policy of an attack.
func rules(a *rig.Attack) (*policy.Policy, error) {
	p := &policy.Policy{}
	if a.Policy != "" {
		var err error
		if p, _, err = policy.LoadPolicy([]byte(a.Policy)); err != nil {
			return nil, err
		}
	}
	for list, texts := range map[*[]policy.Rule][]string{&p.Allow: a.Allow, &p.Deny: a.Deny} {
		for _, text := range texts {
			rule, err := policy.ParseRule(text)
			if err != nil {
				return nil, err
			}
			*list = append(*list, rule)
		}
	}
	return p, nil
}

// outcome is how a jail has ended.
type outcome struct {
	attack.Outcome
	Stderr string
	Error  string
}

// start has a process without the rig's capabilities make a jail: runJail.
func start(s *nsjail.Spec) (*outcome, error) {
	cmd := exec.Command("/proc/self/exe", "verify")
	cmd.Env = append(os.Environ(), stepVariable+"="+stepJail)
	o := &outcome{}
	if err := ask(cmd, rig.Start, json.RawMessage(s.JSON()), o); err != nil {
		return nil, err
	}
	if o.Error != "" {
		return nil, errors.New(o.Error)
	}
	return o, nil
}

// runJail makes a jail and waits for its end.
func runJail(text []byte) (*outcome, error) {
	s, err := spec.ParseSpec(text)
	if err != nil {
		return nil, err
	}
	out, errOut := &bounded{limit: 2 << 20}, &bounded{limit: 4 << 10}
	c := nsjail.Command(s.Args[0])
	c.Spec, c.Stdout, c.Stderr = *s, out, errOut
	c.Spec.Limits.Wall = nsjail.Duration(90 * time.Second) // some attacks wait
	o := &outcome{}
	res, err := c.Run()
	if res != nil {
		o.Status, o.ExitCode = string(res.Status), res.ExitCode
		for i := range res.Changes {
			err = errors.Join(err, res.Changes[i].Close())
		}
	}
	if err != nil {
		o.Error = err.Error()
	}
	o.Output, o.Stderr = out.kept, strings.ToValidUTF8(string(errOut.kept), "?")
	return o, nil
}
