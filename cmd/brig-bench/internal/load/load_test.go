package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The test binary is its own worker, as the benchmark is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Subcommand {
		if err := Serve(context.Background(), os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func begin(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := Self(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestProbes(t *testing.T) {
	c := begin(t, Config{})
	for _, r := range []Request{
		{Op: "getppid", N: 100}, {Op: "read", Arg: "/dev/zero", N: 100}, {Op: "open", Arg: "/proc/self/stat", N: 10},
		{Op: "socket", N: 10},
	} {
		if reply, err := c.Ask(r); err != nil || len(reply.Nanos) != 1 || reply.Nanos[0] <= 0 {
			t.Errorf("%+v: %+v, %v", r, reply, err)
		}
	}
	for _, r := range []Request{
		{Op: "open", Arg: "/no/such", N: 1}, {Op: "read", Arg: "/dev/null", N: 1},
		{Op: "run", Arg: "no such tool", N: 1}, {Op: "no such"},
	} {
		if _, err := c.Ask(r); err == nil || !strings.HasPrefix(err.Error(), r.Op+": ") {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Ask(Request{Op: "getppid", N: 1}); err == nil {
		t.Error("a worker that has ended answers")
	}
}

func TestRunsToolsUnderAHeap(t *testing.T) {
	dir := t.TempDir()
	c := begin(t, Config{Heap: 8 << 20, Brig: "/no/brig", Scratch: dir})
	for _, name := range []string{"no jail", "brig Runner", Namespaces} {
		if r, err := c.Ask(Request{Op: "run", Arg: name, N: 2}); err != nil || len(r.Nanos) != 2 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if _, err := c.Ask(Request{Op: "run", Arg: "brig run", N: 1}); err == nil || !strings.Contains(err.Error(), "--brig") {
		t.Errorf("a brig that is not there: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestFillIsLive(t *testing.T) {
	total := 0
	for _, c := range fill(3<<20 + 1) {
		total += len(c)
	}
	if total != 4<<20 {
		t.Errorf("%d bytes", total)
	}
}

func TestGrow(t *testing.T) {
	c := begin(t, Config{})
	one, err := c.Ask(Request{Op: "grow", N: 1})
	if err != nil {
		t.Fatal(err)
	}
	four, err := c.Ask(Request{Op: "grow", N: 4})
	if err != nil {
		t.Fatalf("%+v, %+v, %v", one, four, err)
	}
	a, b := one.Usage, four.Usage
	if a.Jails != 1 || b.Jails != 4 || b.FDs-a.FDs < 3 || b.Goroutines-a.Goroutines < 3 || a.RSS <= a.Heap || b.Threads < 1 {
		t.Errorf("%+v, then %+v", a, b)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestMountsStayInTheWorker(t *testing.T) {
	dir := t.TempDir()
	before, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Self(t.Context(), Config{Mounts: 20, Scratch: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ask(Request{Op: "open", Arg: filepath.Join(dir, "mounts/18"), N: 1}); err != nil {
		t.Errorf("the last mount: %v", err)
	}
	if _, err := c.Ask(Request{Op: "run", Arg: "brig Runner", N: 1}); err != nil {
		t.Error(err)
	}
	if _, err := c.Ask(Request{Op: "open", Arg: filepath.Join(dir, "mounts/19"), N: 1}); err == nil {
		t.Error("there are more than 20 mounts")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if after, err := os.ReadFile("/proc/self/mountinfo"); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the caller's mounts have changed: %v", err)
	}
}

// The caller's namespaces are never changed.
func TestRefusesTheCallersNamespace(t *testing.T) {
	for _, cfg := range []Config{{Mounts: 1, Scratch: t.TempDir()}, {Arena: true}} {
		name, _, _ := cfg.namespace()
		ours, err := os.Readlink(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, cfg.Outside = range []string{"", ours} {
			text, err := json.Marshal(cfg)
			if err != nil {
				t.Fatal(err)
			}
			err = Serve(t.Context(), []string{string(text)}, strings.NewReader(""), io.Discard)
			if err == nil || !strings.Contains(err.Error(), "refusing to change the caller's namespace") {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

func TestField(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("7f00-8000 [rollup]\nRss:   \t 1234 kB\nThreads:\t5\nBad: x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]int64{"Rss": 1234, "Threads": 5} {
		if got, err := field(name, key); err != nil || got != want {
			t.Errorf("%s: %d, %v", key, got, err)
		}
	}
	for _, missing := range []string{"Pss", "Bad"} {
		if got, err := field(name, missing); err == nil {
			t.Errorf("%s: %d", missing, got)
		}
	}
}
