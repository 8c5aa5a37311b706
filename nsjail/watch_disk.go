package nsjail

import (
	"errors"
	"time"

	"brig/internal/sys"
	"brig/nsjail/internal/run"
)

// diskInterval is the least time between two counts of the changes on disk. A count may take a tenth of the time.
const diskInterval = 100 * time.Millisecond

// checkDisk ends the jail if its changes on disk are above their limit, or have made the file system almost full.
// Otherwise it sets the timer again.
func (c *Cmd) checkDisk() {
	c.counting.Lock()
	defer c.counting.Unlock()
	if c.state.done.Load() { // the stores may be closed
		return
	}
	began := time.Now()
	hidden := int64(-1) // not counted yet
	for _, s := range c.stores {
		over := false
		if s.Bounded() {
			if hidden < 0 {
				hidden = run.Unlinked(append(sys.Descendants(c.pid), c.pid))
			}
			used, err := s.Measure()
			used.Bytes += hidden
			over = used.Over(s.Most) || err != nil // what cannot be counted may be anything
		}
		if over || s.Low() {
			c.endFor(endedDisk)
			return
		}
	}
	c.timers.Start(&c.timers.Disk, max(diskInterval, 10*time.Since(began)), c.checkDisk)
}

// countDisk counts the changes on disk after the end, for the Result.
func (c *Cmd) countDisk() error {
	c.counting.Lock() // a last checkDisk may still run
	defer c.counting.Unlock()
	var errs []error
	d := &c.facts.disks
	for _, s := range c.stores {
		used, err := s.Measure()
		if used.Over(s.Most) || errors.Is(err, run.ErrTooDeep) || c.facts.deeds.why == endedDisk {
			d.full = append(d.full, s.Target)
			d.over, err = true, nil
		}
		d.bytes = max(0, d.bytes) + used.Bytes
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
