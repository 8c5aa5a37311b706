package nsjail

import (
	"errors"
	"syscall"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/run"
	"brig/nsjail/internal/warm"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// prepare makes the launcher create its prepared root and enter it. After an error the launcher cannot be used.
func (s *spawner) prepare(home bool) (*warmRoot, error) {
	h, err := host.Look(&spec.Spec{})
	if err != nil {
		return nil, err
	}
	if why := prepareMissing(h); why != "" {
		return nil, errors.New(why)
	}
	if home && h.Drop {
		h = h.Keeping(unix.CAP_SYS_ADMIN)
	}
	root := plan.Prepare(h, home, host.CopyEtc(h))
	root.NoSetns = s.perform(plan.SetnsTrial()) != nil // without setns(2), two processes cannot build a jail in parallel
	for _, step := range root.Steps {
		if err := s.perform(step); err != nil {
			return nil, err
		}
	}
	if err := s.dropRoot(&plan.Plan{Drop: plan.DropFor(h), Host: h}); err != nil {
		return nil, err
	}
	mounts, err := warm.OpenMountTable()
	return &warmRoot{spawner: s, modes: [2]plan.Mode{{Root: root}, {Root: root, Net: true}}, mounts: mounts}, err
}

// perform makes the launcher run one preparation, in itself or in a child that perform waits for.
func (s *spawner) perform(step plan.Preparation) error {
	report, far, err := launcher.ReportSocket()
	if err != nil {
		return err
	}
	defer report.Close()
	pid, err := s.launcher.Do(step.Program, step.Request, far)
	unix.Close(far)
	if err != nil {
		return launcher.StepError("prepare", step.Program, err)
	}
	if pid == 0 {
		return nil
	}
	var ws syscall.WaitStatus
	_, err = sys.Retry(func() (int, error) { return syscall.Wait4(pid, &ws, 0, nil) })
	if err == nil && ws == 0 { // exit(0)
		return nil
	}
	rep, _, err := run.Receive(report)
	if err != nil || rep.Type != launcher.ReportFail {
		return &spec.Error{Fault: spec.FaultHost, Op: "prepare", Detail: words.Plain(step.What + ": the process was killed")}
	}
	return launcher.StepError("prepare", step.Program, &launcher.OpError{Op: rep.A, Errno: syscall.Errno(rep.B)})
}
