package egress

import (
	"bufio"
	"errors"
	"io"
	"net/netip"
	"time"

	"brig/netns/egress/policy"
	"brig/netns/egress/wire"
)

const (
	webBuffer   = 4 << 10     // of the payload's reader
	refusalTime = time.Second // for a request that is refused anyway
	maxInterim  = 16          // 1xx responses to one request
	lingerTime  = time.Second
	lingerBytes = 8 << 20
)

// web is one connection in http mode. Each request gets a separate decision and a line in the log.
type web struct {
	k     *conn
	in    *side // the payload
	br    *bufio.Reader
	up    *side            // the server; nil: not connected
	upbr  *bufio.Reader    // during an exchange
	list  []netip.AddrPort // the vetted addresses, resolved once
	at    string           // the address that was dialled
	used  bool             // the server has answered on this connection
	begin time.Time
	s, r  int64 // bytes sent and received before this request
}

// serveHTTP reads requests until either side ends.
func (k *conn) serveHTTP() {
	w := &web{k: k, in: k.f.side(k.c, &k.f.received)}
	w.br = bufio.NewReaderSize(w.in, webBuffer)
	base := k.e
	for first := true; ; first = false {
		w.begin, w.s, w.r = k.begin, k.f.sent.Load(), k.f.received.Load()
		if !first {
			if _, err := w.br.Peek(1); err != nil {
				break // an end between two requests is not a refusal
			}
			k.e, w.begin = base, time.Now()
		}
		if !w.request() {
			break
		}
	}
	w.drop()
}

// drop ends the server's connection.
func (w *web) drop() {
	if w.up != nil {
		w.k.s.untrack(w.up.c)
		w.up, w.used = nil, false
	}
}

// line writes the request's line.
func (w *web) line(v Verdict, r policy.Reason) {
	e, f := w.k.e, w.k.f
	e.Verdict, e.Reason = v, r
	e.Sent, e.Received = f.sent.Load()-w.s, f.received.Load()-w.r
	e.DurationMS = milliseconds(time.Since(w.begin))
	w.k.s.log.add(e)
}

// abort ends both connections with an RST and writes the line.
func (w *web) abort(v Verdict, r policy.Reason) bool {
	reset(w.k.c)
	if w.up != nil {
		reset(w.up.c)
	}
	w.line(v, r)
	return false
}

// refuse answers the request with an error and ends the connection. From status 500 on the policy is not the reason.
func (w *web) refuse(status int, r policy.Reason, host string) bool {
	k, v := w.k, VerdictDeny
	if status >= 500 {
		v = VerdictError
	}
	k.busy(false)
	k.e.Status = status
	body := wire.Refusal(status, string(r), host, k.to.Port(), k.e.Method, k.e.Path,
		r.Rule(w.target(), k.to.Port(), k.e.Address))
	err := k.c.SetWriteDeadline(time.Now().Add(k.s.head))
	if err == nil {
		_, err = k.c.Write(body)
	}
	w.line(v, r)
	if err != nil {
		reset(k.c)
		return false
	}
	w.linger()
	return false
}

// linger ends the connection so that written data arrives. close(2) with unread bytes would send an RST.
func (w *web) linger() {
	c := w.k.c
	if c.CloseWrite() != nil || c.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return // the peer has closed
	}
	buf := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(buf)
	for n := 0; n < lingerBytes; {
		m, err := c.Read(buf[:])
		if n += m; err != nil {
			return
		}
	}
}

// request serves one request and reports whether another may follow.
func (w *web) request() bool {
	k := w.k
	wait := k.s.head
	if !k.d.Allow {
		wait = min(wait, refusalTime)
	}
	w.in.deadline(time.Now().Add(wait))
	req, err := wire.ReadRequest(w.br)
	w.in.deadline(time.Time{})
	var bad *wire.Error
	switch {
	case !k.d.Allow && err != nil:
		return w.abort(VerdictDeny, k.d.Reason)
	case errors.As(err, &bad):
		return w.refuse(bad.Status(), bad.Reason, w.target())
	case err != nil:
		r := k.unread(err, err != io.EOF, policy.ReasonNotHTTP)
		return w.abort(verdictOf(r), r)
	}
	k.e.Method, k.e.Path, k.e.Host = req.Method, req.Path, req.Host
	if !k.d.Allow {
		return w.refuse(403, k.d.Reason, w.target())
	}
	if r := w.check(req); r != policy.ReasonNone {
		host := w.target()
		if r == policy.ReasonHostMismatch {
			host = req.Host
		}
		return w.refuse(403, r, host)
	}
	req.EndAfter() // an unread body must not become an unchecked request
	k.busy(true)
	return w.forward(req)
}

// target returns the payload's destination in the form of a rule.
func (w *web) target() string {
	if w.k.name != "" {
		return w.k.name
	}
	return w.k.to.Addr().String()
}

// check compares a request with the policy.
func (w *web) check(req *wire.Request) policy.Reason {
	k := w.k
	if req.HostPort != 0 && req.HostPort != int(k.to.Port()) {
		return policy.ReasonHostMismatch
	}
	if req.Host != k.name {
		return policy.ReasonHostMismatch
	}
	if r := k.s.m.Request(k.d, req.Method, req.Target); r != policy.ReasonNone {
		return r
	}
	if (req.Upgrade || req.Override != "") && !k.s.m.Unlimited(k.d) {
		return policy.ReasonMethod // after an upgrade there are no methods; an override hides one
	}
	return policy.ReasonNone
}

// connect connects to the server, or reuses the connection of the last request if it is still open.
func (w *web) connect() *failure {
	if w.up != nil && w.up.readable() {
		w.drop() // ended, or has unrequested bytes
	}
	if w.up != nil {
		w.k.e.Address = w.at
		return nil
	}
	if w.list != nil && !w.k.s.lim.rate.try(1, time.Now()) { // arrived has counted the first dial
		return &failure{reason: policy.ReasonRate}
	}
	up, list, failed := w.k.dial(w.list)
	if w.list = list; failed != nil {
		w.k.e.Address = failed.address
		return failed
	}
	w.at = w.k.e.Address
	w.up = w.k.f.side(up, &w.k.f.sent)
	return nil
}
