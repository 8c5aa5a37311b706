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
// During an Apply there are journal.json, and journal.log with its notes. A process that writes, applies or removes
// a set holds a lock on its directory (flock(2)). While a set is written or removed, the name of its directory
// begins with .new-. Such a directory without a lock was left by a killed process, and the next Capture or Expire
// removes it.
//
// # The way of a change
//
// Capture (capture.go) walks the upper directory of an overlay (overlayfs.rst of the kernel) beside its base
// (compare.go), reads the State of each file on both sides (state.go, open.go), and writes a set (store.go). Package
// layer packs the contents.
//
// Diff (diff.go, patch.go) shows a set. Apply (apply.go) repeats it on the base directory: it compares each file with
// the set and refuses all if one has changed (plan.go), writes a journal (journal.go), prepares all under temporary
// names (stage.go, put.go), and renames (commit.go). All read files.json for what has changed (read.go, manifest.go),
// and the layer for contents alone.
//
// # What is hostile
//
// The upper directory was written by the payload: its names, links, modes, sizes and bytes are hostile, and so is the
// content of a set. The base directory is the caller's, but others may change it at any time,
// and root may apply to the directory of somebody else. So everything is opened relative to a descriptor with
// openat2(2), RESOLVE_BENEATH, NO_SYMLINKS and NO_XDEV; a directory must be the same whenever Apply opens it; owners
// and modes are set by descriptors.
//
// # An Apply that fails or is killed
//
// An Apply divides its changes into units: names in directories that are there before and after it. A new directory
// is a unit with all that is in it, and so is one that is removed. What a unit needs is made first, with owner,
// attributes and mode, under a temporary name beside it, which has the journal's token. Then one rename for each
// unit exchanges the two (renameat2(2), RENAME_EXCHANGE), and the temporary name has what was there. Only when all
// have been renamed is that removed: so the old and the new content are both on the disk for a while.
//
// Until then undo.go can take everything back, after an error as well as after a kill: by the inodes that the notes
// have, it renames each unit back whose name still has what was prepared, and removes that. What the host has written
// meanwhile stays. The next Apply of a set that was killed does so, and begins anew under another token, since other
// processes may have taken the old names. If the notes tell that all was renamed, it removes what is left instead.
package changes
