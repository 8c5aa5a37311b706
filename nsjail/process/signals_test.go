package process

import (
	"os"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// A stop that was taken back while brig was busy does not stop it; a stop after that does.
func TestSignalsQueue(t *testing.T) {
	const stop, cont, term = byte(unix.SIGTSTP), byte(unix.SIGCONT), byte(unix.SIGTERM)
	for _, c := range []struct{ sent, want string }{
		{string([]byte{stop}), string([]byte{stop})},
		{string([]byte{stop, cont}), string([]byte{cont})},
		{string([]byte{term, stop, stop, term, cont}), string([]byte{term, term, cont})},
		{string([]byte{stop, cont, stop}), string([]byte{cont, stop})},
	} {
		r, w, err := os.Pipe()
		must.Do(t, err)
		s := &Signals{pipe: r}
		must.Get(w.WriteString(c.sent))(t)
		got := ""
		for range len(c.want) {
			sig, _ := s.Next()
			got += string([]byte{byte(sig)})
		}
		if s.Continued() || got != c.want {
			t.Errorf("%q: %q, want %q", c.sent, got, c.want)
		}
		// between the signal and the stop
		must.Get(w.Write([]byte{term, cont}))(t)
		if !s.Continued() {
			t.Errorf("%q: the SIGCONT behind it is not seen", c.sent)
		}
		if sig, ok := s.Next(); !ok || sig != unix.SIGTERM {
			t.Errorf("%q: then %v, want SIGTERM", c.sent, sig)
		}
		w.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, ok := s.Next(); !ok { // the SIGCONT that was read already
			t.Error("a signal was lost")
		}
		if _, ok := s.Next(); ok {
			t.Error("a signal of a closed queue")
		}
	}
}
