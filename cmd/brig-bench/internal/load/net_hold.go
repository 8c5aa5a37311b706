package load

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// netMany makes N connections at once and waits until all are answered; the time is that of all.
func netMany(r Request) ([]int64, error) {
	start := time.Now()
	all, err := hold(r.Arg, r.N)
	took := time.Since(start).Nanoseconds()
	rerr := release(all)
	if err == nil {
		err = rerr // else it is for the same reason
	}
	return []int64{took}, err
}

// netHold sees to N connections that are answered and open; with 0 they are closed.
func (w *worker) netHold(r Request) ([]int64, error) {
	if r.N == 0 {
		all := w.held
		w.held = nil
		return nil, release(all)
	}
	more, err := hold(r.Arg, r.N-len(w.held))
	w.held = append(w.held, more...)
	return nil, err
}

// hold opens n connections at once, and waits for a byte on each.
func hold(to string, n int) (all []net.Conn, err error) {
	type made struct {
		c   net.Conn
		err error
	}
	answers := make(chan made)
	for range n {
		go func() {
			c, err := net.DialTimeout("tcp4", to, answerIn)
			if err == nil {
				err = errors.Join(c.SetDeadline(time.Now().Add(answerIn)), echoed(c))
			}
			answers <- made{c, err}
		}()
	}
	var failed []error
	for range n {
		a := <-answers
		if a.c != nil {
			all = append(all, a.c)
		}
		if a.err != nil {
			failed = append(failed, a.err)
		}
	}
	if len(failed) > 0 {
		err = fmt.Errorf("%d of %d connections are not answered: %w", len(failed), n, failed[0])
	}
	return all, err
}

func echoed(c net.Conn) error {
	if _, err := c.Write([]byte{askHold}); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return err
}

// release has the server close all, and then closes them: whoever closes first keeps a port for a minute.
func release(all []net.Conn) (err error) {
	for _, c := range all {
		_, werr := c.Write([]byte{askHold})
		err = errors.Join(err, c.SetDeadline(time.Now().Add(answerIn)), werr)
	}
	for _, c := range all {
		_, cerr := io.Copy(io.Discard, c)
		err = errors.Join(err, cerr, c.Close())
	}
	return err
}
