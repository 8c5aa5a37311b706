package nsjail

import (
	"errors"
	"os"
	"slices"
	"sync"
	"syscall"

	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/spec"

	"golang.org/x/sys/unix"
)

// maxTemplates is how many kinds of Spec a Runner remembers.
const maxTemplates = 16

// stand is a launcher that stands in a tree of its own, with what has been worked out for it.
type stand struct {
	modes [2]plan.Mode // without and with a network namespace that was ready
	mu    sync.Mutex
	kinds []*template // the one that was used last comes first
	yards []*yard
	done  bool
}

// prepareLauncher has the launcher make its tree and move into it. After an error the launcher is of no use.
func (r *Runner) prepareLauncher(home bool) (*stand, error) {
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
	root.NoSetns = r.perform(plan.SetnsTrial()) != nil // it is done without, then
	for _, s := range root.Steps {
		if err := r.perform(s); err != nil {
			return nil, err
		}
	}
	st := &stand{modes: [2]plan.Mode{{Root: root}, {Root: root, Net: true}}}
	return st, r.adopt(&plan.Plan{Drop: plan.DropFor(h), Host: h})
}

// perform has the launcher perform one preparation, in itself or in a process that it waits for.
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
	for {
		if _, err := syscall.Wait4(pid, &ws, 0, nil); err != syscall.EINTR {
			break
		}
	}
	if ws.Exited() && ws.ExitStatus() == 0 {
		return nil
	}
	rep, _, err := receive(report)
	if err != nil || rep.Type != launcher.ReportFail {
		return &spec.Error{Fault: spec.FaultHost, Op: "prepare", Detail: s.What + ": the process was killed"}
	}
	return launcher.StepError("prepare", s.Program, &launcher.OpError{Op: rep.A, Errno: syscall.Errno(rep.B)})
}

// kind gives the template for a Spec, from those that are remembered or a new one, until stand.used.
func (r *Runner) kind(s *spec.Spec, pooled bool) (t *template, known bool, err error) {
	key, filter, err := r.tree.ask(s)
	if err != nil {
		return nil, false, err
	}
	r.tree.mu.Lock()
	defer r.tree.mu.Unlock()
	if r.tree.done {
		return nil, false, os.ErrClosed
	}
	mode := &r.tree.modes[0]
	if pooled {
		mode = &r.tree.modes[1]
	}
	at := slices.IndexFunc(r.tree.kinds, func(t *template) bool {
		return t.prefix.Plan.Mode.Net == pooled && t.fits(&key, filter)
	})
	if at >= 0 {
		t = r.tree.kinds[at]
		copy(r.tree.kinds[1:at+1], r.tree.kinds[:at])
		r.tree.kinds[0] = t
		t.uses++
		return t, true, nil
	}
	head := *s
	if plan.MountsComeLater(s) {
		head.Mounts = nil
	}
	h, err := host.Look(&head)
	if err != nil {
		return nil, false, err
	}
	if err := r.volumes.look(&head, h); err != nil {
		return nil, false, errors.Join(err, h.Close())
	}
	if t, err = newTemplate(s, h, mode); err != nil {
		return nil, false, errors.Join(err, h.Close())
	}
	t.uses++
	r.tree.kinds = slices.Insert(r.tree.kinds, 0, t)
	if n := len(r.tree.kinds) - 1; n == maxTemplates {
		r.tree.kinds[n].release()
		r.tree.kinds = r.tree.kinds[:n]
	}
	return t, false, nil
}

// close ends the parked jails and forgets everything.
func (st *stand) close() error {
	if st == nil {
		return nil
	}
	st.mu.Lock()
	st.done = true
	for _, t := range st.kinds {
		t.release()
	}
	yards := st.yards
	st.kinds, st.yards = nil, nil
	st.mu.Unlock()
	var errs []error
	for _, y := range yards {
		errs = append(errs, y.close())
	}
	return errors.Join(errs...)
}

// release closes what a template holds, when nobody uses it any more. The caller holds the lock.
func (t *template) release() {
	t.gone = true
	if t.uses == 0 {
		_ = t.file.Close()
		_ = t.prefix.Plan.Host.Close()
	}
}

// used ends what kind began.
func (st *stand) used(t *template) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if t.uses--; t.gone {
		t.release()
	}
}

// ask gives what a template has to fit. The filter is nil unless it comes from a file, which may have changed.
func (st *stand) ask(s *spec.Spec) (key spec.Spec, filter []byte, err error) {
	if spec.FileProfile(s.Seccomp) {
		h := &host.Host{Kernel: st.modes[0].Root.Host.Kernel, Missing: map[string]string{}}
		err = h.LookFilter(s)
		filter = h.Filter
	}
	return plan.PrefixSpec(s), filter, err
}

// forgetKind drops a template that does not describe the machine any more, with the jails that were parked for it.
func (st *stand) forgetKind(t *template) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if at := slices.Index(st.kinds, t); at >= 0 {
		st.kinds = slices.Delete(st.kinds, at, at+1)
		t.release()
	}
	var errs []error
	for _, y := range st.yards {
		errs = append(errs, y.clear(t))
	}
	return errors.Join(errs...)
}
