package report

import (
	"bytes"
	"encoding/xml"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"brig/cmd/brig-bench/internal/result"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; look at it (go test -update writes it anew, git diff shows it)", path)
	}
}

func plotOf(t *testing.T, table *result.Table) []byte {
	t.Helper()
	svg, err := SVG(table)
	if err != nil {
		t.Fatal(err)
	}
	wellFormed(t, svg)
	return svg
}

func render(t *testing.T, r *result.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.Bytes())
	return b.Bytes()
}

// wellFormed holds the page to XML, too: what closes all its elements in XML is right in HTML.
func wellFormed(t *testing.T, text []byte) {
	t.Helper()
	for dec := xml.NewDecoder(bytes.NewReader(text)); ; {
		if _, err := dec.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, text)
		}
	}
}

func TestGolden(t *testing.T) {
	golden(t, "report.html", render(t, sample()))
	for _, table := range append(sample().Tables, hard()...) {
		golden(t, table.ID+".svg", plotOf(t, &table))
	}
}

// A second drawing must not find another order of a map, another time, or what the first one has left behind.
func TestDeterministic(t *testing.T) {
	first := render(t, sample())
	for range 5 {
		if !bytes.Equal(first, render(t, sample())) {
			t.Fatal("the same report gives different pages")
		}
	}
}

// The page must be readable without a network, and runs nothing.
func TestSelfContained(t *testing.T) {
	page := render(t, sample())
	for _, m := range regexp.MustCompile(`(?i)<script|<link|<img|<iframe|<object|<embed|@import|url\(|\ssrc=|\son[a-z]+=|href="[^#]|https?://[^\s"]*`).FindAll(page, -1) {
		if string(m) != "http://www.w3.org/2000/svg" {
			t.Errorf("the page has %q", m)
		}
	}
	if n := bytes.Count(page, []byte("prefers-color-scheme")); n < 1+len(sample().Tables) {
		t.Errorf("%d style sheets for the dark, and %d plots", n-1, len(sample().Tables))
	}
}
