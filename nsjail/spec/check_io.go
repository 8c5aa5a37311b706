package spec

import (
	"fmt"
	"math"
	"path/filepath"

	"brig/internal/words"
)

const maxIO = 64 // entries under io

// checkIO checks the limits on block devices.
func checkIO(devices []IOLimit) (c problems) {
	if len(devices) > maxIO {
		c.add("limits.io", fmt.Sprintf("%d is more than %d", len(devices), maxIO), "remove some")
		return c
	}
	seen := map[string]int{}
	for i, d := range devices {
		field := Index("limits.io", i)
		c = append(c, checkRates(field, d)...)
		if d.Path == "" {
			c.add(field+".path", "is empty", "name a block device, or a file or directory on it")
			continue
		}
		if !c.hostPath(field+".path", d.Path) {
			continue
		}
		clean := filepath.Clean(d.Path)
		if first, twice := seen[clean]; twice {
			c.add(field+".path", words.Quote(d.Path)+" is already that of "+Index("limits.io", first),
				"put its rates together in one entry")
			continue
		}
		seen[clean] = i
	}
	return c
}

func checkRates(field string, d IOLimit) (c problems) {
	for _, r := range []struct {
		name        string
		value, most int64
	}{
		{"read_bps", int64(d.ReadBps), math.MaxInt64}, {"write_bps", int64(d.WriteBps), math.MaxInt64},
		{"read_iops", d.ReadIOPS, math.MaxUint32}, {"write_iops", d.WriteIOPS, math.MaxUint32}, // the kernel's unsigned int
	} {
		switch {
		case r.value < 0:
			c.add(field+"."+r.name, fmt.Sprintf("%d is negative", r.value),
				"write a rate for each second, or leave it out for no limit")
		case r.value > r.most:
			c.add(field+"."+r.name, fmt.Sprintf("%d is more than the %d that the kernel counts", r.value, r.most),
				"leave it out for no limit")
		}
	}
	if d.ReadBps == 0 && d.WriteBps == 0 && d.ReadIOPS == 0 && d.WriteIOPS == 0 {
		c.add(field, "there is no rate", "write one of read_bps, write_bps, read_iops, write_iops, or remove the entry")
	}
	return c
}
