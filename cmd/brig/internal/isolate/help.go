package isolate

import (
	"os"
	"path/filepath"
	"strings"

	"brig/internal/cli"
	"brig/internal/sys"
)

// printGroup returns the directory of the control group below which those of boxes are made.
func printGroup(c *Config) string {
	if c.Group != "" {
		return c.Group
	}
	data, err := sys.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "/sys/fs/cgroup"
	}
	for line := range strings.Lines(string(data)) {
		if own, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			top := "/sys/fs/cgroup"
			if _, err := os.Stat(top + "/unified/cgroup.procs"); err == nil {
				top += "/unified"
			}
			return filepath.Join(top, own)
		}
	}
	return "/sys/fs/cgroup"
}

func help() string {
	return "Usage: isolate [OPTION...] --init|--cleanup\n" +
		"       isolate [OPTION...] --run -- PROGRAM [ARG...]\n\n" +
		"This is brig " + cli.Version + " with the options, meta files and exit codes of isolate " + Version + ".\n" +
		"/usr/share/doc/brig/docs/isolate.md says what differs.\n\nOptions:\n" + optionList()
}

func optionList() string {
	var b strings.Builder
	for _, o := range options() {
		b.WriteString("  ")
		if o.short != 0 {
			b.WriteString("-" + string(rune(o.short)) + ", ")
		} else {
			b.WriteString("    ")
		}
		b.WriteString("--" + o.long + map[takes]string{value: "=VALUE", perhaps: "[=VALUE]"}[o.takes] + "\n")
	}
	return b.String()
}
