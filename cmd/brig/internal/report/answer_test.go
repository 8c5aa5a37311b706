package report

import (
	"bytes"
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"testing"

	"brig/cmd/brig/internal/console"
	"brig/internal/test/must"
	"brig/nsjail"
)

// An answer is written in pieces as it is written at once, whatever is at their ends.
func TestAnswerInPieces(t *testing.T) {
	for _, out := range []string{"", "x", "\x00\x1b\"\\\n<&>", strings.Repeat("é€😀\u202e", jsonPiece/5),
		strings.Repeat("\n  \"stdout\": \"\",\n  \"stderr\": \"\"", 3)} {
		for shift := range 4 {
			a := &Answer{Report: &Report{Result: &nsjail.Result{}}, Stdout: strings.Repeat("x", shift) + out, Stderr: out + "\n", Encoding: "none"}
			var whole, pieces bytes.Buffer
			must.Do(t, console.WriteJSON(&whole, a))
			must.Do(t, a.write(&pieces))
			if whole.String() != pieces.String() || !json.Valid(pieces.Bytes()) {
				t.Errorf("%.40q: %d and %d bytes", out, whole.Len(), pieces.Len())
			}
		}
	}
}

// 8 MiB of NULs, each of which has six characters, are never in memory as these.
func TestAnswerTakesLittleMemory(t *testing.T) {
	a := &Answer{Report: &Report{Result: &nsjail.Result{}}, Stdout: strings.Repeat("\x00", 8<<20)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	written := &most{start: before.HeapAlloc}
	must.Do(t, a.write(written))
	runtime.ReadMemStats(&after)
	if written.n < 48<<20 || written.heap > 32<<20 {
		t.Errorf("%d bytes were written, with up to %d on the heap", written.n, written.heap)
	}
	runtime.KeepAlive(a)
}

// most notes the largest heap when something is written.
type most struct {
	n           int
	start, heap uint64
}

func (m *most) Write(b []byte) (int, error) {
	if m.n += len(b); m.n%(1<<20) < len(b) {
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		m.heap = max(m.heap, now.HeapAlloc-min(m.start, now.HeapAlloc))
	}
	return len(b), nil
}

var _ io.Writer = (*most)(nil)
