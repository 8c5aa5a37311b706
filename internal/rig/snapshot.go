package rig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Snapshot is the state of a network namespace: sorted lines by section.
type Snapshot map[string][]string

// TakeSnapshot reads the calling process's network namespace: interfaces, addresses, routes, rules, net sysctls, and on
// demand listeners. (The real host's listeners may change for other reasons.)
func TakeSnapshot(listeners bool) (Snapshot, error) {
	s := Snapshot{}
	for _, command := range []string{"ip -o link", "ip -o addr", "ip -4 route show table all",
		"ip -6 route show table all", "ip -4 rule", "ip -6 rule", "nft list ruleset"} {
		args := strings.Fields(command)
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
		out, err := cmd.Output()
		if err != nil && args[0] == "ip" { // nft may be missing, or forbidden
			return nil, fmt.Errorf("%s: %w", command, err)
		}
		for line := range strings.Lines(string(out)) {
			s.add(command, timeless(line))
		}
	}
	if listeners {
		for _, proto := range []string{"tcp", "tcp6", "udp", "udp6", "raw", "raw6"} {
			if err := s.listeners(proto); err != nil {
				return nil, err
			}
		}
	}
	err := s.sysctls()
	for _, lines := range s {
		slices.Sort(lines)
	}
	return s, err
}

func (s Snapshot) add(section, line string) { s[section] = append(s[section], line) }

// timeless drops the fields that count down.
func timeless(line string) string {
	fields := strings.Fields(line)
	for i := len(fields) - 2; i >= 0; i-- {
		if f := fields[i]; f == "valid_lft" || f == "preferred_lft" || f == "expires" {
			fields = slices.Delete(fields, i, i+2)
		}
	}
	return strings.Join(fields, " ")
}

// listeners adds the listening sockets, without their inode numbers.
func (s Snapshot) listeners(proto string) error {
	text, err := os.ReadFile("/proc/thread-self/net/" + proto)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no IPv6
	}
	for i, line := range strings.Split(string(text), "\n") {
		f := strings.Fields(line)
		if i == 0 || len(f) < 4 || strings.HasPrefix(proto, "tcp") && f[3] != "0A" || strings.HasPrefix(proto, "udp") &&
			f[3] != "07" {
			continue
		}
		s.add("listeners", proto+" "+f[1])
	}
	return err
}

// moving are the net sysctls that change by themselves: counters, and keys that the kernel makes on first use.
var moving = []string{"nf_conntrack_count", "tcp_fastopen_key", "nf_conntrack_max", "nf_conntrack_buckets"}

func (s Snapshot) sysctls() error {
	return filepath.WalkDir("/proc/sys/net", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || slices.Contains(moving, filepath.Base(path)) {
			return nil // also on errors: an interface's directory may have just gone
		}
		if text, err := os.ReadFile(path); err == nil { // some can only be written
			s.add("sysctls", strings.TrimPrefix(path, "/proc/sys/")+" = "+string(bytes.TrimSpace(text)))
		}
		return nil
	})
}

// Diff returns the lines that are not in both, with - and +, or "" if the two are equal.
func (s Snapshot) Diff(later Snapshot) string {
	var out []string
	all := maps.Clone(s)
	maps.Copy(all, later)
	for _, section := range slices.Sorted(maps.Keys(all)) {
		for _, line := range s[section] {
			if !slices.Contains(later[section], line) {
				out = append(out, "- "+section+": "+line)
			}
		}
		for _, line := range later[section] {
			if !slices.Contains(s[section], line) {
				out = append(out, "+ "+section+": "+line)
			}
		}
		if len(out) == 0 && len(s[section]) != len(later[section]) {
			out = append(out, fmt.Sprintf("%s: %d lines became %d", section, len(s[section]), len(later[section])))
		}
	}
	return strings.Join(out, "\n")
}
