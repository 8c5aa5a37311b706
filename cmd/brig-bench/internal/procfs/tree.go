package procfs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Parents gives the parent of each process that is visible.
func Parents() (map[int]int, error) {
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	parents := map[int]int{}
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(name))
		if err != nil {
			continue
		}
		text, err := os.ReadFile(name + "/stat")
		if Gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if parents[pid], err = parent(text); err != nil {
			return nil, fmt.Errorf("%s/stat: %w", name, err)
		}
	}
	return parents, nil
}

// parent is the fourth field of proc_pid_stat(5), the second after the command's closing parenthesis: a command may
// have parentheses of its own.
func parent(stat []byte) (int, error) {
	_, rest, ok := strings.Cut(string(stat[max(0, bytes.LastIndexByte(stat, ')')):]), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 2 {
		return 0, fmt.Errorf("%.100q is not what proc_pid_stat(5) describes", stat)
	}
	return strconv.Atoi(fields[1])
}

// Below gives roots and all their descendants, each once.
func Below(parents map[int]int, roots ...int) map[int]bool {
	in := map[int]bool{}
	for _, r := range roots {
		in[r] = true
	}
	for more := true; more; {
		more = false
		for pid, p := range parents {
			if in[p] && !in[pid] {
				in[pid], more = true, true
			}
		}
	}
	return in
}
