package share

import (
	"testing"
	"time"

	"brig/internal/test/must"
)

// TestSilentShare: a lookup without an answer is given up, the next ones are refused at once until it has one.
func TestSilentShare(t *testing.T) {
	s := must.Get(Open([]Share{{Name: "data", Dir: t.TempDir(), Mode: "ro"}}))(t)
	defer s.Close()
	h, answer := s.find("data"), make(chan opened)
	for range maxWaits {
		if o := h.within(time.Millisecond, func() opened { return <-answer }); o.no == nil || o.no.Code != "share_silent" {
			t.Fatalf("%+v", o)
		}
	}
	if _, _, no := s.Resolve("data", ""); no == nil || no.Code != "share_silent" {
		t.Errorf("%+v", no)
	}
	for range maxWaits {
		answer <- opened{dir: h.root}
	}
	for h.waits.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
	if _, _, no := s.Resolve("data", ""); no != nil {
		t.Errorf("%+v", no)
	}
}
