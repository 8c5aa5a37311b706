package front

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func newFace() *Face {
	return New(Options{Logger: slog.New(slog.DiscardHandler), MaxBody: 1 << 20, MaxRequests: 4,
		Trace: func(r *http.Request) (*http.Request, func(int)) { return r, func(int) {} }})
}

// A panic is answered with 500. If the answer has begun, the connection is cut, or what was sent would look complete.
func TestPanic(t *testing.T) {
	for _, begun := range []bool{false, true} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			newFace().Serve(w, r, func(v *Visit) error {
				if begun {
					_, _ = io.WriteString(v, "half")
					_ = v.Control.Flush()
				}
				panic("a defect")
			})
		}))
		resp, err := http.Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(resp.Body)
		if begun != (err != nil) || begun != (resp.StatusCode == 200) {
			t.Errorf("begun %v: status %d, %v", begun, resp.StatusCode, err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		s.Close()
	}
}

// A client that has reached a link-local address leaves the zone out of Host.
func TestHostOfALinkLocalAddress(t *testing.T) {
	local := net.TCPAddrFromAddrPort(netip.MustParseAddrPort("[fe80::1%eth0]:8470"))
	for host, want := range map[string]bool{"[fe80::1]:8470": true, "[fe80::2]:8470": false, "localhost": true,
		"example.org": false} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = host
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local))
		if got := (&Visit{R: r, face: newFace()}).known(); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}
