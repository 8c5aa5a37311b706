package front

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"

	"brig/brigd/engine"
)

// Local reports whether a request came by a Unix socket.
func Local(r *http.Request) bool {
	addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return addr != nil && addr.Network() == "unix"
}

// Guard refuses a request to another server's name, and one that a browser sends for a foreign web page. A page of
// Options.Origins may read the answer and the headers that exposed lists.
func (v *Visit) Guard(exposed string) error {
	if !Local(v.R) && !v.known() {
		return Refuse("request", "host_not_allowed", "Host", "this server is not called by that name",
			"call it by the address or a name that it was started with")
	}
	origins := v.R.Header.Values("Origin")
	if len(origins) == 0 {
		if site := v.R.Header.Get("Sec-Fetch-Site"); site != "" && site != "none" && site != "same-origin" {
			return Refuse("auth", "origin_not_allowed", "Sec-Fetch-Site",
				"a browser has sent this for another site's page", "call brigd from a program")
		}
		return nil
	}
	if len(origins) > 1 || !slices.Contains(v.face.Origins, origins[0]) {
		return Refuse("auth", "origin_not_allowed", "Origin", "pages of this origin may not call",
			"call brigd from a program, or start it with this origin allowed")
	}
	v.Header().Set("Access-Control-Allow-Origin", origins[0])
	v.Header().Add("Vary", "Origin")
	v.Header().Set("Access-Control-Expose-Headers", exposed)
	return nil
}

// known reports whether a TCP client may call the server by the name of this request, with or without a port.
func (v *Visit) known() bool {
	host := v.R.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || slices.Contains(v.face.Hosts, host) {
		return true
	}
	reached, _ := v.R.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	named, err := netip.ParseAddr(host)
	return reached != nil && err == nil && named.WithZone("").Unmap() == reached.AddrPort().Addr().WithZone("").Unmap()
}

// Authenticate determines the caller.
func (v *Visit) Authenticate() error {
	caller, no := v.face.Options.Authenticate(v.R)
	if no != nil {
		v.unauthorized = true
		return no
	}
	v.Caller = caller
	return nil
}

// Admit waits for a place for a run. The audit log has a run that gets none.
func (o *Options) Admit(ctx context.Context, c engine.Caller, r *engine.Request) (release func(), err error) {
	release, err = o.Gate.Enter(ctx, c.Key())
	if no := AsRefusal(err); no != nil {
		o.Record.Refused(engine.SenderOf(c, r), r, no)
	}
	return release, err
}

// Place takes a place among the requests that are answered at once. leave frees it.
func (v *Visit) Place() (leave func(), err error) {
	key := v.Caller.Key() // a body may name another agent
	if !v.face.Places.Take(key, 1) {
		return nil, Refuse("queue", "too_many_requests", "requests",
			"as many requests are being answered as may be at once", "send the same request again in a second")
	}
	return func() { v.face.Places.Take(key, -1) }, nil
}

// ReadBody reads the whole body, within its size, its time and the memory budget of all requests.
func (v *Visit) ReadBody() (text []byte, err error) {
	text, v.release, err = v.face.Bodies.Read(v.Caller.Key(), v.R, v.Control, v.face.MaxBody, v.face.BodyTime)
	if err != nil {
		v.release() // what remains of the body is read on, and not kept
		v.release = func() {}
		return nil, v.BodyFailed(err, v.face.MaxBody)
	}
	v.Taken = true
	v.ReadTime(0)
	return text, nil
}

// BodyFailed returns the refusal for a body of which more than most bytes, or not all, have arrived.
func (v *Visit) BodyFailed(err error, most int64) error {
	v.Header().Set("Connection", "close")
	switch {
	case errors.Is(err, ErrTooLarge) || errors.As(err, new(*http.MaxBytesError)):
		return Refuse("request", "body_too_large", "body", fmt.Sprintf("the body has more than %d bytes", most),
			"send less, or put files into a sandbox one by one")
	case errors.Is(err, errNoBudget):
		return Refuse("queue", "body_budget", "body", err.Error(), "send the same request again in a second")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Refuse("request", "body_timeout", "body", "the body took too long to arrive",
			"send it faster, or in smaller requests")
	}
	return Refuse("request", "body_broken", "body",
		"the body ended before its announced end, or is not framed as HTTP says", "send the request again")
}
