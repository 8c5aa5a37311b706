package engine

import (
	"time"

	"brig/brigd/workspace"
)

// SandboxRequest asks for a work area: /input (read-only in the jail), /work and /output, kept from run to run.
type SandboxRequest struct {
	// Agent owns the sandbox, if no token names the agent.
	Agent string `json:"agent_id,omitempty"`
	// Disk is how many bytes it may hold, in memory.
	Disk Size `json:"disk,omitempty"`
	// Inodes is how many files and directories it may have.
	Inodes int64 `json:"inodes,omitempty"`
	// TTL is how long it lives without being used.
	TTL Seconds `json:"ttl,omitempty"`
	// From is the id of a snapshot, whose files it has to begin with, and whose bounds unless Disk and Inodes name others.
	From string `json:"from,omitempty"`
	// Files are put below /input to begin with.
	Files map[string]File `json:"files,omitempty"`
	// Mounts are directories of the operator's that each run in it shows.
	Mounts []Mount `json:"mounts,omitempty"`
	// Living makes it a box whose processes go on between calls. What one command leaves, files and processes, the next
	// one finds: no run in it starts clean. It is kept in memory only.
	Living bool `json:"living,omitempty"`
	BoxRequest
}

// BoxRequest has the settings of the box of a living sandbox.
type BoxRequest struct {
	// Image is the root instead of the machine's /usr: one of Engine.Images.
	Image string `json:"image,omitempty"`
	// Network is what may be reached: rules like "example.org:443", none if it is empty.
	Network []string `json:"network,omitempty"`
	// Memory and CPUs are what all of its processes may hold and get together.
	Memory Size    `json:"memory,omitempty"`
	CPUs   float64 `json:"cpus,omitempty"`
	// Env are environment variables of all of its processes.
	Env map[string]string `json:"env,omitempty"`
}

// SandboxInfo describes one.
type SandboxInfo struct {
	// ID names it in requests; it cannot be guessed.
	ID string `json:"id"`
	// Agent owns it: others do not see it.
	Agent string `json:"agent_id"`
	// Created is when it was made.
	Created time.Time `json:"created"`
	// Expires is when it ends if nothing uses it until then.
	Expires time.Time `json:"expires"`
	// Disk is how many bytes it may hold.
	Disk int64 `json:"disk_bytes"`
	// Used is how many it holds.
	Used int64 `json:"disk_used_bytes"`
	// Inodes is how many files and directories it may have.
	Inodes int64 `json:"inodes"`
	// UsedIno is how many it has.
	UsedIno int64 `json:"inodes_used"`
	// Running is how many runs are in it now.
	Running int `json:"running"`
	// Mounts are directories of the operator's that each run in it shows.
	Mounts []Mount `json:"mounts,omitempty"`
	// SaveEvery is how often brigd saves it if it has changed, in seconds: what was written since Saved is lost if brigd
	// is killed. Left out if it is kept in memory only, and lost then whenever brigd ends.
	SaveEvery Seconds `json:"save_every,omitempty"`
	// Saved is a time at which all of it was on the disk or in a save that has succeeded; left out before the first. It
	// goes on with every SaveEvery, also when nothing changes.
	Saved *time.Time `json:"saved,omitempty"`
	// NotSaved is why the last attempt failed; left out if it has not.
	NotSaved string `json:"not_saved,omitempty"`
	// Living is the box of a living sandbox; left out of others.
	Living *Life `json:"living,omitempty"`
}

// FileInfo is one entry of a sandbox.
type FileInfo = workspace.Entry

// SnapshotInfo describes a snapshot: the files of a sandbox at some moment.
type SnapshotInfo struct {
	// ID names it in a SandboxRequest; it cannot be guessed.
	ID string `json:"id"`
	// Agent owns it: others do not see it.
	Agent string `json:"agent_id"`
	// Sandbox is whose files it has.
	Sandbox string `json:"sandbox"`
	// Created is when it was made.
	Created time.Time `json:"created"`
	// Bytes is how many it takes, which count like those of a sandbox.
	Bytes int64 `json:"bytes"`
	// Files is how many files and directories it has.
	Files int64 `json:"files"`
	// Disk and Inodes are the bounds of the sandbox, and of one made from it that names none.
	Disk   int64 `json:"disk_bytes"`
	Inodes int64 `json:"inodes"`
	// State is what it shows of runs: "idle" (none was in the sandbox), "frozen" (all stood still, so it is one moment),
	// or "live": each file has what it had at some moment, but not all the same.
	State string `json:"state"`
	// LeftOut is what a snapshot does not keep: FIFOs, sockets, set-user-ID bits, names below 256 directories.
	LeftOut string `json:"left_out,omitempty"`
}

// TreeStats sums what was written by PutTree, or read by GetTree.
type TreeStats = workspace.TreeStats

// Language is one that works here.
type Language struct {
	Name    string `json:"language"`
	Version string `json:"version"`
	Path    string `json:"path"`
}
