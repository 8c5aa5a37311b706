package changes

import (
	"slices"
	"strings"

	"brig/internal/words"
)

// decide compares what a directory has with a change. made reports whether it has the change already, and reason is why
// it must not be made. uid is the caller's; root may replace everybody's files.
func decide(f *File, now *State, force bool, uid int) (reason words.Text, made bool) {
	isDir, wantsDir, wasDir := kindIs(now, Directory), kindIs(f.New, Directory), kindIs(f.Old, Directory)
	switch {
	case now.equal(f.New) || f.Old == nil && isDir && wantsDir:
		return "", true
	case isDir && wasDir && now.Inode != f.Old.Inode && !force:
		return "it is another directory since the run" + forced("takes it"), false
	case now.equal(f.Old) && (!f.Raced || force):
	case isDir && !wantsDir && !wasDir:
		return "it is a directory now", false
	case force:
	case now.equal(f.Old):
		return "the host changed it while the payload ran" + forced("replaces it"), false
	case now == nil:
		return "it is gone since the run" + forced("makes it again"), false
	case f.Old == nil:
		return "it exists since the run" + forced("replaces it"), false
	default:
		return "it has changed since the run" + forced("replaces it"), false
	}
	if uid != 0 && now != nil && int(now.stat.Uid) != uid && !isDir && !force {
		return words.Textf("it belongs to uid %d, and would be yours%s", now.stat.Uid, forced("makes it so")), false
	}
	return "", false
}

// lost decides about a change whose directory does not exist, with the changes of a set by their paths. made reports
// whether another change of the set makes or removes that, and makes or removes this one with it.
func lost(f *File, set map[string]*File) (makes, removed bool) {
	up, _ := split(string(f.Path))
	if d := set[up]; f.New != nil && d != nil && kindIs(d.New, Directory) {
		return true, false
	}
	for ; f.New == nil && up != ""; up, _ = split(up) {
		if d := set[up]; d != nil && kindIs(d.Old, Directory) && !kindIs(d.New, Directory) {
			return false, true
		}
	}
	return false, false
}

// forced is the advice to use ApplyOptions.Force, and what it does.
func forced(does words.Text) words.Text {
	return words.Clause("; " + words.Field("force") + " " + does)
}

// protects returns the protected path that a change concerns, unless the caller allows it. The case of letters makes no
// difference, as on some file systems.
func protects(protected []Name, f *File, allow []string) string {
	path := strings.ToLower(string(f.Path))
	hides := f.New != nil && !kindIs(f.New, Directory)
	for _, p := range protected {
		low := strings.ToLower(string(p))
		named := func(name string) bool { return strings.TrimSuffix(name, "/") == string(p) }
		if (under(path, low) || hides && under(low, path)) && !slices.ContainsFunc(allow, named) {
			return string(p)
		}
	}
	return ""
}
