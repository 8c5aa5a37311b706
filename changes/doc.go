// Package changes keeps what a run has written to a directory that it saw copy-on-write, until somebody has looked at
// it.
//
// # A change set
//
// A set is a directory of the store (Open) with three files:
//
//	set.json    when, where and by what command it was made, counts, and the digests of the other two; its own
//	            SHA-256 is the set's id, so that an id stands for every byte of the set
//	files.json  a line (File) for each changed file: the base directory's file as it was (Old), and the run's (New)
//	layer.tar   an OCI layer: contents, and whiteouts for what was deleted
//
// During an Apply there is a fourth file, journal.json. A process that writes, applies or removes a set holds a lock on
// its directory (flock(2)). While a set is written or removed, the name of its directory begins with .new-. Such a
// directory without a lock was left by a killed process, and the next Capture or Expire removes it.
//
// # The way of a change
//
// Capture (capture.go) walks the upper directory of an overlay (overlayfs.rst of the kernel) beside its base
// (compare.go), reads the State of each file on both sides (state.go, open.go), and writes a set (store.go). Package
// layer packs the contents.
//
// Diff (diff.go, patch.go) shows a set. Apply (apply.go) repeats it on the base directory: it compares each file with
// the set and refuses all if one has changed (plan.go), writes a journal (journal.go), and changes one file after the
// other (perform.go, put.go). All read files.json for what has changed (read.go, manifest.go), and the layer for
// contents alone.
//
// # What is hostile
//
// The upper directory was written by the payload: its names, links, modes, sizes and bytes are hostile, and so is the
// content of a set. The base directory is the caller's, but others may change it at any time,
// and root may apply to the directory of somebody else. So everything is opened relative to a descriptor with
// openat2(2), RESOLVE_BENEATH, NO_SYMLINKS and NO_XDEV; a directory must be the same whenever Apply opens it; owners
// and modes are set by descriptors.
//
// # An Apply that is killed
//
// Each step is a rename within one directory, from or to a temporary name with the journal's token, and the next Apply
// finishes what is in the journal. It first removes the files with the temporary names, or renames one back if the host
// had written it, and then compares again: a file as the set wants it is done, one as the run found it is changed, and
// any other is the host's and refused. It uses temporary names with a new token, since other processes may have taken
// the old ones.
package changes
