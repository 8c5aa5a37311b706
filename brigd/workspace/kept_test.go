package workspace

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brig/brigd/job"
	"brig/internal/test/must"
)

// A payload exchanges a file for a link out of the volume, a FIFO and a directory, and cuts it, while the files are
// packed: nothing outside is read, nothing waits for the FIFO, and the layer can be unpacked.
func TestPackRaces(t *testing.T) {
	v := newReal(t, 4<<20, 200)
	at := fmt.Sprintf("/proc/self/fd/%d/work/", v.Root().Fd())
	secret := t.TempDir() + "/secret"
	must.Do(t, os.WriteFile(secret, []byte("outside"), 0o644))
	must.Do(t, os.WriteFile(at+"f", bytes.Repeat([]byte("inside"), 20_000), 0o644))
	must.Do(t, os.Symlink(secret, at+"link"))
	must.Do(t, os.Symlink("/", at+"root"))
	must.Do(t, unix.Mkfifo(at+"fifo", 0o644))
	must.Do(t, os.MkdirAll(at+"d/e", 0o755))
	must.Do(t, os.WriteFile(at+"d/e/f", []byte("deep"), 0o644))
	end := make(chan struct{})
	var payload sync.WaitGroup
	payload.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-end:
				return
			default:
			}
			other := []string{"link", "fifo", "d", "root"}[i%4]
			for range 2 { // there and back
				if err := unix.Renameat2(unix.AT_FDCWD, at+"f", unix.AT_FDCWD, at+other, unix.RENAME_EXCHANGE); err != nil {
					t.Error(err)
				}
			}
			_ = os.Truncate(at+"f", int64(i%120_000))
		}
	})
	b := &Sandbox{Tree: newTree(v), Volume: v, CreateOptions: CreateOptions{Size: 4 << 20, Inodes: 200}}
	for range 300 {
		var text bytes.Buffer
		must.Get(b.Pack(&text, nil))(t)
		if bytes.Contains(text.Bytes(), []byte("outside")) {
			t.Fatal("a file outside was read")
		}
		for r := tar.NewReader(&text); ; {
			_, err := r.Next()
			if err == io.EOF {
				break
			}
			must.Do(t, err)
		}
	}
	close(end)
	payload.Wait()
	var text bytes.Buffer
	_, err := b.Pack(&text, nil)
	must.Do(t, err)
	must.Do(t, unpack(text.Bytes(), newReal(t, 4<<20, 200)))
}

// unpack unpacks a layer.
func unpack(text []byte, v Volume) error {
	files, err := Read(io.NewSectionReader(bytes.NewReader(text), 0, int64(len(text))), nil)
	if err != nil {
		return err
	}
	return files.Unpack(v, 0, 0)
}

// What a layer holds belongs to the payload's user, and does not exceed the quota.
func TestUnpackIsThePayloads(t *testing.T) {
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	for _, h := range []*tar.Header{{Typeflag: tar.TypeDir, Name: "work/", Mode: 0o755}, {Name: "work/f", Mode: 0o4755, Size: 5000, Uid: 0},
		{Typeflag: tar.TypeLink, Name: "work/hard", Linkname: "work/f"}, {Typeflag: tar.TypeSymlink, Name: "work/l", Linkname: "/"}} {
		must.Do(t, w.WriteHeader(h))
		if h.Size > 0 {
			_, err := w.Write(bytes.Repeat([]byte("t"), 5000))
			must.Do(t, err)
		}
	}
	must.Do(t, w.Close())
	v := newReal(t, 1<<20, 100)
	must.Do(t, unpack(text.Bytes(), v))
	uid, gid := v.Owner()
	for _, name := range []string{"work", "work/f", "work/hard", "work/l"} {
		var st unix.Stat_t
		must.Do(t, unix.Lstat(fmt.Sprintf("/proc/self/fd/%d/%s", v.Root().Fd(), name), &st))
		if int(st.Uid) != uid || int(st.Gid) != gid || st.Mode&0o7000 != 0 {
			t.Errorf("%s: %d:%d %o", name, st.Uid, st.Gid, st.Mode)
		}
	}
	if fsuid, _ := unix.SetfsuidRetUid(-1); fsuid != os.Geteuid() {
		t.Errorf("the thread acts for %d", fsuid)
	}
	wantCode(t, "more bytes", unpack(text.Bytes(), newReal(t, 4096, 100)), CodeDiskFull)
	wantCode(t, "more files", unpack(text.Bytes(), newReal(t, 1<<20, 6)), CodeDiskFull)
	if err := unpack(text.Bytes()[:700], newReal(t, 1<<20, 100)); err == nil {
		t.Error("a cut layer is taken")
	}
}

// A file with a hole that is longer than the quota is not kept, and to call again does not help.
func TestPackOfASparseFile(t *testing.T) {
	v, around := newDir(t)
	s := NewStore(StoreOptions{Max: 1, Make: func(size, inodes int64) (Volume, error) { return v, nil }})
	defer s.Close()
	b, err := s.Create("me", CreateOptions{})
	must.Do(t, err)
	name := filepath.Join(around, "volume/work/sparse")
	must.Do(t, os.WriteFile(name, nil, 0o644))
	must.Do(t, os.Truncate(name, 1<<40))
	_, err = b.Pack(io.Discard, nil)
	wantCode(t, "a sparse file", err, CodeTooLarge)
	var no *job.Refusal
	if !errors.As(err, &no) || !strings.Contains(strings.Join(no.NextSteps, " "), "Delete sparse files") {
		t.Errorf("%+v", no)
	}
}

// What is restored keeps its id, times and first files, and counts.
func TestPast(t *testing.T) {
	var filled int64
	s := NewStore(StoreOptions{Max: 2, Make: func(size, inodes int64) (Volume, error) {
		v, _ := newDir(t)
		return v, nil
	}})
	defer s.Close()
	past := &Past{ID: "sb_past", Created: time.Now().Add(-time.Hour), Used: time.Now().Add(-time.Minute)}
	b, err := s.Create("me", CreateOptions{Past: past, TTL: 2 * time.Minute,
		Fill: func(v Volume, size, inodes int64) error { filled = size; return nil }})
	must.Do(t, err)
	if b.ID != past.ID || !b.Created.Equal(past.Created) || !b.Expires().Equal(past.Used.Add(2*time.Minute)) || filled != b.Size {
		t.Errorf("%+v", b)
	}
	hold, err := s.Hold("me", 1<<20)
	must.Do(t, err)
	_, err = s.Create("me", CreateOptions{})
	wantCode(t, "a third", err, CodeTooMany)
	if n := s.Count(); n != 1 {
		t.Errorf("%d sandboxes", n)
	}
	hold.Release()
	_, err = s.Create("me", CreateOptions{Fill: func(Volume, int64, int64) error { return refuse(CodeDiskFull, "full") }})
	wantCode(t, "one that cannot be filled", err, CodeDiskFull)
	if n := s.Count(); n != 1 {
		t.Errorf("%d sandboxes", n)
	}
}
