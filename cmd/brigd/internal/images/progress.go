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

const (
	barWidth = 30
	maxBars  = 12 // more layers have one bar together
	redraw   = 100 * time.Millisecond
)

// progress shows how the layers of an image arrive: bars on a terminal, one line for each layer otherwise. An error of
// the terminal does not matter.
type progress struct {
	mu    sync.Mutex
	out   io.Writer
	bars  bool
	name  string
	rows  []row
	drawn int // lines on the terminal
	last  time.Time
}

type row struct {
	digest     string
	size, have int64
	unpacking  bool
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
	p.bars = ok && sys.IsTerminal(f)
	return p
}

// have sets how many bytes of a layer are there.
func (p *progress) have(digest string, n int64) {
	p.change(digest, func(r *row) {
		ended := n >= r.size && r.have < r.size
		if r.have = n; ended && !p.bars {
			fmt.Fprintf(p.out, "%s: layer %s, %s\n", p.name, short(digest), words.Size(r.size))
		}
	})
}

// unpacking marks a layer that is being unpacked.
func (p *progress) unpacking(digest string) { p.change(digest, func(r *row) { r.unpacking = true }) }

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
		p.draw()
	}
}

// end draws the last state.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draw()
}

// draw writes the bars over the last ones: console_codes(4).
func (p *progress) draw() {
	if !p.bars {
		return
	}
	rows := p.rows
	if len(rows) > maxBars {
		all := row{digest: "all layers"}
		for _, r := range rows {
			all.size, all.have, all.unpacking = all.size+r.size, all.have+r.have, all.unpacking || r.unpacking
		}
		rows = []row{all}
	}
	var b strings.Builder
	if p.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.drawn)
	}
	for _, r := range rows {
		bar, what := strings.Repeat("=", int(min(r.have, r.size)*barWidth/max(r.size, 1))), ""
		if r.unpacking {
			what = "  unpacked"
		}
		fmt.Fprintf(&b, "\r\x1b[K%-12s [%-*s] %9s of %9s%s\n", short(r.digest), barWidth, bar, words.Size(r.have),
			words.Size(r.size), what)
	}
	p.drawn = len(rows)
	io.WriteString(p.out, b.String())
}

// short returns the first digits of a digest.
func short(digest string) string {
	hex := strings.TrimPrefix(digest, "sha256:")
	return hex[:min(12, len(hex))]
}
