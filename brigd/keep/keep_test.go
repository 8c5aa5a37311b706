package keep

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

func TestMain(m *testing.M) { os.Exit(asuser.Main(m)) }

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d := must.Get(Open(path))(t)
	t.Cleanup(func() { d.Close() })
	return d
}

// content returns what Save's pack writes.
func content(text string, meta any) func(io.Writer) (any, error) {
	return func(w io.Writer) (any, error) {
		_, err := io.WriteString(w, text)
		return meta, err
	}
}

func text(t *testing.T, k *File) string {
	t.Helper()
	b, err := io.ReadAll(k.Layer())
	if err != nil || int64(len(b)) != k.Size() {
		t.Fatalf("%d of %d bytes, %v", len(b), k.Size(), err)
	}
	return string(b) + string(k.Meta)
}

func TestSaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	d := open(t, path)
	const id = "sb_one"
	for _, layer := range []string{"", "first\n", strings.Repeat("longer\n", 100_000), "short"} {
		saved := must.Get(d.Save(id, content(layer, map[string]int{"a": 1})))(t)
		loaded := must.Get(d.Load(id))(t)
		memory := must.Get(Memory(content(layer, map[string]int{"a": 1})))(t)
		for _, k := range []*File{saved, loaded, memory} {
			if got := text(t, k); got != layer+`{"a":1}` {
				t.Errorf("%.40q", got)
			}
			k.Close()
		}
	}
	if _, err := d.Save("sb_two", func(w io.Writer) (any, error) { return nil, errors.New("no") }); err == nil {
		t.Error("an error of pack is lost")
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "another brigd") {
		t.Errorf("opened twice: %v", err)
	}
	names, err := os.ReadDir(path)
	if err != nil || len(names) != 1 {
		t.Errorf("%v %v", names, err)
	}
	if err := errors.Join(d.Remove(id), d.Remove(id)); err != nil {
		t.Error(err)
	}
	if left, err := d.Names(); len(left) > 0 || err != nil {
		t.Error(left, err)
	}
}

// What an earlier process has not finished is removed, and its earlier file is whole.
func TestUnfinished(t *testing.T) {
	path := t.TempDir()
	must.Do(t, errors.Join(os.Chmod(path, 0o700), os.WriteFile(path+"/"+temporary+"sb_one", []byte("half"), 0o600),
		os.WriteFile(path+"/other", nil, 0o600)))
	d := open(t, path)
	if names, err := d.Names(); len(names) > 0 || err != nil {
		t.Error(names, err)
	}
	if _, err := os.Stat(path + "/" + temporary + "sb_one"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// Every changed, added or missing byte is found.
func TestTampering(t *testing.T) {
	path := t.TempDir()
	must.Do(t, os.Chmod(path, 0o700))
	d := open(t, path)
	k := must.Get(d.Save("sb_one", content("some text", map[string]int{"size": 7})))(t)
	k.Close()
	good := must.Get(os.ReadFile(path + "/sb_one"))(t)
	try := func(what string, data []byte) {
		t.Helper()
		must.Do(t, os.WriteFile(path+"/sb_one", data, 0o600))
		if _, err := d.Load("sb_one"); !errors.Is(err, errDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range good {
		bad := []byte(string(good))
		bad[i] ^= 1
		try("a bit", bad)
		try("the end", good[:i])
	}
	try("more", append(good, '\n'))
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := must.Get(os.CreateTemp(t.TempDir(), ""))(t)
		defer file.Close()
		must.Get(file.WriteAt(data, 0))(t)
		if k, err := check(file); err == nil && k.Size() > int64(len(data)) {
			t.Error("more than there is")
		}
	})
}

// A directory or file that another user owns or may change is refused.
func TestOthersAccess(t *testing.T) {
	for _, mode := range []os.FileMode{0o777, 0o770, 0o701, 0o750} {
		path := t.TempDir()
		must.Do(t, os.Chmod(path, mode))
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "chmod 700") {
			t.Errorf("%o: %v", mode, err)
		}
	}
	path := t.TempDir()
	link := path + "/link"
	must.Do(t, errors.Join(os.Chmod(path, 0o700), os.Symlink(path, link)))
	if _, err := Open(link); err == nil {
		t.Error("a symbolic link is opened")
	}
	if _, err := Open("/"); err == nil {
		t.Error("the root directory is opened")
	}
	if os.Geteuid() == 0 {
		must.Do(t, os.Chown(path, asuser.UID, asuser.UID))
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "belongs to user") {
			t.Errorf("another's: %v", err)
		}
		return
	}
	d := open(t, path)
	for name, make := range map[string]func(p string) error{
		"link":      func(p string) error { return os.Symlink("/etc/passwd", p) },
		"directory": func(p string) error { return os.Mkdir(p, 0o700) },
		"writable":  func(p string) error { return errors.Join(os.WriteFile(p, nil, 0o600), os.Chmod(p, 0o666)) },
	} {
		must.Do(t, make(path+"/sb_x"+name))
		if _, err := d.Load("sb_x" + name); err == nil || errors.Is(err, errDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
