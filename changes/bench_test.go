package changes

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"brig/internal/test/must"
)

// many makes 50,000 files of 300 bytes in 500 directories.
func many(b *testing.B, dir string) {
	b.Helper()
	text := make([]byte, 300)
	for i := range text {
		text[i] = byte('a' + i%26)
	}
	for d := range 500 {
		path := filepath.Join(dir, fmt.Sprintf("d%03d", d))
		must.Do(b, os.MkdirAll(path, 0o755))
		for f := range 100 {
			text[0] = byte('0' + f%10)
			must.Do(b, os.WriteFile(filepath.Join(path, fmt.Sprintf("f%02d", f)), text, 0o644))
		}
	}
}

// Benchmark50000 captures 50,000 new files, shows them, applies them, and discards a set of as many.
func Benchmark50000(b *testing.B) {
	for b.Loop() {
		dir := b.TempDir()
		upper, base := filepath.Join(dir, "upper"), filepath.Join(dir, "base")
		must.Do(b, os.Mkdir(base, 0o755))
		many(b, upper)
		store, err := Open(filepath.Join(dir, "store"))
		must.Do(b, err)
		u, err := os.Open(upper)
		must.Do(b, err)
		d, err := os.Open(base)
		must.Do(b, err)
		start := time.Now()
		lap := func(what string) {
			b.ReportMetric(float64(time.Since(start).Milliseconds()), what+"-ms")
			start = time.Now()
		}
		kept, err := store.Capture(context.Background(), d, u, base, &Run{Started: time.Now()})
		must.Do(b, err)
		lap("capture")
		must.Do(b, kept.Set.Diff(io.Discard, &DiffOptions{}))
		lap("diff")
		done, err := kept.Set.Apply(&ApplyOptions{})
		must.Do(b, err)
		lap("apply")
		if len(done.Files) != 50_500 {
			b.Fatal(len(done.Files))
		}
	}
}
