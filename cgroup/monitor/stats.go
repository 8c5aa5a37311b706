package monitor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
)

// read2 reads the version 2 directory: cgroup-v2.rst.
func (s *Stats) read2(dir string) error {
	r := reader{dir: dir}
	r.number(&s.Memory, "memory.current")
	r.number(&s.MemoryPeak, "memory.peak") // ≥ 5.19
	r.limit(&s.MemoryLimit, "memory.max")
	r.number(&s.Swap, "memory.swap.current")
	r.number(&s.Tasks, "pids.current")
	r.limit(&s.TaskLimit, "pids.max")
	s.TaskFails = r.values("pids.events")["max"]
	events := r.values("memory.events")
	s.OOM, s.OOMKill = events["oom"], events["oom_kill"]
	cpu := r.values("cpu.stat")
	s.CPU, s.CPUUser, s.CPUSystem = cpu["usage_usec"], cpu["user_usec"], cpu["system_usec"]
	s.Throttled = cpu["throttled_usec"]
	if text, ok := r.text("io.stat"); ok { // a device without traffic has no line
		s.Read, s.Written = sum("rbytes=0 "+text, "rbytes"), sum("wbytes=0 "+text, "wbytes")
	}
	return r.err
}

// read1 reads the version 1 directory of a controller. Its values replace those of version 2.
func (s *Stats) read1(controller, dir string) error {
	r := reader{dir: dir}
	switch controller {
	case "memory":
		r.number(&s.Memory, "memory.usage_in_bytes")
		r.number(&s.MemoryPeak, "memory.max_usage_in_bytes")
		r.limit(&s.MemoryLimit, "memory.limit_in_bytes")
		s.OOMKill = r.values("memory.oom_control")["oom_kill"]
		s.Swap = r.values("memory.stat")["total_swap"]
	case "pids":
		r.number(&s.Tasks, "pids.current")
		r.limit(&s.TaskLimit, "pids.max")
		s.TaskFails = r.values("pids.events")["max"]
	case "cpu":
		s.Throttled = scaled(r.values("cpu.stat")["throttled_time"], 1, nanoseconds)
	case "cpuacct":
		if s.CPU != nil { // version 2 counts in microseconds, cpuacct.stat in ticks of a hundredth of a second
			break
		}
		r.number(&s.CPU, "cpuacct.usage")
		s.CPU = scaled(s.CPU, 1, nanoseconds)
		ticks := r.values("cpuacct.stat")
		s.CPUUser, s.CPUSystem = scaled(ticks["user"], tick, 1), scaled(ticks["system"], tick, 1)
	case "blkio":
		// Kernels count I/O of version 1 only on devices that some group has a limit for, and show no line for others.
		text, _ := r.text("blkio.throttle.io_service_bytes")
		s.Read, s.Written = sum(text, "Read"), sum(text, "Write")
	}
	return r.err
}

const (
	nanoseconds = 1000  // in a microsecond
	tick        = 10000 // microseconds
)

func scaled(n *uint64, by, of uint64) *uint64 {
	if n != nil {
		*n = *n * by / of
	}
	return n
}

// sum adds the numbers that follow a word, for all devices: "8:0 rbytes=1" of version 2, "8:0 Read 1" of version 1. It
// returns nil if there is none.
func sum(text, word string) (total *uint64) {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '=' })
	for i := 1; i < len(words); i++ {
		n, err := strconv.ParseUint(words[i], 10, 64)
		if words[i-1] != word || err != nil {
			continue
		}
		if total == nil {
			total = new(uint64)
		}
		*total += n
	}
	return total
}

// reader reads the files of a directory. Which exist depends on the enabled controllers and the kernel.
type reader struct {
	dir string
	err error
}

// text reads a file. ok reports whether it exists.
func (r *reader) text(file string) (text string, ok bool) {
	b, err := os.ReadFile(filepath.Join(r.dir, file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.err = errors.Join(r.err, fmt.Errorf("monitor: %w", err))
	}
	return string(b), err == nil
}

// number reads a file of one number, or of the word max.
func (r *reader) number(to **uint64, file string) {
	text, ok := r.text(file)
	if text = strings.TrimSpace(text); !ok || text == "max" {
		return
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		r.err = errors.Join(r.err, fmt.Errorf("monitor: %s: %w", file, err))
		return
	}
	*to = &n
}

// limit reads a limit. None is the word max, or in version 1 the largest number of whole pages.
func (r *reader) limit(to **uint64, file string) {
	const largestPage = 64 << 10
	*to = nil
	if r.number(to, file); *to != nil && **to > 1<<63-1-largestPage {
		*to = nil
	}
}

// values reads a file of lines "key number".
func (r *reader) values(file string) map[string]*uint64 {
	text, _ := r.text(file)
	values, err := parseValues(text)
	if err != nil {
		r.err = errors.Join(r.err, fmt.Errorf("monitor: %s: %w", file, err))
	}
	return values
}

func parseValues(s string) (map[string]*uint64, error) {
	values := map[string]*uint64{}
	for line := range strings.Lines(s) {
		key, number, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil || key == "" {
			return nil, fmt.Errorf("line %s is not a key and a number", strconv.Quote(line))
		}
		values[key] = &n
	}
	return values, nil
}
