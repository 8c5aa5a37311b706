// Command compare times `brig run -- /bin/true` against bubblewrap making the same jail: the same namespaces, a
// read-only /usr, /proc and its masks, /dev, files of /etc, a tmpfs on each writable directory, a new session, no environment, no capabilities, lo
// up, and brig's own default filter. The two alternate, so that whatever else the machine does meets both alike.
//
//	compare [-rounds N] [-warm N] BRIG
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"brig/nsjail"
)

func main() {
	rounds := flag.Int("rounds", 200, "how often to run each")
	warm := flag.Int("warm", 10, "rounds that are not counted")
	flag.Parse()
	if flag.NArg() != 1 || *rounds < 1 || *warm < 0 {
		fmt.Fprintln(os.Stderr, "compare: usage: compare [-rounds N] [-warm N] BRIG")
		os.Exit(2)
	}
	if err := compare(os.Stdout, flag.Arg(0), *rounds, *warm); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// contender is a command that is timed.
type contender struct {
	name string
	args []string
	file string // what it gets as descriptor 3: bubblewrap reads the filter to its end each time
	took []time.Duration
}

func compare(w io.Writer, brig string, rounds, warm int) error {
	all, err := contenders(brig)
	if err != nil {
		return err
	}
	for i := range warm + rounds {
		for k := range all {
			c := &all[(k+i)%len(all)] // each goes first equally often
			d, err := c.time()
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if i >= warm {
				c.took = append(c.took, d)
			}
		}
	}
	return table(w, all)
}

func contenders(brig string) ([]contender, error) {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, fmt.Errorf("%w; install the package bubblewrap", err)
	}
	return []contender{
		{name: "bare /bin/true", args: []string{"/bin/true"}},
		{name: "bubblewrap, same mounts", args: bubblewrap(bwrap, true), file: "seccomp/default_amd64.bpf"},
		{name: "bubblewrap, fewer", args: bubblewrap(bwrap, false), file: "seccomp/default_amd64.bpf"},
		{name: "brig run --no-init", args: []string{brig, "run", "--no-init", "--", "/bin/true"}},
		{name: "brig run", args: []string{brig, "run", "--", "/bin/true"}},
	}, nil
}

// sameMounts are what brig's root has beside the directories: its files of /etc and its masks of /proc.
func sameMounts() (args []string) {
	for _, name := range []string{"passwd", "group", "hosts", "hostname", "nsswitch.conf", "services", "protocols", "ssl/openssl.cnf"} {
		args = append(args, "--ro-bind-try", "/etc/"+name, "/etc/"+name)
	}
	hidden, readOnly := nsjail.Masks()
	for _, name := range hidden {
		st, err := os.Stat("/proc/" + name)
		switch {
		case err != nil:
		case st.IsDir():
			args = append(args, "--tmpfs", "/proc/"+name, "--remount-ro", "/proc/"+name)
		default:
			args = append(args, "--ro-bind", "/dev/null", "/proc/"+name)
		}
	}
	for _, name := range readOnly {
		args = append(args, "--ro-bind-try", "/proc/"+name, "/proc/"+name)
	}
	return args
}

// bubblewrap gives its command line for a jail with the same directories, or with all the mounts that brig's has. Its
// own init (pid 1) is on by default, like brig's.
func bubblewrap(bwrap string, same bool) []string {
	args := []string{bwrap, "--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--hostname", "brig",
		"--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv",
		"--setenv", "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "--setenv", "HOME", "/work",
		"--ro-bind", "/usr", "/usr"}
	for _, name := range []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"} {
		if to, err := os.Readlink("/" + name); err == nil {
			args = append(args, "--symlink", to, "/"+name)
		} else {
			args = append(args, "--ro-bind-try", "/"+name, "/"+name)
		}
	}
	for _, name := range []string{"ld.so.cache", "alternatives", "ssl/certs"} {
		args = append(args, "--ro-bind-try", "/etc/"+name, "/etc/"+name)
	}
	args = append(args, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/dev/shm")
	for _, dir := range []string{"/tmp", "/work", "/output"} {
		args = append(args, "--tmpfs", dir)
	}
	if same {
		args = append(args, sameMounts()...)
	}
	return append(args, "--remount-ro", "/", "--chdir", "/work", "--seccomp", "3", "--", "/bin/true")
}

func (c *contender) time() (d time.Duration, err error) {
	cmd := exec.Command(c.args[0], c.args[1:]...)
	cmd.Stderr = os.Stderr
	if c.file != "" {
		f, err := os.Open(c.file)
		if err != nil {
			return 0, fmt.Errorf("%w; start it from the top of the source tree", err)
		}
		defer f.Close()
		cmd.ExtraFiles = []*os.File{f}
	}
	start := time.Now()
	err = cmd.Run()
	return time.Since(start), err
}

// table prints the medians, the quartiles, and the median of the ratio to bubblewrap within each round.
func table(w io.Writer, all []contender) error {
	base := all[1].took
	if _, err := fmt.Fprintf(w, "%-24s %9s %9s %9s  %s\n", "", "median", "quartile", "quartile", "x bubblewrap, paired"); err != nil {
		return err
	}
	for _, c := range all {
		ratios := make([]float64, len(c.took))
		for i := range c.took {
			ratios[i] = float64(c.took[i]) / float64(base[i])
		}
		if _, err := fmt.Fprintf(w, "%-24s %6.2f ms %6.2f ms %6.2f ms  %.2f\n", c.name, millis(quantile(c.took, 2)),
			millis(quantile(c.took, 1)), millis(quantile(c.took, 3)), quantile(ratios, 2)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%d rounds, interleaved\n", len(base))
	return err
}

// quantile is the q-th quartile.
func quantile[T time.Duration | float64](values []T, q int) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)*q/4]
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
