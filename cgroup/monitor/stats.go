package monitor

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Stats is what a group uses at one moment, with all groups below it. Bytes, microseconds and counts since the group was
// made. Every Figure may be unknown.
type Stats struct {
	Memory Memory
	Pids   Pids
	CPU    CPU
	IO     IO
}

// Memory is in bytes.
type Memory struct {
	Usage, Peak, Limit Figure
	High               Figure // the limit above which the group is slowed down; version 2 only
	// Swap, SwapPeak and SwapLimit are of swap alone. In version 1 SwapLimit is what the limit of both leaves.
	Swap, SwapPeak, SwapLimit Figure
	// Anon, File and Kernel are what Usage is made of: the processes' own memory, page cache and tmpfs, the kernel's.
	Anon, File, Kernel Figure
	// HighEvents and MaxEvents count how often Usage came to the limits; version 2 only.
	HighEvents, MaxEvents Figure
	// OOM counts allocations that nothing could be reclaimed for, where the limit sits; version 2 only. OOMKill counts
	// processes that were killed for it: compare it with 0 only, as one victim can count twice.
	OOM, OOMKill Figure
	Pressure     Pressure
}

// Pids counts tasks: processes and threads.
type Pids struct {
	Current, Peak, Limit Figure
	// MaxEvents counts clones that failed at the limit. Where: in the group that has the limit, or on older kernels and
	// version 1 in the group that the task was in.
	MaxEvents Figure
}

// CPU is in microseconds and periods.
type CPU struct {
	Usage, User, System                  Figure
	Periods, ThrottledPeriods, Throttled Figure
	Pressure                             Pressure
}

// IO is the sum over all block devices. In version 1 it is mostly unknown: its kernel counts only on devices that have a
// limit. Writes that the page cache has taken count when they reach the device, in version 1 for nobody.
type IO struct {
	ReadBytes, WriteBytes, ReadOps, WriteOps Figure
	Pressure                                 Pressure
}

// Stats reads everything that the group's layout and the kernel give. It is ErrRemoved when the group is gone.
func (m *Monitor) Stats() (Stats, error) {
	var s Stats
	var errs []error
	if m.v2 != nil { // first, since version 1 overwrites what it has: it is where the limits are
		errs = append(errs, m.stats2(&s))
	}
	if m.lib1 != nil {
		errs = append(errs, m.stats1(&s))
	}
	if err := m.alive(); err != nil { // asked last: what was read of a dying group is no answer
		return Stats{}, err
	}
	if err := errors.Join(errs...); err != nil {
		return Stats{}, err
	}
	return s, nil
}

// number reads a file of one number or "max"; without the file it is unknown.
func (d *dir) number(file string) (Figure, error) {
	b, err := d.read(file)
	if b == nil || err != nil {
		return Figure{}, err
	}
	n, err := parseNumber(string(b))
	if err != nil {
		return Figure{}, bad(file, err)
	}
	return known(n), nil
}

// values reads a file of lines "key number"; without the file there are none.
func (d *dir) values(file string) (map[string]uint64, error) {
	b, err := d.read(file)
	if err != nil {
		return nil, err
	}
	v, err := parseValues(string(b))
	if err != nil {
		return nil, bad(file, err)
	}
	return v, nil
}

// pressure reads a pressure file; both lines are unknown without it.
func (d *dir) pressure(file string) (Pressure, error) {
	b, err := d.read(file)
	if b == nil || err != nil {
		return Pressure{}, err
	}
	p, err := parsePressure(string(b))
	if err != nil {
		return Pressure{}, bad(file, err)
	}
	return p, nil
}

// read reads a file; nil without it, and where the kernel has switched off what it tells (EOPNOTSUPP: psi=0).
func (d *dir) read(file string) ([]byte, error) {
	b, err := os.ReadFile(d.path(file))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil, nil
	}
	if err != nil {
		return nil, bad(file, err)
	}
	return b, nil
}

// figure is the value that the library has read from a file, if there is such a file.
func (d *dir) figure(file string, v uint64) Figure {
	if !d.has(file) {
		return Figure{}
	}
	return known(v)
}

// of is the value of a key, if there is one.
func of(values map[string]uint64, key string) Figure {
	v, ok := values[key]
	return Figure{v, ok}
}
