// Package gitdata knows which files of a git directory are data, and which make git(1) execute or read something else:
// gitrepository-layout(5). What a payload has written there comes to the host by this list alone: by the type and the
// name of a file, and for references by their text.
//
// A payload must not be able to make a git directory invalid either. git would look for another one then, and take the
// top of the work tree for it if the payload has put the files of a bare repository there, with settings of its own. So
// HEAD is never removed and always valid, and the directories refs and objects stay.
package gitdata

import (
	"slices"
	"strings"
)

// Kind is what a file of a git directory is.
type Kind int

// The kinds, in the order in which they come to the host: whoever is killed in between leaves a valid repository.
const (
	Other  Kind = iota // makes git do something, or is not known: it stays behind
	Noise              // a lock, a cache or a temporary file: it stays behind, and nobody misses it
	Object             // named by what it contains; no file of the host's is replaced
	Index              // of the packs: objects/pack/multi-pack-index
	Ref                // a reference, the log of one, or a list of them
	Head               // HEAD, index, and the files of an operation
	Named              // what the caller has named beyond the list
)

// IsData reports whether a kind comes to the host.
func (k Kind) IsData() bool { return k >= Object }

// Text is what the content of a file has to be: see Bad.
type Text int

// The texts that Bad and BadIndex check.
const (
	Any       Text = iota
	Reference      // a hash, or "ref: NAME"
	ValidHead      // the same, and nothing else
	Tables         // names of tables of references, a line each
	Names          // an index: BadIndex
)

// Place is a path in a git directory.
type Place struct {
	Kind Kind
	// Name is the path, or a directory above it that stays behind as a whole.
	Name string
	Text Text
	// Keep means that the path is never removed.
	Keep bool
}

// Of returns what a path of a git directory is, which has neither "." nor ".." and no slash at either end. known
// reports whether the host has a git directory at a path below it: what is in one of modules or worktrees that the
// payload has made stays behind.
func Of(path string, known func(dir string) bool) Place {
	dir, rest := within(path, known)
	p := of(rest)
	p.Name = join(dir, p.Name)
	return p
}

// within returns the innermost git directory of the host that a path is in, "" for the outer one, and the rest.
func within(path string, known func(string) bool) (dir, rest string) {
	for rest = path; ; {
		first, below, _ := strings.Cut(rest, "/")
		if first != "worktrees" && first != "modules" {
			return dir, rest
		}
		inner, after := "", ""
		for at := range len(below) { // the name of a submodule may have slashes, that of a worktree has none
			if below[at] == '/' && known(join(dir, first+"/"+below[:at])) {
				inner, after = join(dir, first+"/"+below[:at]), below[at+1:]
			}
			if inner != "" || below[at] == '/' && first == "worktrees" {
				break
			}
		}
		if inner == "" {
			return dir, rest
		}
		dir, rest = inner, after
	}
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// heads are files at the top of a git directory that git writes for the next step of a commit, merge or fetch, besides
// those whose names end in _HEAD and _MSG. MERGE_RR is none of them: it names files that git-rerere(1) writes to.
var heads = []string{"shallow", "COMMIT_EDITMSG", "TAG_EDITMSG", "NOTES_EDITMSG", "MERGE_MODE"}

// noise is what git makes anew whenever it needs it.
var noise = []string{"gc.pid", "gc.log", "info/refs", "objects/info/packs", "objects/info/commit-graph",
	"fsmonitor--daemon.ipc", "packed-refs.new"}

// whole are directories that stay behind as a whole.
var whole = []string{"rebase-merge", "rebase-apply", "sequencer", "rr-cache", "lfs", "annex"}

// of returns what a path of one git directory is.
func of(path string) Place {
	first, below, deep := strings.Cut(path, "/")
	p := Place{Name: path}
	switch {
	case strings.HasSuffix(path, ".lock"), slices.Contains(noise, path), strings.HasPrefix(path, "fsmonitor--daemon/"):
		p.Kind = Noise
	case first == "objects":
		p.object(below)
	case first == "refs":
		p.Kind, p.Text, p.Keep = Ref, Reference, !deep
	case first == "logs" || first == "reftable" || path == "packed-refs":
		p.Kind, p.Keep = Ref, path == "reftable"
		if path == "reftable/tables.list" {
			p.Text = Tables
		}
	case deep && slices.Contains(whole, first):
		p.Name = first
	case deep && (first == "worktrees" || first == "modules"):
		name, _, _ := strings.Cut(below, "/")
		p.Name = first + "/" + name
	case deep:
	case path == "HEAD":
		p.Kind, p.Text, p.Keep = Head, ValidHead, true
	case strings.HasSuffix(path, "_HEAD") || path == "AUTO_MERGE":
		p.Kind, p.Text = Head, Reference
	case path == "index" || isSharedIndex(path):
		p.Kind, p.Text = Head, Names
	case strings.HasSuffix(path, "_MSG") || slices.Contains(heads, path):
		p.Kind = Head
	}
	return p
}

// object sets what a path below objects is.
func (p *Place) object(below string) {
	name := below[strings.LastIndexByte(below, '/')+1:]
	switch {
	case below == "" || below == "pack":
		p.Kind, p.Keep = Object, true
	case strings.HasPrefix(below, "info/commit-graphs"), strings.HasPrefix(below, "incoming-"),
		strings.HasPrefix(below, "tmp_"), strings.HasPrefix(name, "tmp_"), strings.HasPrefix(name, ".tmp-"):
		p.Kind = Noise
	case below == "info" || strings.HasPrefix(below, "info/"): // alternates: other directories of objects
	case strings.HasPrefix(below, "pack/multi-pack-index"):
		p.Kind = Index
	default:
		p.Kind = Object
	}
}

// isSharedIndex reports whether a file is the part of a split index that the index names by its hash.
func isSharedIndex(path string) bool {
	hash, ok := strings.CutPrefix(path, "sharedindex.")
	return ok && isHash(hash)
}

func isHash(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}
