package batch

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"brig/brigd/engine"
	"brig/brigd/job"
	"brig/internal/sys"
	"brig/nsjail"
)

// maxJob is how many bytes a line of jobs may have.
const maxJob = 64 << 20

// line is a line of the results.
type line struct {
	Job    int              `json:"job"`
	Result *engine.Response `json:"result"`
	// Took is how long the caller has waited, in seconds.
	Took float64 `json:"took"`
}

// batch is one brigd map.
type batch struct {
	*command
	total int
	begun time.Time

	mu        sync.Mutex
	out       *os.File
	lines     []line // of the results, without their output
	first     int    // how many were there at the start
	refused   int
	cancelled int // by others: brigd map cancels nothing
	failed    error
}

// mapJobs runs all jobs whose results are missing.
func (c *command) mapJobs(ctx context.Context, _ []string) (err error) {
	if c.jobs == "" || c.results == "" || c.parallel < 1 || len(c.words) > 0 {
		return errors.New("write brigd map --jobs FILE --out FILE, and --parallel with a number above 0")
	}
	jobs, err := os.Open(c.jobs)
	if err != nil {
		return err
	}
	defer jobs.Close()
	var no *job.Refusal // what it refuses, each job reports
	if _, err := c.Call(ctx, "GET", "/healthz", nil, nil); err != nil && !errors.As(err, &no) {
		return err
	}
	b := &batch{command: c, begun: time.Now()}
	done, err := b.resume()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.out.Close()) }()
	if b.total, err = count(jobs); err != nil {
		return err
	}
	work := make(chan work)
	var workers sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range c.parallel {
		workers.Go(func() {
			for w := range work {
				if b.do(ctx, w) != nil {
					cancel()
				}
			}
		})
	}
	err = b.feed(ctx, jobs, done, work)
	close(work)
	workers.Wait()
	b.show(true)
	if c.plot != "" {
		err = errors.Join(err, os.WriteFile(c.plot, page(b.lines), 0o644))
	}
	switch {
	case b.failed != nil:
		return b.failed
	case err != nil || ctx.Err() != nil:
		return cmp.Or(err, errors.New("it was interrupted; the same command goes on"))
	case b.refused+b.cancelled > 0:
		return exitRefused
	}
	return nil
}

// resume opens the results. A line that a crash has cut off is removed. done has the numbers of the others.
func (b *batch) resume() (done map[int]bool, err error) {
	if b.out, err = os.OpenFile(b.results, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return nil, err
	}
	done = map[int]bool{}
	good := int64(0)
	for in := bufio.NewReader(b.out); ; {
		text, err := in.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, errors.Join(err, b.out.Close())
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil || l.Result == nil {
			return nil, errors.Join(fmt.Errorf("%s has a line that brigd map has not written (%w); name another file",
				b.results, cmp.Or(err, errors.New("no result"))), b.out.Close())
		}
		good += int64(len(text))
		done[l.Job] = true
		b.note(l)
	}
	b.first = len(b.lines)
	if err := b.out.Truncate(good); err != nil { // ftruncate(2)
		return nil, errors.Join(err, b.out.Close())
	}
	if _, err := b.out.Seek(good, io.SeekStart); err != nil {
		return nil, errors.Join(err, b.out.Close())
	}
	return done, nil
}

// count returns the number of lines of a file, and goes back to its beginning.
func count(f *os.File) (n int, err error) {
	for in := bufio.NewReader(f); ; n++ {
		text, err := in.ReadBytes('\n')
		if err == io.EOF {
			if len(text) > 0 {
				n++
			}
			_, err = f.Seek(0, io.SeekStart)
			return n, err
		}
		if err != nil {
			return 0, err
		}
	}
}

// work is a job to do.
type work struct {
	n    int
	text []byte
}

// feed sends the jobs that are not done.
func (b *batch) feed(ctx context.Context, jobs io.Reader, done map[int]bool, to chan<- work) error {
	in := bufio.NewScanner(jobs)
	in.Buffer(nil, maxJob)
	for n := 0; in.Scan(); n++ {
		if done[n] || len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		select {
		case to <- work{n, slices.Clone(in.Bytes())}:
		case <-ctx.Done():
			return nil
		}
	}
	return in.Err()
}

// patience is how long a brigd that was there may be unreachable.
const patience = 5 * time.Minute

// do runs one job until it has an answer, and writes its line.
func (b *batch) do(ctx context.Context, w work) error {
	sum := sha256.Sum256(w.text)
	key := []string{"Idempotency-Key", fmt.Sprintf("map-%d-%x", w.n, sum[:12])}
	begun := time.Now()
	for {
		l := line{Job: w.n, Result: &engine.Response{}}
		after, err := b.Call(ctx, "POST", "/v1/run", w.text, l.Result, key...)
		var no *job.Refusal
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &no) && no.Code == "no_queue":
			key = nil // without a queue a job that had ended when we were killed runs again
			continue
		case err != nil && after > 0 && time.Since(begun) < patience:
			select {
			case <-time.After(after):
			case <-ctx.Done():
			}
			continue
		case errors.As(err, &no):
			l.Result = &engine.Response{Status: "refused", ExitCode: -1, Error: no}
		case err != nil:
			return b.fail(err)
		}
		l.Took = time.Since(begun).Seconds()
		return b.write(l)
	}
}

// fail keeps the first error.
func (b *batch) fail(err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed == nil {
		b.failed = err
	}
	return err
}

// write appends a line to the results.
func (b *batch) write(l line) error {
	text, err := json.Marshal(l)
	if err != nil {
		return b.fail(err)
	}
	b.mu.Lock()
	_, err = b.out.Write(append(text, '\n'))
	b.note(l)
	b.mu.Unlock()
	if err != nil {
		return b.fail(err)
	}
	b.show(false)
	return nil
}

// note remembers a line for the page, without its output.
func (b *batch) note(l line) {
	short := engine.Response{Status: l.Result.Status, Queue: l.Result.Queue}
	switch {
	case l.Result.Error != nil:
		b.refused++
	case l.Result.Status == string(nsjail.StatusCancelled):
		b.cancelled++
	}
	b.lines = append(b.lines, line{l.Job, &short, l.Took})
}

// barWidth is the length of the progress bar.
const barWidth = 30

// show draws the progress on a terminal, and one line at the end elsewhere.
func (b *batch) show(last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f, ok := b.errs.(*os.File)
	bar := ok && sys.IsTerminal(f)
	if !bar && !last {
		return
	}
	n := len(b.lines)
	rate := float64(n-b.first) / time.Since(b.begun).Seconds()
	failed := fmt.Sprintf("%d refused", b.refused)
	if b.cancelled > 0 {
		failed += fmt.Sprintf(", %d cancelled", b.cancelled)
	}
	text := fmt.Sprintf("%d of %d jobs, %s, %.1f a second", n, b.total, failed, rate)
	if bar {
		full := barWidth * n / max(1, b.total)
		text = "\r\x1b[K[" + string(bytes.Repeat([]byte("#"), full)) + string(bytes.Repeat([]byte("."), barWidth-full)) +
			"] " + text
	}
	if last {
		text += "\n"
	}
	_, _ = io.WriteString(b.errs, text) // the results are what counts
}
