package workspace

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"brig/brigd/job"

	"golang.org/x/sys/unix"
)

// Codes of this package's Refusals, whose Layer is "sandbox".
const (
	CodeBadPath    = "bad_path"             // empty, or contains ".."
	CodeOutside    = "outside_sandbox"      // not below /input, /work or /output, or leads out of them
	CodeNotFound   = "not_found"            // missing file, or sandbox unknown, expired, deleted or of another agent
	CodeSymlink    = "symlink"              // a symbolic link is on the way
	CodeNotRegular = "not_a_regular_file"   // a FIFO, device or socket
	CodeNotDir     = "not_a_directory"      //
	CodeIsDir      = "is_a_directory"       //
	CodePermission = "permission_denied"    // the mode of a file or of a directory above it
	CodeDiskFull   = "disk_full"            // the quota of bytes or inodes
	CodeTooLarge   = "too_large"            // more bytes than the caller's bound
	CodeBadTree    = "bad_archive"          // no tar archive
	CodeTooMuch    = "too_much_work"        // more entries or time than one call may take
	CodeExists     = "exists"               // the new path of a file is another file's
	CodeBadPattern = "bad_pattern"          // of names, or of lines
	CodeWatches    = "too_many_watches"     // of one sandbox, or of this machine
	CodeNoText     = "text_not_found"       // the text to replace is not in the file
	CodeManyTexts  = "text_not_unique"      // the text to replace is in the file more than once
	CodeBusy       = "busy"                 // being changed, or the program ends
	CodeBadAgent   = "bad_agent"            // not a valid agent name
	CodeBadOption  = "bad_option"           // a quota or TTL out of bounds
	CodeTooMany    = "too_many_sandboxes"   // of one agent, or of all
	CodeTooBig     = "out_of_sandbox_space" // the sum of all quotas is too large
)

// next holds the next steps for each code.
var next = map[string][]string{
	CodeBadPath: {"Give an absolute path below /input, /work or /output, or one relative to /work, without \"..\"."},
	CodeOutside: {"Only files below /input, /work and /output can be reached from outside of a run; copy what you " +
		"need to /output in a run."},
	CodeNotFound:   {"List the directory, or the sandboxes, to see what there is."},
	CodeSymlink:    {"Name the file that the link leads to."},
	CodeNotRegular: {"Copy its content to a regular file in a run."},
	CodeNotDir:     {"List the directory above to see what there is."},
	CodeIsDir:      {"Name a file in it, or list it."},
	CodePermission: {"Change the mode of the file, or of the directories above it, with chmod in a run."},
	CodeDiskFull:   {"Delete files, or create a sandbox with a larger quota."},
	CodeTooLarge:   {"Split the file into smaller ones, or make it smaller."},
	CodeBadTree:    {"Send the archive as tar writes it, not compressed."},
	CodeTooMuch:    {"Call it again: what has been done stays done.", "If a run keeps changing the files, end it first."},
	CodeExists:     {"Choose another path, or set overwrite, which replaces a file or an empty directory."},
	CodeBadPattern: {"Names: *, ?, [a-z], {a,b}, and ** for any directories, as in **/*.go. Lines: the syntax of RE2."},
	CodeWatches:    {"End a watch that is not needed any more: close its connection."},
	CodeNoText:     {"Read the file, and give the text exactly as it is there, with its spaces and line ends."},
	CodeManyTexts:  {"Give more of the lines around it, so that it occurs once, or set all."},
	CodeBusy:       {"Try again when the runs in the sandbox have ended."},
	CodeBadAgent: {"Use letters, digits and . _ : @ - for an agent, at most " + strconv.Itoa(maxAgent) +
		" of them, and begin with a letter or digit."},
	CodeBadOption: {"Ask for less, or leave it out and take the default."},
	CodeTooMany:   {"Delete a sandbox that is not needed any more, or wait until one expires."},
	CodeTooBig:    {"Delete a sandbox that is not needed any more, or ask for a smaller quota."},
}

func refuse(code, format string, a ...any) *job.Refusal {
	return &job.Refusal{Message: fmt.Sprintf(format, a...) + ".", Code: code, Layer: "sandbox", NextSteps: next[code]}
}

// show quotes a path for a message, and shortens it.
func show(path string) string {
	const most = 200
	if len(path) > most {
		return strconv.Quote(path[:most]) + "…"
	}
	return strconv.Quote(path)
}

// gone returns the Refusal for a sandbox that ends during an operation.
func gone() *job.Refusal {
	return refuse(CodeNotFound, "The sandbox is gone: it was deleted or has expired")
}

// explain converts a system call's error about a path to a Refusal. Other errors are returned as errors.
func explain(do string, p place, err error) error {
	if r, ok := errors.AsType[*job.Refusal](err); ok {
		return r
	}
	if errors.Is(err, os.ErrClosed) {
		return gone()
	}
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return fmt.Errorf("sandbox: %s %s: %w", do, show(p.String()), err)
	}
	name := show(p.String())
	switch errno {
	case unix.ENOENT:
		return refuse(CodeNotFound, "There is no %s in the sandbox", name)
	case unix.ELOOP:
		return refuse(CodeSymlink, "%s is or passes through a symbolic link, which is not followed from outside of a run",
			name)
	case unix.EXDEV:
		return refuse(CodeOutside, "%s leads out of the sandbox", name)
	case unix.ENOTDIR:
		return refuse(CodeNotDir, "%s, or what stands before a slash in it, is not a directory", name)
	case unix.EISDIR:
		return refuse(CodeIsDir, "%s is a directory", name)
	case unix.ENAMETOOLONG:
		return refuse(CodeBadPath, "%s is too long", name)
	case unix.EACCES, unix.EPERM:
		return refuse(CodePermission, "The mode of %s, or of a directory above it, does not allow to %s it", name, do)
	case unix.ENOSPC, unix.EDQUOT:
		return refuse(CodeDiskFull, "The sandbox is full: its quota of bytes or of inodes does not allow to %s %s", do, name)
	case unix.ENXIO, unix.ENODEV:
		return refuse(CodeNotRegular, "%s is a FIFO, a socket or a device", name)
	case unix.EAGAIN, unix.EBUSY, unix.ENOTEMPTY, unix.EEXIST:
		return refuse(CodeBusy, "%s is being changed by a run in the sandbox (%v)", name, errno)
	}
	return fmt.Errorf("sandbox: %s %s: %w", do, name, err)
}
