package nsjail

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// filler is a payload that fills the jail's memory with seven processes as soon as it exists.
const filler = `#include <fcntl.h>
#include <unistd.h>
static char b[1 << 20];
int main(void) {
	for (int k = 0; k < 6 && fork(); k++);
	int f = open("/tmp/f", O_CREAT | O_WRONLY | O_APPEND, 0600);
	for (int i = 0; i < 40; i++) if (write(f, b, sizeof b) < 0) break;
	pause();
}`

// TestLimitMemoryAtOnce: a payload that meets its limit before init has reported its start, as on a busy machine, has
// met its limit. The error that the limit is too little to start in would be the caller's. On one processor it is one
// jail in twenty.
func TestLimitMemoryAtOnce(t *testing.T) {
	tight(t, "true")
	needs(t, "gcc")
	dir := t.TempDir()
	program := filepath.Join(dir, "fill")
	build := exec.Command("sh", "-c", `printf %s "$1" | gcc -O -static -xc - -o "$2"`, "sh", filler, program)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	runtime.LockOSThread() // and let the thread end with the goroutine: its processor is a single one
	var one unix.CPUSet
	must.Do(t, unix.SchedGetaffinity(0, &one))
	for cpu, first := 0, true; cpu < 1024; cpu++ {
		if one.IsSet(cpu) && !first {
			one.Clear(cpu)
		} else if one.IsSet(cpu) {
			first = false
		}
	}
	must.Do(t, unix.SchedSetaffinity(0, &one))
	for range 40 {
		c := Command("/fill")
		c.Spec.Mounts = append(c.Spec.Mounts, Mount{Type: MountBind, Source: program, Target: "/fill"})
		c.Spec.Limits.Memory, c.Spec.Scratch = 8<<20, 100<<20
		c.Spec.Limits.Wall = spec.Duration(20e9)
		if r, err := c.Run(); err != nil || r.Status != StatusMemory {
			t.Fatalf("%+v, %v", r, err)
		}
	}
}
