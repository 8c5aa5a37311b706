package seccomp

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func cacheFilter() []byte { return encode([]insn{{code: bpfRet, k: uint32(Allow)}}) }

func TestCachedKeepsAndRecompiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "cache")
	calls := 0
	get := func() {
		t.Helper()
		bpf, err := Cached(dir, []byte("key"), func() ([]byte, error) { calls++; return cacheFilter(), nil })
		if err != nil || !bytes.Equal(bpf, cacheFilter()) {
			t.Fatalf("got %x, %v", bpf, err)
		}
	}
	get()
	get()
	if calls != 1 {
		t.Fatalf("compiled %d times, want once", calls)
	}
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	file := filepath.Join(dir, entryName([]byte("key")))
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(good)
	flipped[len(flipped)-1] ^= 1
	damages := map[string]func() error{
		"flipped":   func() error { return os.WriteFile(file, flipped, 0o600) },
		"cut":       func() error { return os.WriteFile(file, good[:20], 0o600) },
		"longer":    func() error { return os.WriteFile(file, append(bytes.Clone(good), 0), 0o600) },
		"empty":     func() error { return os.WriteFile(file, nil, 0o600) },
		"symlink":   func() error { return errors.Join(os.Rename(file, file+"2"), os.Symlink(file+"2", file)) },
		"writable":  func() error { return os.Chmod(file, 0o666) },
		"not there": func() error { return os.Remove(file) },
	}
	for name, damage := range damages {
		if err := damage(); err != nil {
			t.Fatal(name, err)
		}
		before := calls
		get()
		get()
		if calls != before+1 {
			t.Errorf("%s: compiled %d times, want once", name, calls-before)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, ".tmp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCachedKeys(t *testing.T) {
	dir := t.TempDir()
	for i, key := range []string{"a", "b"} {
		want := encode([]insn{{code: bpfRet, k: uint32(i)}})
		if got, err := Cached(dir, []byte(key), func() ([]byte, error) { return want, nil }); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %x, %v", key, got, err)
		}
	}
}

func TestCachedRefusesUnsafeDirectories(t *testing.T) {
	base := t.TempDir()
	open, link, file := filepath.Join(base, "open"), filepath.Join(base, "link"), filepath.Join(base, "file")
	err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777), os.Symlink(base, link), os.WriteFile(file, nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{open: "mode 0777 lets others write", link: "open: ", file: "not a directory", "/proc": "/proc"} {
		bpf, err := Cached(dir, []byte("k"), func() ([]byte, error) { return cacheFilter(), nil })
		var ce *CacheError
		if !errors.As(err, &ce) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", dir, err, want)
		}
		if !bytes.Equal(bpf, cacheFilter()) {
			t.Errorf("%s: the filter is lost", dir)
		}
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(open, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if _, err := Cached(open, nil, func() ([]byte, error) { return cacheFilter(), nil }); err == nil || !strings.Contains(err.Error(), "belongs to uid 65534") {
			t.Errorf("a foreign directory: %v", err)
		}
	}
}

func TestCachedPassesTheCompilersError(t *testing.T) {
	boom := errors.New("boom")
	if _, err := Cached(t.TempDir(), nil, func() ([]byte, error) { return nil, boom }); err != boom {
		t.Errorf("got %v", err)
	}
}
