package wish

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// mountOptions reads size=, inodes= and the option of this type of mount.
func mountOptions(m *nsjail.Mount, options, own string) error {
	for option := range strings.SplitSeq(options, ",") {
		if err := mountOption(m, option, own); err != nil {
			return err
		}
	}
	return nil
}

func mountOption(m *nsjail.Mount, option, own string) error {
	name, value, has := strings.Cut(option, "=")
	switch name {
	case "noexec":
		if m.NoExec = true; has || m.Type != nsjail.MountTmpfs {
			return errors.New("noexec is an option of a tmpfs, without a value; write it alone, or leave it out")
		}
		return nil
	case "size":
		return setSize(&m.Size, value, "size=64m")
	case "inodes", "nr_inodes":
		return setInodes(&m.Inodes, value)
	case own:
		if value == "" {
			return fmt.Errorf("%s is empty; write it as in %s", own, map[string]string{"mode": "mode=1777",
				"store": "store=disk"}[own])
		}
		*map[string]*string{"mode": &m.Mode, "store": &m.Store}[own] = value
		return nil
	}
	fix := "write size=, inodes= or " + own + "="
	if near := words.Nearest(name, []string{"size", "inodes", own}); near != "" {
		fix = "did you mean " + near + "=?"
	}
	return fmt.Errorf("%s is not an option of a %s; %s", words.Quote(option), m.Type, fix)
}

func setSize(to *nsjail.Bytes, value, example string) (err error) {
	if *to, err = spec.ParseBytes(value); err == nil && *to == 0 {
		err = errors.New("size 0 holds nothing; write a size, as in " + example)
	}
	return err
}

func setInodes(to *int64, value string) error {
	if err := cli.Whole(to, value, 1, math.MaxInt64, "is not a number of files; write it as in inodes=1000"); err != nil {
		return fmt.Errorf("inodes %w", err)
	}
	return nil
}
