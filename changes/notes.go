package changes

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// The phases of an Apply, as its notes have them. Before ready it has renamed nothing, and from done on it only removes
// what it has replaced.
const (
	ready = "ready"
	done  = "done"
)

// note is a line of journal.log: what an Apply has to know to take itself back. It is on the disk before what it is
// about happens, but for Dir.
type note struct {
	Index int `json:"index"` // of a change of the set
	// New and Old are of a unit: what is under the temporary name of the change, and under its own, before the rename.
	New *inode `json:"new,omitempty"`
	Old *inode `json:"old,omitempty"`
	// Dir is a directory below the temporary name of the change Top, before or after the rename.
	Dir *inode `json:"dir,omitempty"`
	Top int    `json:"top,omitempty"`
	// Place is a directory that stays, with the mode and the attributes that it had.
	Place  *inode  `json:"place,omitempty"`
	Mode   uint32  `json:"mode,omitempty"`
	XAttrs []XAttr `json:"xattrs,omitempty"`

	Phase string `json:"phase,omitempty"`
}

// notes writes journal.log.
type notes struct {
	file *os.File
	buf  *bufio.Writer
	json *json.Encoder
}

func (s *Set) openNotes() (*notes, error) {
	f, err := s.store.dir.Open(s.ID+"/"+notesFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, err
	}
	n := &notes{file: f, buf: bufio.NewWriter(f)}
	n.json = json.NewEncoder(n.buf)
	return n, nil
}

// add writes a note, at the latest with the next flush.
func (n *notes) add(line *note) error { return n.json.Encode(line) }

// flush hands the notes to the kernel, so that they outlive this process.
func (n *notes) flush(line *note) error { return errors.Join(n.add(line), n.buf.Flush()) }

// phase begins a phase when all notes before it are on the disk.
func (n *notes) phase(name string) error {
	if err := n.flush(&note{Phase: name}); err != nil {
		return err
	}
	return n.file.Sync()
}

// readNotes calls visit for each note. A last line that a killed process has not written wholly is none.
func (s *Set) readNotes(visit func(*note) error) error {
	f, err := s.file(notesFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &DamagedError{s.ID, err}
	}
	defer f.Close()
	in := bufio.NewReader(f)
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		line := new(note)
		if err == nil {
			err = strict(text, line)
		}
		if err == nil {
			err = visit(line)
		}
		if err != nil {
			return &DamagedError{s.ID, fmt.Errorf("%s: line %d: %w", notesFile, n, err)}
		}
	}
}
