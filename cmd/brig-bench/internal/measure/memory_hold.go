package measure

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/procfs"
)

// hold runs n jails at once and says what they hold.
func hold(ctx context.Context, t *peers.Tool, n int) (h held, err error) {
	ready, err := t.Prepare(peers.Job{Args: waiting})
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, ready.Close()) }()
	if err := settle(ctx); err != nil {
		return h, err
	}
	before, err := procfs.ReadKernel()
	if err != nil {
		return h, err
	}
	start := time.Now()
	jails, err := startMany(ctx, ready, n)
	took := time.Since(start)
	defer func() { err = errors.Join(err, jails.end()) }()
	if err != nil {
		return h, err
	}
	after, err := procfs.ReadKernel()
	if err != nil {
		return h, err
	}
	h, err = sizes(jails.pids())
	h.took = took
	h.processes /= 1024 * float64(n)
	h.kernel = float64(after.Held()-before.Held()) / 1024 / float64(n)
	return h, err
}

// sizes adds up the processes and all below them, in bytes.
func sizes(pids []int) (h held, err error) {
	parents, err := procfs.Parents()
	if err != nil {
		return h, err
	}
	for _, pid := range pids {
		h.hidden = h.hidden || pid == 0
	}
	if h.hidden {
		return h, nil
	}
	for pid := range procfs.Below(parents, pids...) {
		s, err := procfs.ReadSize(pid)
		if err != nil {
			return h, err
		}
		h.processes += float64(s.Share)
		h.guessed = h.guessed || s.Guessed
	}
	return h, nil
}

// many are jails that read one pipe and have each said that they run.
type many struct {
	running []peers.Running
	in, out *os.File // our ends
}

func startMany(ctx context.Context, ready *peers.Ready, n int) (m *many, err error) {
	m = &many{}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return m, err
	}
	m.in = in
	out, theirOut, err := os.Pipe()
	if err != nil {
		return m, errors.Join(err, theirIn.Close())
	}
	m.out = out
	defer func() { err = errors.Join(err, theirIn.Close(), theirOut.Close()) }()
	stop := context.AfterFunc(ctx, func() { _ = out.SetReadDeadline(time.Now()) }) // a jail that says nothing ends with ctx
	defer stop()
	lines := bufio.NewReader(out)
	for i := range n {
		if err := ctx.Err(); err != nil {
			return m, err
		}
		r, err := ready.Start(peers.Streams{In: theirIn, Out: theirOut})
		if err != nil {
			return m, err
		}
		m.running = append(m.running, r)
		if err := out.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			return m, err
		}
		if _, err := lines.ReadString('\n'); err != nil {
			return m, fmt.Errorf("jail %d of %d says nothing: %w", i+1, n, err)
		}
	}
	return m, nil
}

func (m *many) pids() (list []int) {
	for _, r := range m.running {
		list = append(list, r.Pid())
	}
	return list
}

// end closes the payloads' standard input and waits for all.
func (m *many) end() (err error) {
	if m.in != nil {
		err = m.in.Close()
	}
	stop := time.AfterFunc(time.Minute, func() {
		for _, r := range m.running {
			r.Kill()
		}
	})
	defer stop.Stop()
	for _, r := range m.running {
		err = errors.Join(err, r.Wait())
	}
	if m.out != nil {
		err = errors.Join(err, m.out.Close())
	}
	return err
}

// settle waits until the kernel has cleaned up what ran before: until its memory stays as it is for a while.
func settle(ctx context.Context) error {
	const step, patience, calm = 50 * time.Millisecond, time.Second, 256 << 10
	last, err := procfs.ReadKernel()
	quiet := 0
	for end := time.Now().Add(patience); err == nil && quiet < 3 && time.Now().Before(end); {
		if err := sleep(ctx, step); err != nil {
			return err
		}
		var now procfs.Kernel
		now, err = procfs.ReadKernel()
		if d := now.Held() - last.Held(); d < calm && d > -calm {
			quiet++
		} else {
			quiet = 0
		}
		last = now
	}
	return err
}
