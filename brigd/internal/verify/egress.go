package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"

	"brig/internal/attack"
	"brig/internal/rig"
	"brig/internal/words"
	"brig/nsjail"
)

// egressLayer is the layer of the attacks of testdata/egress, and egressName begins their names.
const (
	egressLayer = "network by name"
	egressName  = "egress"
)

// egressParts is the number of rigs that share the attacks: most of the time is waiting.
const egressParts = 6

// task is what the process in a rig performs.
type task struct {
	Spec    json.RawMessage `json:"spec"` // the configuration, as for any attack; its command is python
	Dir     string          `json:"dir"`  // for files of the rig
	Attacks []*rig.Attack   `json:"attacks"`
}

// egress performs attacks on a network by name. Each has rules of its own in the caller's configuration, in an internet
// that is made for them: package rig. Where that cannot be made, they do not apply.
func (v *verifier) egress(attacks []*rig.Attack, why string) ([]Row, error) {
	switch {
	case why != "":
	case v.spec.Net != nsjail.NetEgress:
		why = "the network is not egress"
	case v.spec.Tier != "":
		why = "it is for a jail of another tier"
	}
	if len(attacks) > 0 && why != "" {
		claim := fmt.Sprintf("Nothing passes that the rules of the network do not allow: %d attacks.", len(attacks))
		return []Row{{Name: egressName, Layer: egressLayer, Claim: claim, Result: NotApplicable, Detail: why}}, nil
	}
	rows := make([]Row, len(attacks))
	for i, a := range attacks {
		rows[i] = egressRow(a, NotApplicable, "it kills the process that performs the attacks")
	}
	var group sync.WaitGroup
	errs := make([]error, egressParts)
	for part := range errs {
		group.Go(func() { errs[part] = v.part(attacks, rows, part) })
	}
	group.Wait()
	return rows, errors.Join(errs...)
}

func egressTitle(a *rig.Attack) string { return egressName + "-" + strings.TrimSuffix(a.Name, ".py") }

func egressRow(a *rig.Attack, r Result, detail string) Row {
	return Row{Name: egressTitle(a), Layer: egressLayer, Claim: a.Claim, Result: r, Performed: r != NotApplicable,
		Detail: words.Printable(words.Clip(detail, 400))}
}

// part performs one part of the attacks in a rig of its own, and fills their rows.
func (v *verifier) part(attacks []*rig.Attack, rows []Row, part int) error {
	dir, err := os.MkdirTemp(v.temp, "brig-verify-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	base := v.base(&attack.Attack{})
	base.Mounts, base.Args = append(base.Mounts, v.python.mount...), v.python.words
	t := task{Spec: base.JSON(), Dir: dir}
	var mine []*Row
	for i := part; i < len(attacks); i += egressParts {
		if a := attacks[i]; !a.Kill {
			t.Attacks, mine = append(t.Attacks, a), append(mine, &rows[i])
		}
	}
	if len(mine) == 0 {
		return nil
	}
	list, err := v.inRig(&t)
	if err == nil && len(list) != len(mine) {
		err = fmt.Errorf("only %d of %d attacks on the network were performed", len(list), len(mine))
	}
	for i, r := range list {
		*mine[i] = r
	}
	return err
}

// inRig performs a task in the process of a rig: runRig.
func (v *verifier) inRig(t *task) (list []Row, err error) {
	runtime.LockOSThread() // until the process has ended: see rig.Command
	defer runtime.UnlockOSThread()
	cmd := rig.Command(rig.Self, "/proc/self/exe", "verify")
	cmd.Env = append(cmd.Env, stepVariable+"="+stepRig)
	var started error
	err = ask(cmd, func(c *exec.Cmd) error {
		if started = c.Start(); started == nil {
			context.AfterFunc(v.ctx, func() { _ = c.Process.Kill() }) // it may have ended
		}
		return started
	}, t, &list)
	switch {
	case started != nil:
		return missing(t, "no network namespace can be made here: "+started.Error()), nil
	case err != nil:
		return nil, fmt.Errorf("the attacks on the network: %w", err)
	}
	return list, nil
}

// ask starts a process, writes a question to its standard input as JSON, and reads the answer from its standard output.
// The input stays open until the process has ended, which shows it that this one lives.
func ask(cmd *exec.Cmd, start func(*exec.Cmd) error, question, answer any) error {
	var out bytes.Buffer
	errOut := &bounded{limit: 400}
	cmd.Stdout, cmd.Stderr = &out, errOut
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	defer in.Close()
	if err := start(cmd); err != nil {
		return err
	}
	err = json.NewEncoder(in).Encode(question)
	if werr := cmd.Wait(); err == nil {
		err = werr
	}
	if err == nil {
		err = json.Unmarshal(out.Bytes(), answer)
	}
	if err != nil {
		err = fmt.Errorf("%w %s", err, words.Quote(string(errOut.kept)))
	}
	return err
}

// missing returns the rows of attacks for which there is no rig.
func missing(t *task, why string) (list []Row) {
	for _, a := range t.Attacks {
		list = append(list, egressRow(a, NotApplicable, why))
	}
	return list
}
