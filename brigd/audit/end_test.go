package audit

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// A writer that is killed again and again leaves a chain that verifies, with every run in it that had begun.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	said := map[string]bool{}
	const rounds = 5
	for round := range rounds {
		cmd := spawn(t, "kill", path)
		out := must.Get(cmd.StdoutPipe())(t)
		must.Do(t, cmd.Start())
		in := bufio.NewScanner(out)
		for n := 0; in.Scan(); n++ {
			if strings.Contains(in.Text(), " ") {
				t.Fatal(in.Text())
			}
			said[in.Text()] = true
			if n == 50+200*round {
				must.Do(t, cmd.Process.Kill())
			}
		}
		_ = cmd.Wait()
		if round == rounds/2 { // a line that was never finished
			appendTo(t, path, `{"seq":`)
		}
	}
	closeLog(t, open(t, Options{Path: path}))
	list, r := lines(t, path)
	for _, l := range list {
		if l.Kind == RunStart {
			delete(said, l.Run)
		}
	}
	if len(said) > 0 || r.Reopened != rounds || r.Recovered < 1 || len(r.Files) < 2 {
		t.Errorf("%d runs have no event before them; %+v", len(said), r)
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
}

// With a full disk (here: a limit on the size of files) nothing runs, and once there is room, what is missing is
// recorded.
func TestDiskFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	out, err := spawn(t, "full", path).Output()
	if err != nil {
		t.Fatal(err, string(out))
	}
	got := strings.Split(string(out), "\n")
	want := []string{"run-0", "err: <nil> notes: false", "run-1", "err: <nil> notes: false", "run-2",
		"err: <nil> notes: true",
		"err: audit: this could not be written", "err: audit: this could not be written", "run-5", "err: <nil> notes: false",
		"close: <nil>", ""}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range got {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("line %d: %q, want %q", i, got[i], want[i])
		}
	}
	list, r := lines(t, path)
	if r.Gaps != 1 || r.Missed != 3 || !slices.Equal(r.Unfinished, []string{"run-2"}) {
		t.Errorf("%+v", r)
	}
	i := slices.Index(kinds(list), LogGap)
	if g := list[i]; !slices.Equal(g.Runs, []string{"run-2", "run-3", "run-4"}) ||
		!strings.Contains(g.Error, "file too large") || list[i+1].Run != "run-5" {
		t.Errorf("%+v", g)
	}
}

func TestTornAndAltered(t *testing.T) {
	for what, c := range map[string]struct {
		edit func([]byte) []byte
		torn int64 // -1: not opened
	}{
		"whole":            {func(d []byte) []byte { return d }, 0},
		"half a line":      {func(d []byte) []byte { return append(d, `{"seq":4,`...) }, 9},
		"newline lost":     {func(d []byte) []byte { return d[:len(d)-1] }, 200},
		"zeros":            {func(d []byte) []byte { return append(d, make([]byte, 5000)...) }, 5000},
		"zeros and a line": {func(d []byte) []byte { return append(append(d, make([]byte, 10)...), "}\n{}\n"...) }, 15},
		"all zeros":        {func(d []byte) []byte { return make([]byte, 7) }, 7},
		"empty":            {func(d []byte) []byte { return nil }, 0},
		"a line altered":   {func(d []byte) []byte { return bytes.Replace(d, []byte("pid"), []byte("dip"), 1) }, -1},
		"a line removed": {func(d []byte) []byte {
			i := bytes.IndexByte(d, '\n') + 1
			j := i + bytes.IndexByte(d[i:], '\n') + 1
			return slices.Delete(d, i, j)
		}, -1},
		"a stranger's line": {func(d []byte) []byte { return append(d, "hello\n"...) }, -1},
	} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l := open(t, Options{Path: path})
		must.Do(t, l.Append(Event{Kind: "note", Note: "x"}))
		closeLog(t, l)
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, c.edit(data), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		l, err = Open(Options{Path: path})
		if err != nil {
			if c.torn >= 0 {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		closeLog(t, l)
		list, r := lines(t, path)
		if c.torn < 0 || (r.Recovered == 1) != (c.torn > 0) {
			t.Errorf("%s: %+v", what, r)
			continue
		}
		if c.torn == 0 {
			continue
		}
		e := list[slices.Index(kinds(list), LogRecovered)]
		kept, err := os.ReadFile(path + tornSuffix)
		if err != nil || e.Bytes != int64(len(kept)-1) || e.Digest != digest(kept[:len(kept)-1]) || c.torn != 200 &&
			e.Bytes != c.torn {
			t.Errorf("%s: %+v, %d bytes kept, %v", what, e, len(kept), err)
		}
	}
}

// fill writes about n MiB.
func fill(t *testing.T, l *Log, n int) {
	t.Helper()
	note := strings.Repeat("n", maxText)
	for range n * 800 {
		must.Do(t, l.Append(Event{Kind: "note", Note: note}))
	}
}

func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, Options{Path: path, MaxBytes: 1 << 20})
	fill(t, l, 3)
	closeLog(t, l)
	list, all := lines(t, path)
	if len(all.Files) < 3 || all.Files[0] != path+".000001" || all.FirstSeq != 1 || all.Events != all.LastSeq {
		t.Fatalf("%+v", all)
	}
	i := slices.Index(kinds(list), LogRotated)
	if list[i].File != "audit.jsonl.000001" || list[i].Prev != list[i-1].Hash {
		t.Errorf("%+v", list[i])
	}
	for _, f := range all.Files {
		if st, err := os.Stat(f); err != nil || st.Size() > 1<<20+4096 || st.Mode() != 0o600 {
			t.Error(f, st, err)
		}
	}
	l = open(t, Options{Path: path, MaxBytes: 1 << 20, Keep: 1})
	fill(t, l, 2)
	closeLog(t, l)
	if r, err := (VerifyOptions{}).Verify(path); err != nil || len(r.Files) != 2 || r.FirstSeq == 1 || r.Reopened != 0 {
		t.Errorf("%+v %v", r, err)
	}
	files := must.Get(Files(path))(t)
	if _, err := (VerifyOptions{}).Verify(files[1], files[0]); err == nil {
		t.Error("files in the wrong order verify")
	}
	must.Do(t, os.Remove(files[1]))
	if _, err := Open(Options{Path: path}); err == nil || !strings.Contains(err.Error(), "newest part is missing") {
		t.Error(err)
	}
	must.Do(t, os.WriteFile(path, nil, 0o600))
	if _, err := Open(Options{Path: path}); err == nil {
		t.Error("an empty file was taken for the end of a chain")
	}
}

// A rotation that was killed between its steps is finished or undone by the next writer.
func TestRotationKilledBetweenItsSteps(t *testing.T) {
	for step, undo := range []func(path string) error{
		func(p string) error { return os.WriteFile(p+newSuffix, []byte(`{"seq`), 0o600) },
		func(p string) error { return os.Rename(p, p+newSuffix) },
	} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l := open(t, Options{Path: path, MaxBytes: 1 << 20})
		fill(t, l, 2)
		closeLog(t, l)
		_, before := lines(t, path)
		must.Do(t, undo(path))
		closeLog(t, open(t, Options{Path: path}))
		_, after := lines(t, path)
		if after.Events != before.Events+2 || len(after.Files) != len(before.Files) {
			t.Errorf("step %d: %+v, was %+v", step, after, before)
		}
		if _, err := os.Lstat(path + newSuffix); err == nil {
			t.Errorf("step %d: %s%s is left over", step, path, newSuffix)
		}
	}
}
