package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brig/brigd/job"
	"brig/internal/test/must"
)

// seen collects what a watch tells.
type seen struct {
	mu   sync.Mutex
	list []Notice
	done chan error
	stop context.CancelFunc
}

func (s *seen) tell(list []Notice) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, list...)
	return nil
}

// text is what was told: "type path", with what a rename is from.
func (s *seen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, n := range s.list {
		fmt.Fprintf(&b, "%s %s", n.Type, strings.TrimPrefix(n.Path, "/work/"))
		if n.Old != "" {
			b.WriteString(" from " + strings.TrimPrefix(n.Old, "/work/"))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// await waits until something was told.
func (s *seen) await(t *testing.T, want string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !strings.Contains(s.text(), want); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %q in\n%s", want, s.text())
		}
	}
}

// watching begins a watch. The test has to call stop.
func watching(t *testing.T, w *Watches, path string, recursive bool) *seen {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &seen{done: make(chan error, 1), stop: cancel}
	go func() { s.done <- w.Watch(ctx, path, recursive, s.tell) }()
	s.await(t, "watching "+strings.TrimPrefix(path, "/work/")+"\n")
	return s
}

// end ends a watch, and returns what was told.
func (s *seen) end(t *testing.T) string {
	t.Helper()
	s.stop()
	if err := <-s.done; !errors.Is(err, context.Canceled) {
		t.Errorf("it has ended with %v", err)
	}
	return s.text()
}

// Each change is told with its path, those of new directories too, and no descriptor or goroutine stays.
func TestWatch(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		work := at + "/work/"
		must.Do(t, mkdir(tree, "old/deep"))
		must.Do(t, mkdir(tree, "/output/big/er"))
		put(t, tree, "/output/big/er/f", "")
		files, routines := openFiles(t), runtime.NumGoroutine()
		w := newWatches(tree)
		s := watching(t, w, "/work", true)
		must.Do(t, os.WriteFile(work+"a", nil, 0o644))
		must.Do(t, os.WriteFile(work+"a", []byte("x"), 0o644))
		must.Do(t, os.Chmod(work+"a", 0o600))
		must.Do(t, os.Rename(work+"a", work+"old/deep/a"))
		s.await(t, "rename old/deep/a from a\n")
		put(t, tree, "old/put", "x")
		s.await(t, "create old/put\n")
		must.Do(t, os.Mkdir(work+"new", 0o755))
		s.await(t, "create new\n")
		must.Do(t, os.MkdirAll(work+"new/er/est", 0o755))
		must.Do(t, os.WriteFile(work+"new/er/est/f", nil, 0o644))
		s.await(t, "create new/er/est/f\n")
		must.Do(t, os.Rename(work+"new", work+"old/new"))
		s.await(t, "rename old/new from new\n")
		must.Do(t, os.WriteFile(work+"old/new/er/est/g", nil, 0o644))
		s.await(t, "create old/new/er/est/g\n")
		must.Do(t, os.Rename(work+"old/new", at+"/output/new")) // out of what is watched
		s.await(t, "remove old/new\n")
		must.Do(t, os.WriteFile(at+"/output/new/er/unseen", nil, 0o644))
		must.Do(t, os.Rename(at+"/output/big", work+"big")) // and in
		s.await(t, "create big/er/f\n")
		must.Do(t, os.WriteFile(work+"big/er/g", nil, 0o644))
		s.await(t, "create big/er/g\n")
		must.Do(t, tree.Remove("big"))
		s.await(t, "remove big\n")
		text := s.end(t)
		for _, want := range []string{"create a\n", "write a\n", "chmod a\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		for _, no := range []string{"unseen", ".put", "overflow", "unwatched", "end"} {
			if strings.Contains(text, no) {
				t.Errorf("%q in\n%s", no, text)
			}
		}
		settled(t, files, routines)
	})
}

// settled waits until the descriptors and goroutines of a watch are gone.
func settled(t *testing.T, files, routines int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); openFiles(t) > files || runtime.NumGoroutine() > routines; {
		if time.Now().After(end) {
			t.Fatalf("%d descriptors and %d goroutines, were %d and %d", openFiles(t), runtime.NumGoroutine(), files, routines)
		}
		time.Sleep(time.Millisecond)
	}
}

// A watch that is not recursive tells of one directory.
func TestWatchOne(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		must.Do(t, mkdir(tree, "d"))
		s := watching(t, newWatches(tree), "/work", false)
		put(t, tree, "d/f", "")
		must.Do(t, mkdir(tree, "e"))
		put(t, tree, "e/f", "")
		put(t, tree, "last", "")
		s.await(t, "create last\n")
		if text := s.end(t); strings.Contains(text, "/f") || !strings.Contains(text, "create e\n") {
			t.Error(text)
		}
	})
}

// The root is watched without the temporary files of Put, whose rename is a creation.
func TestWatchRoot(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		for _, recursive := range []bool{false, true} {
			s := watching(t, newWatches(tree), "/", recursive)
			put(t, tree, "f"+strconv.FormatBool(recursive), "x")
			must.Do(t, os.Chmod(at+"/output", 0o700))
			s.await(t, "chmod /output\n")
			if text := s.end(t); strings.Contains(text, ".put") || strings.Contains(text, "create ftrue\n") != recursive {
				t.Error(text)
			}
		}
	})
}

// Names are told so that they can be used, whatever is in them.
func TestWatchNames(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, _ string) {
		s := watching(t, newWatches(tree), "/work", true)
		for _, name := range hostile {
			put(t, tree, name+"/"+name, "")
		}
		put(t, tree, "last", "")
		s.await(t, "create last\n")
		s.end(t)
		found := map[string]bool{}
		for _, n := range s.list {
			raw := n.Path
			if n.RawPath != nil {
				raw = string(n.RawPath)
			}
			found[raw] = true
		}
		for _, name := range hostile {
			if !found["/work/"+name+"/"+name] {
				t.Errorf("nothing is told of %q", name)
			}
		}
	})
}

// What cannot be watched is refused, or told.
func TestWatchRefuses(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		put(t, tree, "f", "")
		must.Do(t, os.Symlink("/etc", at+"/work/link"))
		must.Do(t, unix.Mkfifo(at+"/work/fifo", 0o600))
		w := newWatches(tree)
		for path, code := range map[string]string{"f": CodeNotDir, "fifo": CodeNotDir, "link": CodeSymlink, "none": CodeNotFound,
			"../x": CodeBadPath, "/etc": CodeOutside} {
			wantCode(t, path, w.Watch(t.Context(), path, true, nil), code)
		}
		must.Do(t, mkdir(tree, "deny"))
		must.Do(t, os.Chmod(at+"/work/deny", 0))
		s := watching(t, w, "/work", true)
		if text := s.end(t); strings.Contains(text, "unwatched deny\n") != (os.Getuid() != 0) {
			t.Error(text)
		}
		must.Do(t, os.Chmod(at+"/work/deny", 0o700))
		var all []*seen
		for range maxWatches {
			all = append(all, watching(t, w, "/work", false))
		}
		wantCode(t, "one more", w.Watch(t.Context(), "", false, nil), CodeWatches)
		for _, s := range all {
			s.end(t)
		}
		broken := errors.New("the client has gone")
		if err := w.Watch(t.Context(), "", false, func([]Notice) error { return broken }); !errors.Is(err, broken) {
			t.Error(err)
		}
	})
}

// A watch ends with its directory, whatever stands at its path then, and with the sandbox.
func TestWatchEnds(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		files, routines := openFiles(t), runtime.NumGoroutine()
		w := newWatches(tree)
		for name, end := range map[string]func(){
			"removed": func() { must.Do(t, tree.Remove("removed")) },
			"moved":   func() { must.Do(t, os.Rename(at+"/work/moved", at+"/output/moved")) },
			"replaced": func() {
				must.Do(t, os.Symlink("/etc", at+"/work/x"))
				must.Do(t, unix.Renameat2(unix.AT_FDCWD, at+"/work/x", unix.AT_FDCWD, at+"/work/replaced", unix.RENAME_EXCHANGE))
			},
		} {
			must.Do(t, mkdir(tree, name))
			s := watching(t, w, "/work/"+name, true)
			end()
			if err := <-s.done; err != nil || !strings.HasSuffix(s.text(), "end \n") {
				t.Errorf("%s: %v\n%s", name, err, s.text())
			}
			s.stop()
		}
		settled(t, files, routines)
		s := watching(t, w, "/work", true)
		tree.Close()
		if err := <-s.done; err != nil || !strings.HasSuffix(s.text(), "end \n") {
			t.Errorf("%v\n%s", err, s.text())
		}
		s.stop()
		settled(t, files, routines)
		wantCode(t, "after the end", w.Watch(t.Context(), "", false, s.tell), CodeNotFound)
	})
}

// Watched directories are bounded, and so is what is told of one that appears with much in it.
func TestWatchBounds(t *testing.T) {
	v, around := newDirIn(t, inMemory(t))
	tree := newTree(v)
	volume := filepath.Join(around, "volume")
	for i := range maxWatchedDirs + 10 {
		must.Do(t, os.MkdirAll(filepath.Join(volume, "work/d", strconv.Itoa(i)), 0o755))
	}
	for i := range maxFresh + 10 {
		must.Do(t, os.Symlink("x", filepath.Join(volume, "output", strconv.Itoa(i))))
	}
	must.Do(t, os.Mkdir(filepath.Join(volume, "output/many"), 0o755))
	s := watching(t, newWatches(tree), "/work", true)
	s.await(t, "unwatched d/")
	if text := s.end(t); strings.Count(text, "unwatched") != 1 {
		t.Errorf("%d are told", strings.Count(text, "unwatched"))
	}
	must.Do(t, tree.Remove("d"))
	s = watching(t, newWatches(tree), "/work", true)
	must.Do(t, os.Mkdir(filepath.Join(volume, "input/in"), 0o755))
	must.Do(t, os.Rename(filepath.Join(volume, "output"), filepath.Join(volume, "work/out")))
	s.await(t, "overflow \n")
	must.Do(t, os.Rename(filepath.Join(volume, "work/out"), filepath.Join(volume, "output")))
	s.await(t, "remove out\n")
	if n := strings.Count(s.end(t), "create"); n < maxFresh || n > maxFresh+5 {
		t.Errorf("%d are told", n)
	}
	deepen(t, filepath.Join(volume, "work"), maxDepth+10)
	s = watching(t, newWatches(tree), "/work", true)
	s.await(t, "unwatched d/d/d")
	s.end(t)
}

// Events that the kernel has lost are told, and new directories are watched all the same.
func TestWatchOverflow(t *testing.T) {
	v, around := newDirIn(t, inMemory(t))
	tree := newTree(v)
	work := filepath.Join(around, "volume/work")
	var held atomic.Bool
	held.Store(true)
	s := &seen{done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		s.done <- newWatches(tree).Watch(ctx, "/work", true, func(list []Notice) error {
			for err := s.tell(list); held.Load() || err != nil; { // a client that reads nothing
				time.Sleep(time.Millisecond)
			}
			return nil
		})
	}()
	s.await(t, "watching")
	for i := range 20000 { // more than fs.inotify.max_queued_events
		must.Do(t, os.WriteFile(work+"/f"+strconv.Itoa(i%2), []byte("x"), 0o644))
		must.Do(t, os.Remove(work+"/f"+strconv.Itoa(i%2)))
	}
	must.Do(t, os.MkdirAll(work+"/lost/dir", 0o755))
	held.Store(false)
	s.await(t, "overflow")
	must.Do(t, os.WriteFile(work+"/lost/dir/f", nil, 0o644))
	s.await(t, "lost/dir/f")
	cancel()
	<-s.done
}

// A payload that exchanges directories, links and FIFOs has nothing watched outside, and no wrong answer but a path
// that was another's.
func TestWatchRaces(t *testing.T) {
	v, around := newDirIn(t, inMemory(t))
	tree := newTree(v)
	outside := filepath.Join(around, "outside")
	must.Do(t, os.MkdirAll(filepath.Join(outside, "sub/deep"), 0o755))
	files, routines := openFiles(t), runtime.NumGoroutine()
	work := must.Get(unix.Open(filepath.Join(around, "volume/work"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))(t)
	a := attacker{work}
	a.furnish(around)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { a.swap(around, &stop) })
	}
	w := newWatches(tree)
	told := 0
	for i := range 200 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		path := []string{"/work", "d", "d/sub", "/"}[i%4]
		err := w.Watch(ctx, path, true, func(list []Notice) error {
			told += len(list)
			for _, n := range list {
				if strings.Contains(n.Path+n.Old, "secret") || n.Path != "" && n.Path != "/" && !strings.HasPrefix(n.Path, "/work") &&
					n.Path != "/input" && n.Path != "/output" {
					t.Errorf("%+v", n)
				}
			}
			return nil
		})
		cancel()
		if no := new(job.Refusal); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &no) {
			t.Errorf("%s: %v", path, err)
		}
		must.Do(t, os.WriteFile(filepath.Join(outside, "sub/deep/secret"+strconv.Itoa(i)), nil, 0o644))
		must.Do(t, os.WriteFile(filepath.Join(outside, "secret"+strconv.Itoa(i)), nil, 0o644))
	}
	stop.Store(true)
	wg.Wait()
	must.Do(t, unix.Close(work))
	if t.Log(told, "notices"); told < 1000 {
		t.Errorf("only %d notices", told)
	}
	settled(t, files, routines)
}
