package spec

import (
	"time"

	"brig/cgroup"
)

// The defaults of a jail. They are generous: they contain an accident. A caller that expects an attack narrows them.
const (
	DefaultWall        = Duration(time.Hour)
	DefaultGrace       = Duration(10 * time.Second) // Cmd.Stop
	DefaultCPUPeriod   = Duration(cgroup.DefaultPeriod)
	DefaultProcesses   = 1024
	DefaultTmpfsSize   = Bytes(256 << 20) // of each --tmpfs, and of /tmp, /work, /output, /home/brig and /dev/shm together
	DefaultTmpfsInodes = 65536            // likewise
	DefaultRootSize    = Bytes(1 << 30)
	DefaultRootInodes  = 1 << 20
	DefaultCOWSize     = Bytes(1 << 30) // of the changes of each cow
	DefaultCOWInodes   = 1 << 18        // likewise; a file of a tmpfs takes about a kilobyte of the kernel's memory
	DefaultCapture     = Bytes(8 << 20) // Cmd.Output and Cmd.CombinedOutput, for each stream
	DefaultUID         = 1000
	DefaultGID         = 1000
	DefaultHostname    = "brig"
	DefaultWorkdir     = "/work"
	DefaultHome        = "/home/brig"
	DefaultTerminals   = 64    // pseudo-terminals: a machine has a few thousand (kernel.pty.max)
	DefaultInotify     = 32    // inotify(7) instances: the caller's user often has 128 in all
	DefaultWatches     = 16384 // inotify watches
	DefaultPath        = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// DefaultRlimits are the resource limits for which Limits.Rlimits has no entry. RLIMIT_AS and RLIMIT_FSIZE are omitted
// on purpose: they break Node.js, the JVM and WebAssembly. All other resources keep the caller's hard limit.
//
// nofile: the kernel refuses to pass descriptors to a process whose user has more of them in flight than its
// RLIMIT_NOFILE (unix(7), ETOOMANYREFS). For most programs of the host that limit is 1,024. A payload can exceed its
// own limit by one message, which is 253 descriptors. A payload whose uid no program of the host has gets OwnFiles.
//
// msgqueue: two queues of the default size (mq_overview(7)), of the nine that the kernel counts for the user.
var DefaultRlimits = map[string]Rlimit{
	"core":       {1, 1}, // bytes; with 1, a crash starts no helper on the host: core(5), kernel.core_pattern
	"nofile":     {768, 768},
	"memlock":    {64 << 10, 64 << 10},
	"msgqueue":   {172032, 172032},
	"sigpending": {1024, 1024},
	"stack":      {8 << 20, 64 << 20},
	"nice":       {0, 0},
	"rtprio":     {0, 0},
}

// OwnFiles is the limit on open files of a payload that has a uid of its own on the host.
var OwnFiles = Rlimit{1024, 4096}

// MaxFileCopy is the largest file that --file copies into a jail, in bytes. A bind has no such limit.
const MaxFileCopy = 4 << 20

// maxData is the total size of the contents of a Spec's mounts, in bytes. They become part of its program.
const maxData = 12 << 20
