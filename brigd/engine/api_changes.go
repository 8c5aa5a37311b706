package engine

import "time"

// ChangeSet is what a run has changed in its copy of a share (mode cow). The share itself is unchanged until the set is
// applied.
type ChangeSet struct {
	// ID names the set in requests; "" if it could not be kept, for the reason in Error.
	ID string `json:"id,omitempty"`
	// Share, Path and Target are those of the mount.
	Share  string `json:"share"`
	Path   string `json:"path,omitempty"`
	Target string `json:"target,omitempty"`
	// Created is when the run ended.
	Created time.Time `json:"created,omitzero"`
	// Status is how it ended.
	Status string `json:"status,omitempty"`
	// Files is how many files have changed, and Added and Removed how many lines of text.
	Files   int `json:"files"`
	Added   int `json:"added"`
	Removed int `json:"removed"`
	// Bytes is the size of the files that are new or changed.
	Bytes int64 `json:"bytes"`
	// Dirs is how many directories were made, removed, or have another mode.
	Dirs int `json:"dirs,omitempty"`
	// LeftOut is how many files of the run the set does not hold, such as sockets. A run that has changed nothing else
	// has no ID.
	LeftOut int `json:"left_out,omitempty"`
	// CaptureUS is what the comparison took after the run, in microseconds.
	CaptureUS int64 `json:"capture_us,omitempty"`
	// Error is why the changes are lost, or that not all of them fit into the account's store.
	Error string `json:"error,omitempty"`
}

// ApplyRequest selects the changes to apply.
type ApplyRequest struct {
	// Paths are files and directories of the set; all if it is empty.
	Paths []string `json:"paths,omitempty"`
	// DryRun changes nothing, and only checks.
	DryRun bool `json:"dry_run,omitempty"`
}

// Applied is what was applied to a share.
type Applied struct {
	// Files is how many files were changed, or would be.
	Files int `json:"files"`
	// Dirs is how many directories were made, removed, or have another mode.
	Dirs int `json:"dirs,omitempty"`
	// Done is how many had these changes already.
	Done int `json:"done"`
	// Removed means that the set is gone, since the share has all of its changes.
	Removed bool `json:"removed"`
	// LeftBehind are the first paths in git directories that are no data, such as hooks, settings and links: only the
	// operator can apply these.
	LeftBehind []string `json:"left_behind,omitempty"`
}
