package wish

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

func (l limits) ioFlags() []cli.Flag {
	return []cli.Flag{
		{Name: "device-read-bps", Args: "PATH:RATE", Many: true, Files: true,
			Set:  l.ioFlag("read_bps", "10m", func(io *spec.IOLimit) any { return &io.ReadBps }),
			Help: "bytes a second, such as /dev/sda:10m; any other PATH stands for the device that holds it"},
		{Name: "device-write-bps", Args: "PATH:RATE", Many: true, Files: true,
			Set:  l.ioFlag("write_bps", "10m", func(io *spec.IOLimit) any { return &io.WriteBps }),
			Help: "the same for writing"},
		{Name: "device-read-iops", Args: "PATH:RATE", Many: true, Files: true,
			Set:  l.ioFlag("read_iops", "1000", func(io *spec.IOLimit) any { return &io.ReadIOPS }),
			Help: "read operations a second"},
		{Name: "device-write-iops", Args: "PATH:RATE", Many: true, Files: true,
			Set:  l.ioFlag("write_iops", "1000", func(io *spec.IOLimit) any { return &io.WriteIOPS }),
			Help: "write operations a second"},
	}
}

// ioFlag returns the setter of --device-read-bps and similar flags: of returns the field. Those with the same path
// share one entry, as the kernel has one line for each device.
func (l limits) ioFlag(rate, example string, of func(*spec.IOLimit) any) func([]string) error {
	return func(v []string) (err error) {
		at := strings.LastIndexByte(v[0], ':')
		if at < 1 {
			return fmt.Errorf("%s has no rate; write PATH:RATE, as in /dev/sda:%s", words.Quote(v[0]), example)
		}
		path, text, zero := v[0][:at], v[0][at+1:], false
		i := l.device(path)
		switch to := of(&l.spec.Limits.IO[i]).(type) {
		case *nsjail.Bytes:
			*to, err = spec.ParseBytes(text)
			zero = *to == 0
		case *int64:
			err = cli.Whole(to, text, 0, math.MaxInt64, "is not a number of operations a second; write it as in /dev/sda:1000")
			zero = *to == 0
		}
		field := place("limits.io", i) + "." + rate
		switch {
		case err != nil:
			return err
		case zero:
			return fmt.Errorf("a rate of 0 would stop everything; write %s, or leave the flag out for no limit", example)
		case l.from.Of(field) != "":
			return fmt.Errorf("%s is given twice; keep one", words.Quote(path))
		}
		l.note(field)
		l.note("limits.io")
		return nil
	}
}

// device returns the index of a path's entry, which it adds if missing.
func (l limits) device(path string) int {
	list := l.spec.Limits.IO
	if i := slices.IndexFunc(list, func(io spec.IOLimit) bool { return io.Path == path }); i >= 0 {
		return i
	}
	l.note(place("limits.io", len(list)))
	l.spec.Limits.IO = append(list, spec.IOLimit{Path: path})
	return len(list)
}
