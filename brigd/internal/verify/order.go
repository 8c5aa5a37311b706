package verify

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"brig/internal/attack"
	"brig/internal/rig"
	"brig/nsjail"
	"brig/nsjail/explain"
	"brig/testdata"

	"golang.org/x/sys/unix"
)

// verify performs the attacks in the configuration.
func verify(ctx context.Context, s *nsjail.Spec, attacks []*attack.Attack, egress []*rig.Attack, harmful bool) (*Report,
	error) {
	kernel, err := testdata.Files.ReadFile("payload/kernel.py")
	if err != nil {
		return nil, err
	}
	host, err := explain.Look(s)
	if err != nil {
		return nil, err
	}
	uid, abi := host.PayloadUID, host.Landlock
	host.Close()
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, err
	}
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return nil, err
	}
	r := &Report{Kernel: unix.ByteSliceToString(u.Release[:]), Caller: "user", Notes: notes}
	if os.Geteuid() == 0 {
		r.Caller = "root"
	}
	c, err := newConfig(s, r.Caller, temp)
	if err != nil {
		return nil, err
	}
	c.abi = abi
	py, why, err := probe(ctx, s)
	if err != nil {
		return nil, err
	}
	if why == "" && len(py.mount) > 0 {
		r.Notes = append(notes[:len(notes):len(notes)], "the root has no python3: this machine's is at "+usrThere)
	}
	for _, name := range c.secrets() {
		if err := os.Setenv(name, secret); err != nil {
			return nil, err
		}
	}
	v := &verifier{config: c, uid: uid, kernel: string(kernel), python: py, ctx: ctx}
	if r.Attacks, err = v.all(attacks, why, harmful); err != nil {
		return nil, err
	}
	rows, err := v.egress(egress, why)
	if err != nil {
		return nil, err
	}
	r.Attacks = append(r.Attacks, rows...)
	r.finish(why)
	return r, nil
}

// candidate is an attack with its place in the report.
type candidate struct {
	*attack.Attack
	*fit
	row *Row
}

// all performs the attacks, several at a time, and last those that do harm if they get through.
func (v *verifier) all(attacks []*attack.Attack, why string, harmful bool) ([]Row, error) {
	rows := make([]Row, len(attacks))
	var now, last []*candidate
	for i, a := range attacks {
		layer, _ := attack.Layer(a.Name)
		rows[i] = Row{Name: a.Title(), Layer: layer, Claim: a.Claim, CVE: a.CVEs(), Result: NotApplicable, Detail: why}
		if why != "" {
			continue
		}
		f, err := v.fit(a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Name, err)
		}
		if rows[i].Detail = f.skip; f.skip == "" {
			rows[i].GivenUpBy = f.givenUp
		}
		switch c := (&candidate{a, f, &rows[i]}); {
		case f.skip != "":
		case a.Harm != "" && !harmful:
			last = append(last, c)
		default:
			now = append(now, c)
		}
	}
	v.several(now)
	for _, c := range last {
		through := slices.IndexFunc(rows, func(r Row) bool { return r.Result == GotThrough })
		harm := "not performed, since " + c.Harm + " if it gets through"
		switch {
		case c.givenUp != "" && c.givenUp != "--seccomp build" && c.givenUp != "--seccomp debug": // which refuse most, too
			c.row.Result, c.row.Detail = GivenUp, harm
		case through >= 0:
			c.row.Detail = harm + ", as " + rows[through].Name + " did"
		default:
			v.several([]*candidate{c})
		}
	}
	return rows, nil
}

// several performs attacks, as many at a time as there are processors, but at most four.
func (v *verifier) several(list []*candidate) {
	slots := make(chan bool, max(2, min(4, runtime.GOMAXPROCS(0))))
	var group sync.WaitGroup
	for _, c := range list {
		slots <- true
		group.Go(func() { // which is new for each, for perform locks its thread
			defer func() { <-slots }()
			if c.row.Result, c.row.Detail = v.perform(c.Attack, c.fit); c.row.Result == Unclear { // on a busy machine
				c.row.Result, c.row.Detail = v.perform(c.Attack, c.fit)
			}
			if c.row.Performed = c.row.Result != NotApplicable; c.row.Result == GotThrough && c.givenUp != "" {
				c.row.Result = GivenUp
			}
		})
	}
	group.Wait()
}
