package jailpath

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Candidate is a file that the jail may execute, and the name by which it does.
type Candidate struct {
	Name string
	File *File
}

// Candidates returns the files that the jail may execute, in order. The kernel executes the first that it can.
func Candidates(s *nsjail.Spec, v *View) (list []Candidate, err error) {
	dirs := spec.DefaultPath
	for _, e := range s.Env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			dirs = value // the last one counts, as in the jail
		}
	}
	if slices.Contains(s.PassEnv, "PATH") ||
		slices.ContainsFunc(s.PassEnv, func(g string) bool { ok, err := path.Match(g, "PATH"); return ok || err != nil }) {
		return nil, errors.New("its PATH comes from the caller's environment")
	}
	for _, name := range []string{s.Args[0], words.OtherName(s.Args[0])} {
		if name == "" || len(list) > 0 && list[len(list)-1].File.Mode&0o001 != 0 { // the jail does not go on with that name
			break
		}
		files, err := LookPath(name, dirs, cmp.Or(s.Workdir, spec.DefaultWorkdir), v)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			list = append(list, Candidate{name, f})
		}
	}
	return list, nil
}

// LookPath finds a command as nsjail does: in each absolute directory of PATH in turn, skipping a file that is missing
// or not executable. After a file that is executable for some users only, the search goes on, since that file may be
// skipped.
func LookPath(name, dirs, workdir string, v *View) (list []*File, err error) {
	if strings.Contains(name, "/") {
		if !strings.HasPrefix(name, "/") {
			name = workdir + "/" + name
		}
		f, err := v.Resolve(name)
		if err != nil || !executable(f) {
			return nil, err
		}
		return []*File{f}, nil
	}
	tried := false
	for dir := range strings.SplitSeq(dirs, ":") {
		if !path.IsAbs(dir) {
			continue
		}
		tried = true
		f, err := v.Resolve(path.Join(dir, name))
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), err == nil && !executable(f):
			continue
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path.Join(dir, name), err)
		}
		list = append(list, f)
		if f.Mode&0o001 != 0 {
			return list, nil
		}
	}
	if !tried {
		return LookPath("/"+name, "", "/", v)
	}
	return list, nil
}

func executable(f *File) bool { return f.Mode&unix.S_IFMT == unix.S_IFREG && f.Mode&0o111 != 0 }
