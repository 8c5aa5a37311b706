package nsjail

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// BenchmarkStart is a Runner's jail from Start to Wait, of one client and of four at once. BRIG_ROOT names the
// directory of a root with /bin/true, if it is to be other than the default.
func BenchmarkStart(b *testing.B) {
	root := Rootfs{Path: os.Getenv("BRIG_ROOT")}
	for _, clients := range []int{1, 4} {
		b.Run(strconv.Itoa(clients), func(b *testing.B) {
			r := runnerWith(b, RunnerOptions{})
			var all sync.WaitGroup
			for k := range clients {
				all.Go(func() {
					for i := k; i < b.N; i += clients {
						c := r.Command("/bin/true")
						if c.Spec.Rootfs = root; root.Path != "" {
							c.Spec.User = "0:0" // an image's default
						}
						if _, err := c.Run(); err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
		})
	}
}

// BenchmarkHeap is a Runner's start in a process with so many MiB of live heap.
func BenchmarkHeap(b *testing.B) {
	for _, mib := range []int{0, 256, 1024, 4096} {
		b.Run(strconv.Itoa(mib), func(b *testing.B) {
			var heap [][]byte
			for range mib {
				chunk := make([]byte, 1<<20)
				for i := 0; i < len(chunk); i += 4096 { // the kernel gives no memory to a page that was not written
					chunk[i] = 1
				}
				heap = append(heap, chunk)
			}
			startAll(b, runnerWith(b, RunnerOptions{}))
			runtime.KeepAlive(heap)
		})
	}
}

// BenchmarkMounts is a start with so many extra mounts of the caller's, by a Runner without a pool, by one with a pool,
// and by brig run: BRIG_MOUNTS=private unshare -m go test ./nsjail -run '^$' -bench Mounts
func BenchmarkMounts(b *testing.B) {
	if os.Geteuid() != 0 || os.Getenv("BRIG_MOUNTS") != "private" {
		b.Skip("the machine's own mount table must not change: start it as root, as its comment says")
	}
	for _, n := range []int{0, 100, 1000} {
		addMounts(b, n)
		for name, pool := range map[string]int{"runner": 0, "pool": 16} {
			b.Run(strconv.Itoa(n)+"/"+name, func(b *testing.B) { startAll(b, runnerWith(b, RunnerOptions{Pool: pool})) })
		}
		b.Run(strconv.Itoa(n)+"/run", func(b *testing.B) {
			for b.Loop() {
				if out, err := exec.Command(filepath.Join(asuser.Dir(), "brig"), "run", "--", "/bin/true").CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
			}
		})
	}
}

// addMounts makes a tmpfs and so many mounts of its directories on themselves, which end with the benchmark.
func addMounts(b *testing.B, n int) {
	b.Helper()
	dir := b.TempDir()
	must.Do(b, unix.Mount("bench", dir, "tmpfs", 0, "mode=755,size=16m"))
	b.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			b.Error(err)
		}
	})
	for i := range n {
		d := filepath.Join(dir, strconv.Itoa(i))
		if err := errors.Join(os.Mkdir(d, 0o755), unix.Mount(d, d, "", unix.MS_BIND, "")); err != nil {
			b.Fatalf("mount %d of %d: %v; raise the sysctl fs.mount-max", i, n, err)
		}
	}
}

// startAll makes jails of /bin/true, one after the other.
func startAll(b *testing.B, r *Runner) {
	b.Helper()
	for b.Loop() {
		must.Get(r.Command("/bin/true").Run())(b)
	}
}

// BenchmarkKeeper is what a process that keeps running jails holds for each: its resident set, descriptors and threads
// with b.N of them, less what it held with one. Each is awaited by a goroutine.
func BenchmarkKeeper(b *testing.B) {
	in, hold, err := os.Pipe()
	must.Do(b, err)
	r := runnerWith(b, RunnerOptions{})
	var waits sync.WaitGroup
	add := func() {
		c := r.Command("/bin/cat")
		c.Stdin = in
		must.Do(b, c.Start())
		waits.Go(func() {
			if res, err := c.Wait(); err != nil || res.Status != StatusOK {
				b.Errorf("%+v, %v", res, err)
			}
		})
	}
	add()
	rss, fds, threads := keeper(b)
	for b.Loop() {
		add()
	}
	moreRSS, moreFDs, moreThreads := keeper(b)
	b.ReportMetric((moreRSS-rss)/float64(b.N), "KiB/jail")
	b.ReportMetric((moreFDs-fds)/float64(b.N), "descriptors/jail")
	b.ReportMetric(moreThreads-threads, "threads")
	if err := errors.Join(hold.Close(), in.Close()); err != nil {
		b.Error(err)
	}
	waits.Wait()
}

// keeper returns the resident set in KiB, the descriptors and the threads of this process, after a collection.
func keeper(b *testing.B) (rss, fds, threads float64) {
	b.Helper()
	debug.FreeOSMemory()
	debug.FreeOSMemory() // objects with a finalizer go in the second collection
	text, err := os.ReadFile("/proc/self/status")
	list, derr := os.ReadDir("/proc/self/fd")
	if err = errors.Join(err, derr); err != nil {
		b.Fatal(err)
	}
	number := func(name string) float64 {
		_, rest, _ := strings.Cut(string(text), "\n"+name+":")
		return must.Get(strconv.ParseFloat(strings.Fields(rest)[0], 64))(b)
	}
	return number("VmRSS"), float64(len(list)), number("Threads")
}
