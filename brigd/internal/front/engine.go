package front

import (
	"context"
	"io"
	"io/fs"
	"net"
	"time"

	"brig/brigd/engine"
)

// Engine is what requests reach: an *engine.Engine, or one whose sandboxes are elsewhere. A caller sees the text of an
// error only if it is a *job.Refusal; others are internal errors.
type Engine interface {
	Runner
	Offers
	ChangeSets
	Boxes
	Snapshotter
	Processes
	Files
	FileTools
	FileSearch
	Ports
}

// Runner runs requests.
type Runner interface {
	Run(ctx context.Context, c engine.Caller, r *engine.Request, stream func(engine.Event)) *engine.Response
}

// Offers lists what a request may name.
type Offers interface {
	Languages() []engine.Language
	Images(c engine.Caller) []engine.ImageInfo
	Shares(c engine.Caller) []engine.ShareInfo
}

// ChangeSets has what runs have changed in copies of shares.
type ChangeSets interface {
	Changes(c engine.Caller) ([]engine.ChangeSet, error)
	DiffChanges(ctx context.Context, c engine.Caller, id string, paths []string) ([]byte, error)
	ApplyChanges(ctx context.Context, c engine.Caller, id string, r *engine.ApplyRequest) (*engine.Applied, error)
	DiscardChanges(c engine.Caller, id string) error
}

// Boxes makes, describes and deletes sandboxes.
type Boxes interface {
	CreateSandbox(ctx context.Context, c engine.Caller, r *engine.SandboxRequest) (*engine.SandboxInfo, error)
	Sandboxes(c engine.Caller) ([]engine.SandboxInfo, error)
	Sandbox(c engine.Caller, id string) (*engine.SandboxInfo, error)
	DeleteSandbox(c engine.Caller, id string) error
}

// Snapshotter makes, lists and deletes snapshots of sandboxes.
type Snapshotter interface {
	Snapshot(c engine.Caller, id string) (*engine.SnapshotInfo, error)
	Snapshots(c engine.Caller) ([]engine.SnapshotInfo, error)
	DeleteSnapshot(c engine.Caller, id string) error
}

// Processes has the processes of living sandboxes.
type Processes interface {
	LiveSandbox(ctx context.Context, c engine.Caller, id string, r *engine.BoxRequest) (*engine.SandboxInfo, error)
	StartProcess(ctx context.Context, c engine.Caller, id string, r *engine.ProcessRequest,
		attached context.Context) (*engine.ProcessInfo, error)
	Processes(c engine.Caller, id string) ([]engine.ProcessInfo, error)
	Process(c engine.Caller, id, name string) (*engine.ProcessInfo, error)
	ProcessOutput(ctx context.Context, c engine.Caller, id, name string, offset int64, wait time.Duration) (
		*engine.ProcessOutput, error)
	ProcessInput(ctx context.Context, c engine.Caller, id, name string, in io.Reader, eof bool) (int64, error)
	SignalProcess(c engine.Caller, id, name, signal string) error
	ResizeProcess(c engine.Caller, id, name string, size engine.TerminalSize) error
	DeleteProcess(c engine.Caller, id, name string) error
	FreezeSandbox(c engine.Caller, id string) error
	ThawSandbox(c engine.Caller, id string) error
}

// Files has the files of sandboxes.
type Files interface {
	PutFile(c engine.Caller, id, path string, r io.Reader, mode fs.FileMode) (*engine.FileInfo, error)
	GetFile(c engine.Caller, id, path string) (io.ReadCloser, *engine.FileInfo, error)
	PutTree(c engine.Caller, id, path string, r io.Reader) (*engine.TreeStats, error)
	GetTree(c engine.Caller, id, path string, w io.Writer, max int64) (*engine.TreeStats, error)
	ListFiles(c engine.Caller, id, path string, recursive bool, after string) ([]engine.FileInfo, bool, error)
	DeleteFile(c engine.Caller, id, path string) error
	Allowed(c engine.Caller, id, path string, write bool) (bool, error)
}

// FileTools changes single files of sandboxes where they are.
type FileTools interface {
	StatFile(c engine.Caller, id, path string) (*engine.FileInfo, error)
	MakeDir(c engine.Caller, id, path string, mode fs.FileMode) (*engine.FileInfo, error)
	MoveFile(c engine.Caller, id, from, to string, overwrite bool) (*engine.FileInfo, error)
	ChmodFile(c engine.Caller, id, path string, mode fs.FileMode) (*engine.FileInfo, error)
	EditFile(c engine.Caller, id, path string, edit *engine.Edit) (info *engine.FileInfo, replaced int, err error)
}

// FileSearch finds files of sandboxes, and lines in them, and watches them.
type FileSearch interface {
	GlobFiles(ctx context.Context, c engine.Caller, id, pattern, path string, max int) ([]engine.FileInfo, bool, error)
	GrepFiles(ctx context.Context, c engine.Caller, id string, g *engine.Grep) (*engine.Found, error)
	WatchFiles(ctx context.Context, c engine.Caller, id, path string, recursive bool,
		tell func([]engine.Notice) error) error
}

// Ports connects to servers in sandboxes.
type Ports interface {
	Ports(c engine.Caller, id string) ([]engine.PortInfo, error)
	OpenPort(c engine.Caller, id string, port int) error
	DialPort(ctx context.Context, c engine.Caller, id string, port int) (net.Conn, error)
}
