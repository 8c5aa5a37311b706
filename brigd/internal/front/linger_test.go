package front

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"brig/internal/test/must"
)

// A client that sends its whole body before it reads gets the answer, whenever the body was refused.
func TestRefusedBodiesAreReadOn(t *testing.T) {
	face := New(Options{Logger: slog.New(slog.DiscardHandler), MaxRequests: 8, MaxBody: 1 << 20,
		Trace: func(r *http.Request) (*http.Request, func(int)) { return r, func(int) {} }})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		face.Serve(w, r, func(v *Visit) error {
			if r.URL.Path == "/read" {
				_, err := v.ReadBody()
				return err
			}
			if r.URL.Path == "/part" {
				must.Get(io.ReadFull(r.Body, make([]byte, 1000)))(t)
			}
			return Refuse("queue", "body_budget", "body", "no", "again")
		})
	}))
	defer s.Close()
	body := bytes.Repeat([]byte("x"), 32<<20)
	for _, path := range []string{"/none", "/part", "/read"} {
		c := must.Get(net.Dial("tcp", s.Listener.Addr().String()))(t)
		must.Do(t, c.SetDeadline(time.Now().Add(time.Minute)))
		must.Get(fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", path, len(body)))(t)
		if _, err := c.Write(body); err != nil {
			t.Errorf("%s: the body: %v", path, err)
		}
		w, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Errorf("%s: the answer: %v", path, err)
		} else if w.StatusCode < 413 {
			t.Errorf("%s: %s", path, w.Status)
		}
		c.Close()
	}
}
