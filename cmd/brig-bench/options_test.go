package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/cmd/brig-bench/internal/result"
	"brig/internal/test/must"
)

// program is a file that passes for brig.
func program(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "brig")
	must.Do(t, os.WriteFile(name, nil, 0o755))
	return name
}

func TestParse(t *testing.T) {
	brig := program(t)
	o, err := parse([]string{"--quick", "--rounds", "3", "--only", "start,throughput", "--tools", "runc", "--json", "-", "--html=x.html", "--brig", brig})
	if err != nil {
		t.Fatal(err)
	}
	if !o.quick || o.rounds != 3 || !slices.Equal(o.only, []string{"start", "throughput"}) || !slices.Equal(o.tools, []string{"runc"}) ||
		o.json != "-" || o.html != "x.html" || o.brig != brig {
		t.Errorf("%+v", o)
	}
	o, err = parse([]string{"--range", "--json", "all.json", "a", "b"}) // needs no brig
	if err != nil || o.json != "all.json" || !slices.Equal(o.ranges, []string{"a", "b"}) {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := parse([]string{"--help"}); err != nil || !o.help {
		t.Errorf("--help: %+v, %v", o, err)
	}
}

func TestParseRefuses(t *testing.T) {
	brig := program(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--quik"}, "-quik; --help"},
		{[]string{"--range"}, "--range: name the files"},
		{[]string{"--rounds", "-1"}, "--rounds -1"},
		{[]string{"--rounds", "x"}, `"x"`},
		{[]string{"--only", "strat"}, `--only "strat": there is no such measurement; there are job, `},
		{[]string{"--only", "jobs*"}, `--only "jobs*"`},
		{[]string{"--only", ""}, `--only ""`},
		{[]string{"start"}, `unexpected argument "start"`},
		{[]string{"--brig", "/nonexistent"}, "--brig /nonexistent"},
		{[]string{"--brig", filepath.Dir(brig)}, "is no program"},
	} {
		_, err := parse(append([]string{"--brig", brig}, c.args...))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q in one line", c.args, err, c.want)
		}
	}
}

// --only names measurements, or many by their beginning.
func TestOnly(t *testing.T) {
	o := options{only: []string{"job*", "start"}}
	for id, want := range map[string]bool{"job": true, "job-python": true, "start": true, "start-idle": false, "api": false} {
		if o.chosen(id) != want || !new(options).chosen(id) {
			t.Errorf("%s: %v", id, !want)
		}
	}
}

// The usage names every flag that is parsed.
func TestUsage(t *testing.T) {
	for _, flag := range []string{"quick", "tools", "rounds", "only", "json", "html", "brig", "range"} {
		if !strings.Contains(usage, "  --"+flag) {
			t.Errorf("--%s is not explained", flag)
		}
	}
}

// --tools leaves out other tools, and never those that the rest is compared with.
func TestWants(t *testing.T) {
	o := options{tools: []string{"bubble", ""}}
	for tool, want := range map[string]bool{"no jail": true, "brig run": true, "direct loopback": true, "bubblewrap, no filter": true, "runc": false} {
		if o.wants(tool) != want || !new(options).wants(tool) {
			t.Errorf("%s: %v", tool, !want)
		}
	}
}

// A path that cannot be written is refused before anything is measured, and what a file has held stays until then.
func TestOutputs(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "a")
	must.Do(t, os.WriteFile(old, []byte("old"), 0o644))
	if _, err := openOutputs(options{json: old, html: filepath.Join(dir, "no/b")}); err == nil || !strings.Contains(err.Error(), "no/b") {
		t.Errorf("%v", err)
	}
	f, err := openOutputs(options{json: old})
	if err != nil || f.html != nil || f.text != os.Stdout {
		t.Fatalf("%+v, %v", f, err)
	}
	if text, err := os.ReadFile(old); err != nil || string(text) != "old" {
		t.Errorf("%q, %v", text, err)
	}
	if err := f.write(&result.Report{Quick: true}); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(old); err != nil || !strings.Contains(string(text), `"quick": true`) {
		t.Errorf("%q, %v", text, err)
	}
	if f, err := openOutputs(options{json: "-"}); err != nil || f.text != os.Stderr || f.json == nil {
		t.Errorf("%+v, %v", f, err)
	}
}
