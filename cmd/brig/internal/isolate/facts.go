package isolate

import (
	"os"
	"path/filepath"
	"strings"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// facts are what a translation needs to know of the machine.
type facts struct {
	dir     string   // the box's directory, in which box and tmp are
	environ []string // the caller's variables
	exists  func(dir string) bool
	below   func(dir string) bool    // something is mounted below it
	hard    func(resource int) int64 // the caller's hard limit, or -1
	config  *Config
}

// factsOf returns those of this machine for the box of a directory.
func factsOf(dir string, config *Config) *facts {
	f := &facts{dir: dir, environ: os.Environ(), config: config, below: mountedBelow}
	f.exists = func(dir string) bool {
		st, err := os.Stat(dir)
		return err == nil && st.IsDir()
	}
	f.hard = func(resource int) int64 {
		l := unix.Rlimit{Max: unix.RLIM_INFINITY} // -1
		_ = unix.Getrlimit(resource, &l)          // it fails for a resource that does not exist
		return int64(l.Max)
	}
	return f
}

// mountedBelow reports whether something is mounted below a directory: proc_pid_mountinfo(5). It reports so as well if
// that cannot be known.
func mountedBelow(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false // the start will say so
	}
	table, err := sys.Mounts()
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], strings.TrimSuffix(real, "/")+"/") {
			return true
		}
	}
	return false
}
