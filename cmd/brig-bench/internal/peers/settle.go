package peers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	settleTries = 200 // ten seconds
	settlePause = 50 * time.Millisecond
)

// pause waits a little for processes that are not ours to wait for.
func pause() { time.Sleep(settlePause) }

// settle waits for the processes that name a directory to end: what an engine leaves to clean up after itself.
func settle(dir string) error {
	var left []int
	for range settleTries {
		var err error
		if left, err = naming(dir); err != nil || len(left) == 0 {
			return err
		}
		pause()
	}
	return fmt.Errorf("processes %s still use %s", strings.Trim(fmt.Sprint(left), "[]"), dir)
}

// naming lists the processes, other than this one, whose command line has a path below dir, or whose environment has dir.
func naming(dir string) (pids []int, err error) {
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	for _, proc := range procs {
		// where one cannot be read the process has ended, or is another user's
		args, _ := os.ReadFile(proc + "/cmdline")
		env, _ := os.ReadFile(proc + "/environ")
		if !bytes.Contains(args, []byte(dir+"/")) && !bytes.Contains(append(env, 0), []byte("="+dir+"\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(proc)); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
