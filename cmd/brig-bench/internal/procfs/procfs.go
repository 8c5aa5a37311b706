// Package procfs reads what the kernel says of memory: proc_meminfo(5), proc_pid_smaps(5), proc_pid_status(5).
package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Fields reads the lines "Name:   123 kB" and "Name:   123" of a file of /proc; other lines are passed over. A figure
// in kB is given in bytes.
func Fields(text []byte) map[string]int64 {
	fields := map[string]int64{}
	for line := range bytes.Lines(text) {
		name, rest, ok := strings.Cut(string(line), ":")
		words := strings.Fields(rest)
		if !ok || strings.ContainsAny(name, " \t") || len(words) == 0 || len(words) > 2 {
			continue
		}
		v, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil || len(words) == 2 && words[1] != "kB" {
			continue
		}
		if len(words) == 2 {
			v *= 1024
		}
		fields[name] = v
	}
	return fields
}

// Read gives the Fields of a file and fails where one that is wanted is not there.
func Read(path string, want ...string) (map[string]int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	fields := Fields(text)
	for _, name := range want {
		if _, ok := fields[name]; !ok {
			return nil, fmt.Errorf("%s has no field %s; this kernel is too old, or /proc is masked", path, name)
		}
	}
	return fields, nil
}

// Kernel is what the kernel holds for itself, in bytes.
type Kernel struct {
	Slab        int64 // of it Reclaimable can be had back, mostly
	Reclaimable int64
	Stacks      int64 // KernelStack: one for each thread
	PageTables  int64
	Percpu      int64
	Available   int64 // MemAvailable: what a new program could have
}

// Held is what a jail cannot give back: unreclaimable slab, stacks, page tables and per-processor memory.
func (k Kernel) Held() int64 { return k.Slab - k.Reclaimable + k.Stacks + k.PageTables + k.Percpu }

// ReadKernel reads /proc/meminfo.
func ReadKernel() (Kernel, error) {
	f, err := Read("/proc/meminfo", "Slab", "SReclaimable", "KernelStack", "PageTables", "MemAvailable")
	if err != nil {
		return Kernel{}, err
	}
	return Kernel{f["Slab"], f["SReclaimable"], f["KernelStack"], f["PageTables"], f["Percpu"], f["MemAvailable"]}, nil
}

// Size is what a process holds, in bytes.
type Size struct {
	// Share is its proportional share (PSS): a page of n processes counts as an nth.
	Share int64
	// Resident is all that it has in memory (RSS).
	Resident int64
	// Guessed says that the kernel does not tell this user the share, and that its private part (RssAnon) stands for it.
	Guessed bool
}

// ReadSize reads a process's size. That of a process that has ended is nothing.
func ReadSize(pid int) (Size, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	f, err := Read(dir+"/smaps_rollup", "Pss", "Rss")
	if err == nil {
		return Size{Share: f["Pss"], Resident: f["Rss"]}, nil
	}
	if Gone(err) {
		return Size{}, nil
	}
	if !errors.Is(err, fs.ErrPermission) {
		return Size{}, err
	}
	// a process that is not dumpable is root's (ptrace(2)): a jail's init, say
	if f, err = Read(dir + "/status"); err != nil {
		if Gone(err) {
			err = nil
		}
		return Size{}, err
	}
	return Size{Share: f["RssAnon"], Resident: f["VmRSS"], Guessed: true}, nil
}

// Gone says that the process has ended meanwhile.
func Gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}
