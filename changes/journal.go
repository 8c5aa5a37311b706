package changes

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// journal is what an Apply writes into its set before it prepares anything, and removes at the end.
type journal struct {
	Token string `json:"token"` // of the names of its temporary files
	Paths []Name `json:"paths,omitempty"`
	Force bool   `json:"force,omitempty"`
	Allow []Name `json:"allow,omitempty"`
	Named bool   `json:"named,omitempty"`
}

// begin writes the journal, which makes the set Interrupted, and returns its token. It asks getrandom(2): crypto/rand
// would link ciphers into brig.
func (s *Set) begin(o *ApplyOptions) (token string, err error) {
	random := make([]byte, 8)
	if _, err := sys.Retry(func() (int, error) { return unix.Getrandom(random, 0) }); err != nil {
		return "", os.NewSyscallError("getrandom", err)
	}
	token = hex.EncodeToString(random)
	text, err := json.Marshal(&journal{token, convert[Name](o.Paths), o.Force, convert[Name](o.Allow), o.Named})
	name := s.ID + "/" + journalFile
	for _, old := range []string{name + ".new", s.ID + "/" + notesFile} { // of a killed process
		if err == nil {
			err = s.store.dir.Drop(old)
		}
	}
	if err == nil {
		err = s.store.put(name+".new", text)
	}
	if err == nil {
		s.Interrupted = true
		err = s.store.dir.Rename(name+".new", name)
	}
	if err != nil {
		s.Interrupted = false
		return "", errors.Join(err, s.store.dir.Drop(name+".new"))
	}
	return token, nil
}

// end removes the journal: the directory is wholly as it was, or as it should be.
func (s *Set) end() error {
	err := s.store.dir.Unlink(s.ID + "/" + journalFile)
	if err == nil {
		s.Interrupted = false
		err = s.store.dir.Drop(s.ID + "/" + notesFile)
	}
	return err
}

// options returns the options of the interrupted Apply.
func (j *journal) options(more *ApplyOptions) *ApplyOptions {
	return &ApplyOptions{Paths: convert[string](j.Paths), Force: j.Force || more.Force,
		Allow: append(convert[string](j.Allow), more.Allow...), Named: j.Named, step: more.step}
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
