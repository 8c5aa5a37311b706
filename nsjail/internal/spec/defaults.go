package spec

import (
	"time"

	"brig/cgroup"
)

// The defaults of a jail. They are generous: they stop an accident, and the caller narrows them for an enemy.
const (
	DefaultWall        = Duration(time.Hour)
	DefaultGrace       = Duration(10 * time.Second) // Cmd.Stop
	DefaultCPUPeriod   = Duration(cgroup.DefaultPeriod)
	DefaultProcesses   = 1024
	DefaultTmpfsSize   = Bytes(256 << 20) // of each --tmpfs, and of /tmp, /work, /output, /home/brig and /dev/shm together
	DefaultTmpfsInodes = 65536            // likewise
	DefaultRootSize    = Bytes(1 << 30)
	DefaultCapture     = Bytes(8 << 20) // Command.Output and CombinedOutput, each stream
	DefaultUID         = 1000
	DefaultGID         = 1000
	DefaultHostname    = "brig"
	DefaultWorkdir     = "/work"
	DefaultHome        = "/home/brig"
	DefaultTerminals   = 64    // pseudo-terminals: the machine has some thousands (kernel.pty.max)
	DefaultInotify     = 32    // inotify(7) instances: the caller's user often has 128 for all that it runs
	DefaultWatches     = 16384 // inotify watches
	DefaultPath        = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// DefaultRlimits are set unless Limits.Rlimits names them. RLIMIT_AS and RLIMIT_FSIZE are not here, on purpose:
// they break Node.js, the JVM and WebAssembly. The rest keeps the hard limit of the caller.
//
// The kernel refuses to pass descriptors to a process whose user has more of them under way than its RLIMIT_NOFILE
// (unix(7), ETOOMANYREFS). Most programs have 1,024, and a payload can go beyond its own limit by one message, which is
// 253.
var DefaultRlimits = map[string]Rlimit{
	"core":       {1, 1}, // bytes; at 1 a crash starts no helper on the host: core(5), kernel.core_pattern
	"nofile":     {768, 768},
	"memlock":    {64 << 10, 64 << 10},
	"msgqueue":   {819200, 819200},
	"sigpending": {1024, 1024},
	"stack":      {8 << 20, 64 << 20},
	"nice":       {0, 0},
	"rtprio":     {0, 0},
}

// MaxFileCopy bounds what --file copies into a jail; a bind carries more.
const MaxFileCopy = 4 << 20

// maxData bounds what the contents of a Spec's mounts add to its program.
const maxData = 12 << 20
