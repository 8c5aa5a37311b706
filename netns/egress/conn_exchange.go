package egress

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"brig/netns/egress/policy"
	"brig/netns/egress/wire"
)

// bodyGrace bounds the wait for an answer after the request's body has failed, and for the rest of a body after the
// answer.
const bodyGrace = time.Second

// responses are readers of responses, held only while a request waits for its own.
var responses = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, copyBuffer) }}

// forward sends an allowed request and relays its responses.
func (w *web) forward(req *wire.Request) bool {
	for {
		if failed := w.connect(); failed != nil {
			return w.fail(failed.reason)
		}
		again := w.used && req.Body.Kind == wire.None && slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, req.Method)
		keep, err := w.exchange(req, again)
		if err == nil {
			return keep
		}
		w.drop() // the server closed it between two requests: retry once on a new connection
	}
}

// upload is the copying of a request's body.
type upload struct {
	done     chan struct{}
	err      error
	answered atomic.Bool // the server's answer has begun
}

// send copies the request's body while its response is read.
func (w *web) send(req *wire.Request) *upload {
	u := &upload{done: make(chan struct{})}
	if req.Body.Kind == wire.None {
		if !req.Upgrade { // after an upgrade the payload continues to send
			w.k.forwardedAll(w.up.c)
		}
		close(u.done)
		return u
	}
	up := w.up
	go func() { // wait waits for it before forward returns
		defer close(u.done)
		defer w.k.busy(false)
		if u.err = w.body(up, w.in, w.br, req.Body); u.err != nil {
			up.deadline(time.Now().Add(bodyGrace)) // the server may still send the reason
			if u.answered.Load() {
				up.deadline(time.Time{})
			}
			return
		}
		w.k.forwardedAll(up.c)
	}()
	return u
}

// wait ends the upload. It returns false if not all of the body was sent, so that no request can follow.
func (w *web) wait(u *upload, grace time.Duration) bool {
	select {
	case <-u.done:
		return u.err == nil
	default:
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-u.done:
	case <-t.C:
		w.in.deadline(w.k.f.begin)
		reset(w.up.c)
		<-u.done
	}
	return u.err == nil
}

// exchange sends a request and relays the responses to it. It returns an error only if again is set and no response has
// arrived.
func (w *web) exchange(req *wire.Request, again bool) (keep bool, err error) {
	w.upbr = responses.Get().(*bufio.Reader)
	w.upbr.Reset(w.up)
	defer func() {
		if w.upbr.Buffered() > 0 {
			w.drop() // the server has sent more than its answer
		}
		w.upbr.Reset(nil)
		responses.Put(w.upbr)
	}()
	w.k.s.closeInOrder(w.up.c, false)
	if _, err := w.up.Write(req.Head); err != nil {
		if again && w.k.ended(err) == policy.ReasonNone {
			return false, err
		}
		return w.unanswered(err), nil
	}
	u := w.send(req)
	for range maxInterim {
		res, err := wire.ReadResponse(w.upbr, req)
		if err != nil {
			w.wait(u, 0)
			if again && !w.answered() && w.k.ended(err) == policy.ReasonNone && reasonOf(err, "") == "" {
				return false, err
			}
			return w.blame(err, u.err), nil
		}
		w.k.e.Status, w.used = res.Status, true
		if len(res.Head) > 0 {
			_, err = w.in.Write(res.Head)
		}
		if err == nil && res.Interim {
			continue
		}
		return w.finish(req, res, u, err), nil
	}
	w.wait(u, 0)
	return w.unanswered(errors.New("too many interim responses")), nil
}

// answered reports whether a byte of a response has arrived.
func (w *web) answered() bool { return w.k.f.received.Load() != w.r || w.upbr.Buffered() > 0 }

// blame ends a request without a response. If its body failed, that is the reason.
func (w *web) blame(err, body error) bool {
	switch r := reasonOf(body, policy.ReasonNone); {
	case r != policy.ReasonNone:
		return w.refuse(400, r, w.target())
	case errors.Is(body, io.ErrUnexpectedEOF):
		return w.abort(VerdictError, policy.ReasonClosed)
	case w.k.ended(body) != policy.ReasonNone:
		err = body
	}
	return w.unanswered(err)
}

// unanswered ends a request without a proper response.
func (w *web) unanswered(err error) bool {
	r := w.k.ended(err)
	if r == policy.ReasonNone && w.k.f.received.Load() == w.r {
		r = policy.ReasonProtocol
	}
	return w.fail(r)
}

// fail ends a request for which the server has no connection or no proper response.
func (w *web) fail(r policy.Reason) bool {
	switch {
	case r == policy.ReasonClosed, w.k.f.received.Load() != w.r:
		return w.abort(VerdictError, r)
	case r == policy.ReasonConnectTimeout, r == policy.ReasonIdleTimeout:
		return w.refuse(504, r, w.target())
	case r == policy.ReasonProtocol, verdictOf(r) == VerdictError:
		return w.refuse(502, r, w.target())
	}
	return w.refuse(403, r, w.target())
}

// finish relays the body of the final response, or everything after an upgrade.
func (w *web) finish(req *wire.Request, res *wire.Response, u *upload, err error) bool {
	u.answered.Store(true)
	w.up.deadline(time.Time{})
	if err == nil && res.Upgrade {
		err = w.upgraded()
		w.wait(u, 0)
		w.line(VerdictAllow, w.k.ended(err))
		return false
	}
	if err == nil {
		err = w.body(w.in, w.up, w.upbr, res.Body)
	}
	grace := bodyGrace
	if err != nil {
		grace = 0
	}
	sent := w.wait(u, grace)
	if err != nil {
		r := w.k.ended(err)
		if r == policy.ReasonNone && (errors.Is(err, io.ErrUnexpectedEOF) || reasonOf(err, "") != "") {
			r = policy.ReasonProtocol // the body does not have the length that the server announced
		}
		return w.abort(VerdictAllow, r)
	}
	w.line(VerdictAllow, policy.ReasonNone)
	if res.Close || req.Close || !sent || res.Body.Kind == wire.UntilClose {
		w.linger()
		return false
	}
	return true
}

// upgraded relays both directions, beginning with the bytes that the readers have buffered.
func (w *web) upgraded() error {
	f := w.k.f
	for _, way := range []struct {
		dst *side
		src *bufio.Reader
	}{{w.up, w.br}, {w.in, w.upbr}} {
		b, err := way.src.Peek(way.src.Buffered())
		if err == nil && len(b) > 0 {
			_, err = way.dst.Write(b)
		}
		if err != nil {
			reset(w.k.c)
			return err
		}
	}
	up := w.up
	f.allSent = func() { w.k.forwardedAll(up.c) }
	return f.pipe(w.in, up)
}

// body copies a body. Chunks are checked one by one. Any other body is copied first from the reader's buffer and then
// from the connection, so that a large one is spliced.
func (w *web) body(dst, src *side, br *bufio.Reader, fr wire.Framing) error {
	left := fr.Length
	switch fr.Kind {
	case wire.None:
		return nil
	case wire.Chunked:
		return wire.CopyChunks(dst, br)
	case wire.UntilClose:
		left = noLimit
	}
	b, err := br.Peek(int(min(int64(br.Buffered()), left)))
	if err == nil && len(b) > 0 {
		_, err = dst.Write(b)
	}
	if err != nil {
		return err
	}
	if _, err := br.Discard(len(b)); err != nil {
		return err
	}
	left -= int64(len(b))
	n, err := w.k.f.copy(dst, src, left)
	if err == nil && n < left && fr.Kind == wire.Length {
		err = io.ErrUnexpectedEOF
	}
	return err
}
