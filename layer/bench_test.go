package layer

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
)

// manyFiles makes a layer of n small files in n/1000 directories, the last entry being an opaque directory.
func manyFiles(t testing.TB, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	write := func(h *tar.Header, text string) {
		h.Size, h.ModTime = int64(len(text)), time.Unix(1e9, 0)
		err := w.WriteHeader(h)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		must.Do(t, err)
	}
	text := strings.Repeat("some text, as of a small file in an image\n", 50)
	for i := range n {
		d := fmt.Sprintf("dir-%d/", i/1000)
		if i%1000 == 0 {
			write(&tar.Header{Typeflag: tar.TypeDir, Name: d, Mode: 0o755}, "")
		}
		write(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("%sfile-%d.py", d, i), Mode: 0o644}, text[:i%len(text)])
	}
	write(&tar.Header{Typeflag: tar.TypeReg, Name: opaqueName}, "")
	must.Do(t, w.Close())
	return b.Bytes()
}

// BenchmarkUnpack compares Unpack of 10,000 files with tar(1), in turns; "ratio" is the part of tar's time.
func BenchmarkUnpack(b *testing.B) {
	l := manyFiles(b, 10_000)
	var ours, theirs time.Duration
	for b.Loop() {
		dir := folder(b)
		start := time.Now()
		must.Get(Unpack(bytes.NewReader(l), dir, nil))(b)
		ours += time.Since(start)
		tar := exec.Command("tar", "x", "-C", b.TempDir())
		tar.Stdin = bytes.NewReader(l)
		start = time.Now()
		if out, err := tar.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		theirs += time.Since(start)
	}
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
	b.ReportMetric(float64(ours.Milliseconds())/float64(b.N), "ms/unpack")
}
