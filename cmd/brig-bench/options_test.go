package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program is a file that passes for brig.
func program(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "brig")
	if err := os.WriteFile(name, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestParse(t *testing.T) {
	brig := program(t)
	o, err := parse([]string{"--quick", "--rounds", "3", "--only", "start,throughput", "--json", "-", "--html=x.html", "--brig", brig})
	if err != nil {
		t.Fatal(err)
	}
	if !o.quick || o.rounds != 3 || !slices.Equal(o.only, []string{"start", "throughput"}) || o.json != "-" || o.html != "x.html" || o.brig != brig || o.list || o.user {
		t.Errorf("%+v", o)
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
		{[]string{"--rounds", "0"}, "--rounds 0"},
		{[]string{"--rounds", "x"}, `"x"`},
		{[]string{"--only", "strat"}, `--only "strat": there is no such measurement; there are start, `},
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
	if os.Geteuid() != 0 {
		if _, err := parse([]string{"--user", "--brig", brig}); err == nil {
			t.Error("--user is taken from an ordinary user")
		}
	}
}

// The usage names every flag that is parsed.
func TestUsage(t *testing.T) {
	for _, flag := range []string{"quick", "rounds", "only", "list", "json", "html", "user", "brig"} {
		if !strings.Contains(usage, "  --"+flag) {
			t.Errorf("--%s is not explained", flag)
		}
	}
}

// The second run gets the same options, and root's files as open descriptors.
func TestUserArgs(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "page"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	args, files := userArgs(options{quick: true, rounds: 7, only: []string{"start", "heap"}, json: "-", html: "page", user: true}, "/copy/brig", outputs{json: os.Stdout, html: f})
	want := []string{"brig-bench", "--brig", "/copy/brig", "--quick", "--rounds", "7", "--only", "start,heap", "--json", "-", "--html", "/dev/fd/3"}
	if !slices.Equal(args, want) || len(files) != 1 || files[0] != f {
		t.Errorf("%q, %d files", args, len(files))
	}
}

func TestFreeUID(t *testing.T) {
	uid, err := freeUID()
	if err != nil || uid < 60000 || uid >= 65534 {
		t.Errorf("%d, %v", uid, err)
	}
}

// A path that cannot be written is refused before anything is measured.
func TestOutputs(t *testing.T) {
	dir := t.TempDir()
	if _, err := openOutputs(options{json: filepath.Join(dir, "a"), html: filepath.Join(dir, "no/b")}); err == nil || !strings.Contains(err.Error(), "--html") {
		t.Errorf("%v", err)
	}
	f, err := openOutputs(options{json: filepath.Join(dir, "a")})
	if err != nil || f.html != nil || f.text != os.Stdout {
		t.Fatalf("%+v, %v", f, err)
	}
	if err := f.close(); err != nil {
		t.Error(err)
	}
	if f, err := openOutputs(options{json: "-"}); err != nil || f.text != os.Stderr || f.json != os.Stdout {
		t.Errorf("%+v, %v", f, err)
	}
}
