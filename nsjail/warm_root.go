package nsjail

import (
	"errors"
	"os"
	"slices"
	"sync"
	"syscall"

	"brig/internal/sys"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/warm"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// maxTemplates is the number of templates that a Runner keeps.
const maxTemplates = 16

// warmRoot is the state of a launcher in a prepared root: the cached plans and the pools of parked jails.
type warmRoot struct {
	modes     [2]plan.Mode // without and with a network namespace from the pool
	mounts    *warm.MountTable
	mu        sync.Mutex
	templates []*planTemplate // the most recently used first
	pools     []*jailPool
	payloads  []*payloadPool
	done      bool
}

// prepareLauncher makes the launcher create its prepared root and enter it. After an error the launcher cannot be used.
func (r *Runner) prepareLauncher(home bool) (*warmRoot, error) {
	h, err := host.Look(&spec.Spec{})
	if err != nil {
		return nil, err
	}
	if why := prepareMissing(h); why != "" {
		return nil, errors.New(why)
	}
	if home && h.Drop {
		h.Kept |= 1 << unix.CAP_SYS_ADMIN
	}
	root := plan.Prepare(h, home, host.CopyEtc(h))
	root.NoSetns = r.perform(plan.SetnsTrial()) != nil // without setns(2), two processes cannot build a jail in parallel
	for _, s := range root.Steps {
		if err := r.perform(s); err != nil {
			return nil, err
		}
	}
	if err := r.dropRoot(&plan.Plan{Drop: plan.DropFor(h), Host: h}); err != nil {
		return nil, err
	}
	mounts, err := warm.OpenMountTable()
	return &warmRoot{modes: [2]plan.Mode{{Root: root}, {Root: root, Net: true}}, mounts: mounts}, err
}

// perform makes the launcher run one preparation, in itself or in a child that perform waits for.
func (r *Runner) perform(s plan.Preparation) error {
	report, far, err := launcher.ReportSocket()
	if err != nil {
		return err
	}
	defer report.Close()
	pid, err := r.launcher.Do(s.Program, s.Request, far)
	unix.Close(far)
	if err != nil {
		return launcher.StepError("prepare", s.Program, err)
	}
	if pid == 0 {
		return nil
	}
	var ws syscall.WaitStatus
	_, err = sys.Retry(func() (int, error) { return syscall.Wait4(pid, &ws, 0, nil) })
	if err == nil && ws == 0 { // exit(0)
		return nil
	}
	rep, _, err := receive(report)
	if err != nil || rep.Type != launcher.ReportFail {
		return &spec.Error{Fault: spec.FaultHost, Op: "prepare", Detail: s.What + ": the process was killed"}
	}
	return launcher.StepError("prepare", s.Program, &launcher.OpError{Op: rep.A, Errno: syscall.Errno(rep.B)})
}

// template returns a cached or a new template for a Spec. The caller must call warmRoot.used afterwards.
func (r *Runner) template(s *spec.Spec, k *kind, pooled bool) (t *planTemplate, known bool, err error) {
	r.tree.mu.Lock()
	defer r.tree.mu.Unlock()
	if r.tree.done {
		return nil, false, os.ErrClosed
	}
	at := slices.IndexFunc(r.tree.templates, func(t *planTemplate) bool {
		return t.prefix.Plan.Mode.Net == pooled && t.fits(k)
	})
	if at >= 0 {
		t = r.tree.templates[at]
		r.tree.templates = slices.Insert(slices.Delete(r.tree.templates, at, at+1), 0, t)
		t.uses++
		return t, true, nil
	}
	prefix := *s
	if plan.MountsComeLater(s) {
		prefix.Mounts, prefix.Protect = nil, nil
	}
	mounts := r.tree.mounts.Changes()
	h, err := host.Look(&prefix)
	if err != nil {
		return nil, false, err
	}
	if err := r.volumes.look(&prefix, h); err != nil {
		return nil, false, errors.Join(err, h.Close())
	}
	mode := &r.tree.modes[0]
	if pooled {
		mode = &r.tree.modes[1]
	}
	if t, err = newPlanTemplate(s, h, mode); err != nil {
		return nil, false, errors.Join(err, h.Close())
	}
	t.uses, t.mounts = t.uses+1, mounts
	r.tree.templates = slices.Insert(r.tree.templates, 0, t)
	if n := len(r.tree.templates) - 1; n == maxTemplates {
		r.tree.templates[n].release()
		r.tree.templates = r.tree.templates[:n]
	}
	return t, false, nil
}

// close discards the parked jails and releases the templates.
func (st *warmRoot) close() error {
	if st == nil {
		return nil
	}
	st.mu.Lock()
	st.done = true
	for _, t := range st.templates {
		t.release()
	}
	pools, payloads := st.pools, st.payloads
	st.templates, st.pools, st.payloads = nil, nil, nil
	st.mu.Unlock()
	var errs []error
	for _, y := range payloads { // before the jails that they are made of
		errs = append(errs, y.Close())
	}
	for _, y := range pools {
		errs = append(errs, y.Close())
	}
	return errors.Join(append(errs, st.mounts.Close())...)
}

// release closes the files of a template when its last user has finished. The caller holds the lock.
func (t *planTemplate) release() {
	t.gone = true
	if t.uses == 0 {
		_ = t.file.Close()
		_ = t.prefix.Plan.Host.Close()
	}
}

// used decrements the use count of a template.
func (st *warmRoot) used(t *planTemplate) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if t.uses--; t.gone {
		t.release()
	}
}

// kindOf returns the kind of a Spec.
func kindOf(s *spec.Spec) (k *kind, err error) {
	k = &kind{key: plan.PrefixSpec(s)}
	if spec.FileProfile(s.Seccomp) {
		k.profile, err = host.ReadProfile(s.Seccomp)
	}
	return k, err
}

// forgetTemplate drops a template that no longer describes the machine, and discards the jails parked from it.
func (st *warmRoot) forgetTemplate(t *planTemplate) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if at := slices.Index(st.templates, t); at >= 0 {
		st.templates = slices.Delete(st.templates, at, at+1)
		t.release()
	}
	var errs []error
	for _, y := range st.pools {
		errs = append(errs, y.Remove(func(j *jail) bool { return j.from == t }))
	}
	return errors.Join(errs...)
}
