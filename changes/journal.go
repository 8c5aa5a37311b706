package changes

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// journal is what an Apply writes into its set before it changes anything, and removes at the end.
type journal struct {
	Token string `json:"token"` // of the names of its temporary files
	Paths []Name `json:"paths,omitempty"`
	Force bool   `json:"force,omitempty"`
	Allow []Name `json:"allow,omitempty"`
}

// begin writes the journal, which makes the set Interrupted, and returns its token. It asks getrandom(2): crypto/rand
// would link ciphers into brig.
func (s *Set) begin(o *ApplyOptions) (token string, err error) {
	random := make([]byte, 8)
	if _, err := sys.Retry(func() (int, error) { return unix.Getrandom(random, 0) }); err != nil {
		return "", os.NewSyscallError("getrandom", err)
	}
	token = hex.EncodeToString(random)
	text, err := json.Marshal(&journal{token, convert[Name](o.Paths), o.Force, convert[Name](o.Allow)})
	name := s.ID + "/" + journalFile
	if err == nil {
		err = s.store.root.RemoveAll(name + ".new") // of a killed process
	}
	if err == nil {
		err = s.store.put(name+".new", text)
	}
	if err == nil {
		s.Interrupted = true
		err = s.store.root.Rename(name+".new", name)
	}
	return token, err
}

// options returns the options of the interrupted Apply.
func (j *journal) options(more *ApplyOptions) *ApplyOptions {
	return &ApplyOptions{Paths: convert[string](j.Paths), Force: j.Force || more.Force,
		Allow: append(convert[string](j.Allow), more.Allow...), step: more.step}
}

func convert[To, From ~string](list []From) (to []To) {
	for _, s := range list {
		to = append(to, To(s))
	}
	return to
}

// readJournal returns nil if no Apply was interrupted.
func (s *Set) readJournal() (*journal, error) {
	text, err := s.small(journalFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	j := new(journal)
	if err == nil {
		err = strict(text, j)
	}
	if err == nil && (len(j.Token) != 16 || !isHex(j.Token)) {
		err = errors.New("journal.json has no token")
	}
	if err != nil {
		return nil, &DamagedError{s.ID, err}
	}
	return j, nil
}

// clean removes the temporary files of an interrupted Apply, and lets the caller into directories that it had finished.
func (a *applier) clean(chosen []*File) error {
	for _, f := range chosen {
		dir, name, err := a.enter(f.Path)
		if missing(err) {
			continue
		}
		if err == nil {
			err = a.unlockFinished(f, dir, name)
		}
		if err == nil {
			err = a.cleanFile(f, dir, name)
		}
		if err != nil {
			return at(string(f.Path), err)
		}
	}
	return nil
}

// unlockFinished lets an ordinary user into a directory that has the mode of the set.
func (a *applier) unlockFinished(f *File, dir int, name string) error {
	st, err := stat(dir, name)
	if st == nil || err != nil || !kindIs(f.New, Directory) || st.Mode&^0o7000 != unix.S_IFDIR|f.New.Mode ||
		os.Geteuid() == 0 {
		return err
	}
	return a.unlock(&task{file: f}, dir, name)
}

// cleanFile removes the file with the temporary name of a change. If it is not the file that the run has seen, the host
// had written it before the Apply was killed, and it gets its name back. A directory with such a name stays, since
// Apply makes none.
func (a *applier) cleanFile(f *File, dir int, name string) error {
	temp := a.temp(f)
	left, err := a.read.state(dir, temp)
	if left == nil || err != nil || left.Kind == Directory {
		return err
	}
	puts := kindIs(f.New, Regular, Symlink)
	if hosts := f.Old != nil && !left.equal(f.Old) && !a.options.Force; hosts && !puts {
		err := unix.Renameat2(dir, temp, dir, name, unix.RENAME_NOREPLACE)
		if err == unix.EEXIST { // somebody has written both
			return nil
		}
		return err
	} else if hosts {
		now, err := a.read.state(dir, name)
		if err == nil && now.equal(f.New) {
			err = unix.Renameat2(dir, temp, dir, name, unix.RENAME_EXCHANGE)
		}
		if err != nil {
			return err
		}
	}
	return unix.Unlinkat(dir, temp, 0)
}
