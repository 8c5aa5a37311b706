package peers

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"brig/nsjail"
)

// The limits of a Limited job. The command lines of table.go have them in each tool's own words.
const (
	limitMemory    = 64 << 20
	limitCPUs      = 1
	limitProcesses = 64
	limitWall      = 30 * time.Second
)

// Target is the path at which a jail shows the file Job.Show.
const Target = "/brig-bench"

// Job is the payload of a jail.
type Job struct {
	Args    []string // the command by its absolute path in the jail, which has the host's /usr
	Limited bool     // in a control group with limits, of tools that take them; brig makes none otherwise
	Show    string   // a file of the host that the jail has at Target, read-only; "" for none
	// Dir has directories input, work and output, which the jail has at /input, read-only, /work and /output. Such a job
	// has a limit on the wall clock, too, where the tool has one; "" for none.
	Dir string
}

// jobDirs are the directories of Job.Dir.
var jobDirs = []string{"input", "work", "output"}

// outside returns the job's command where nothing is bound: what the jail is shown by its path on the host.
func (j Job) outside() (args []string) {
	for _, arg := range j.Args {
		parts := strings.SplitN(arg, "/", 3) // "", "input", ...
		switch {
		case arg == Target:
			arg = j.Show
		case j.Dir != "" && len(parts) > 1 && parts[0] == "" && slices.Contains(jobDirs, parts[1]):
			arg = j.Dir + arg
		}
		args = append(args, arg)
	}
	return args
}

// scratch returns the writable directories of a jail that are each a tmpfs for tools that cannot share one.
func (j Job) scratch() []string {
	return slices.DeleteFunc(slices.Clone(scratch), func(name string) bool {
		return j.Dir != "" && (name == "/work" || name == "/output")
	})
}

// specOf returns a job as the library takes it.
func specOf(j Job) nsjail.Spec {
	s := nsjail.Spec{Args: j.Args}
	if j.Limited {
		s.Limits.Memory, s.Limits.CPUs, s.Limits.Processes = limitMemory, limitCPUs, limitProcesses
	}
	if j.Show != "" {
		s.Mounts = []nsjail.Mount{{Type: nsjail.MountBind, Source: j.Show, Target: Target}}
	}
	if j.Dir != "" {
		s.Limits.Wall = nsjail.Duration(limitWall)
		for _, name := range jobDirs {
			s.Mounts = append(s.Mounts, nsjail.Mount{Type: nsjail.MountBind, Source: filepath.Join(j.Dir, name),
				Target: "/" + name, Writable: name != "input"})
		}
	}
	return s
}
