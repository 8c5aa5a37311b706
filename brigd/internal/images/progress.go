package images

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"brig/image"
	"brig/internal/sys"
	"brig/internal/words"
)

// redraw is how often the line on a terminal changes at most.
const redraw = 100 * time.Millisecond

// progress shows how the layers of an image arrive: in one line of a terminal, or else by a line for each layer. An
// error of the terminal does not matter.
type progress struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	name     string
	rows     []row // none if nothing is to be shown
	last     time.Time
}

type row struct {
	digest     string
	size, have int64
	unpacking  int // 1 if it is being unpacked
}

func newProgress(out io.Writer, name string, layers []image.Layer, quiet bool) *progress {
	p := &progress{out: out, name: name}
	if quiet {
		return p
	}
	for _, l := range layers {
		p.rows = append(p.rows, row{digest: l.Digest, size: l.Size})
	}
	f, ok := out.(*os.File)
	p.terminal = ok && sys.IsTerminal(f)
	return p
}

// have sets how many bytes of a layer are there.
func (p *progress) have(digest string, n int64) {
	p.change(digest, func(r *row) {
		ended := n >= r.size && r.have < r.size
		if r.have = n; ended && !p.terminal {
			fmt.Fprintf(p.out, "%s: layer %s, %s\n", p.name, short(digest), words.Size(r.size))
		}
	})
}

// unpacking marks a layer that is being unpacked.
func (p *progress) unpacking(digest string) { p.change(digest, func(r *row) { r.unpacking = 1 }) }

func (p *progress) change(digest string, f func(*row)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.rows {
		if p.rows[i].digest == digest {
			f(&p.rows[i])
		}
	}
	if now := time.Now(); now.Sub(p.last) >= redraw {
		p.last = now
		p.draw("")
	}
}

// end draws the last state.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draw("\n")
}

// draw writes the line over the last one: console_codes(4).
func (p *progress) draw(end string) {
	if !p.terminal {
		return
	}
	var all row
	for _, r := range p.rows {
		all.size, all.have, all.unpacking = all.size+r.size, all.have+r.have, all.unpacking+r.unpacking
	}
	fmt.Fprintf(p.out, "\r\x1b[K%s: %s of %s, %d of %d layers unpacked%s", p.name, words.Size(all.have),
		words.Size(all.size), all.unpacking, len(p.rows), end)
}

// short returns the first digits of a digest.
func short(digest string) string {
	hex := strings.TrimPrefix(digest, "sha256:")
	return hex[:min(12, len(hex))]
}
