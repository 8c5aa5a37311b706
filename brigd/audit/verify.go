package audit

import (
	"bufio"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"brig/internal/sys"
	"brig/internal/words"
)

// Report is the result of VerifyOptions.Verify.
type Report struct {
	Files  []string `json:"files"`
	Events uint64   `json:"events"`
	// Started, Ended and Refused count runs.
	Started uint64 `json:"runs_started"`
	Ended   uint64 `json:"runs_ended"`
	Refused uint64 `json:"runs_refused"`
	// Unfinished are runs without an end: they are still running, the writer was killed, or the event is missing because
	// of a gap. At most a thousand are listed.
	Unfinished []string `json:"unfinished,omitempty"`
	// FirstSeq and FirstPrev are the beginning of the chain: 1 and zeros, unless older files were removed.
	FirstSeq  uint64 `json:"first_seq"`
	FirstPrev string `json:"first_prev"`
	// LastSeq and LastHash are the end of the chain. A log cannot show that its end was cut off. Compare them with values
	// that were kept elsewhere, or see Signed.
	LastSeq  uint64    `json:"last_seq"`
	LastHash string    `json:"last_sha256"`
	First    time.Time `json:"first_time"`
	Last     time.Time `json:"last_time"`
	// Gaps is the number of periods in which nothing could be written, and Missed the number of events that are missing
	// for that reason. Recovered is the number of incomplete lines that were moved away, and Reopened the number of
	// writers that did not close the log.
	Gaps      uint64 `json:"gaps"`
	Missed    uint64 `json:"missed_events"`
	Recovered uint64 `json:"recovered"`
	Reopened  uint64 `json:"killed_writers"`
	// Signed is the number of the last checkpoint with a valid signature; 0 if there is none, or no key was given.
	Signed uint64 `json:"signed_to,omitempty"`
}

// BadLine is an error in the first line that is not as it was written.
type BadLine struct {
	File string
	Line int // from 1
	Why  error
}

// Error returns the file, the line and the reason.
func (b *BadLine) Error() string { return fmt.Sprintf("%s, line %d: %v", b.File, b.Line, b.Why) }

// Unwrap returns the reason.
func (b *BadLine) Unwrap() error { return b.Why }

// ErrNotProven is wrapped by the error for a log whose lines are all valid, but which lacks something that
// VerifyOptions require.
var ErrNotProven = errors.New("not all of the log is here")

// VerifyOptions configures additional checks.
type VerifyOptions struct {
	// Keys are the keys that are trusted to sign checkpoints. If there are any, a checkpoint by another key and a log
	// without a checkpoint are errors.
	Keys []ed25519.PublicKey
	// AnchorSeq and AnchorHash are from an earlier Report. The log must still contain that line.
	AnchorSeq  uint64
	AnchorHash string
	// Each, if set, is called for every line in order.
	Each func(*Line)
}

// Verify reads a log from its oldest file and checks that each line is valid and follows the previous one. A single
// path also includes the older files of that log; several paths are read as given, the oldest first. If the log is
// invalid, the error is a *BadLine, and the Report describes the lines before it.
func (o VerifyOptions) Verify(paths ...string) (Report, error) {
	c := &checker{o: o, open: map[string]bool{}, r: Report{LastHash: origin}}
	files, err := openAll(paths)
	defer func() {
		for _, f := range files {
			_ = f.Close() // it was only read
		}
	}()
	for i := 0; err == nil && i < len(files); i++ {
		err = c.file(files[i])
	}
	c.r.Unfinished = slices.Sorted(maps.Keys(c.open))
	c.r.Unfinished = c.r.Unfinished[:min(len(c.r.Unfinished), 1000)]
	switch {
	case err != nil:
	case o.AnchorSeq > 0 && !c.anchored:
		err = fmt.Errorf("%w: number %d, which was noted elsewhere, is missing; the log has %d to %d", ErrNotProven,
			o.AnchorSeq, c.r.FirstSeq, c.r.LastSeq)
	case len(o.Keys) > 0 && c.r.Signed == 0:
		err = fmt.Errorf("%w: no checkpoint is signed with a key that is trusted", ErrNotProven)
	}
	return c.r, err
}

// Files returns the files of a log, the oldest first and the current one last.
func Files(path string) ([]string, error) {
	dir, base := filepath.Split(path)
	numbers, err := numbersIn(filepath.Clean(dir), base)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, n := range numbers {
		list = append(list, dir+numbered(base, n))
	}
	return append(list, path), nil
}

// openAll opens all files before the first is read. If the writer rotates the log at the same time, it tries again.
func openAll(paths []string) (files []*os.File, err error) {
	if len(paths) != 1 {
		return openEach(paths)
	}
	for range 10 {
		list, err := Files(paths[0])
		if err != nil {
			return nil, err
		}
		if files, err = openEach(list); err != nil && !errors.Is(err, os.ErrNotExist) {
			return files, err
		}
		again, lerr := Files(paths[0])
		if lerr != nil || slices.Equal(list, again) {
			return files, errors.Join(err, lerr)
		}
		for _, f := range files {
			_ = f.Close()
		}
	}
	return nil, fmt.Errorf("%s: the files change faster than they can be opened", paths[0])
}

func openEach(paths []string) (files []*os.File, err error) {
	if len(paths) == 0 {
		return nil, errors.New("no file is named")
	}
	for _, p := range paths {
		f, err := sys.Open(unix.AT_FDCWD, p, p, unix.O_RDONLY|unix.O_NONBLOCK, func(st *unix.Stat_t) error {
			if st.Mode&unix.S_IFMT != unix.S_IFREG { // a FIFO must not block
				return fmt.Errorf("%s is not a regular file", p)
			}
			return nil
		})
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	return files, nil
}

// checker is the state of a Verify.
type checker struct {
	o        VerifyOptions
	r        Report
	open     map[string]bool // runs without an end
	running  bool            // a writer has opened the log and not closed it
	anchored bool
}

func (c *checker) file(f *os.File) error {
	c.r.Files = append(c.r.Files, f.Name())
	in := bufio.NewReaderSize(f, MaxLine+1)
	for n := 1; ; n++ {
		text, err := in.ReadSlice('\n')
		switch {
		case err == io.EOF && len(text) == 0:
			return nil
		case err == io.EOF:
			err = errors.New("it is cut off: a writer was killed here, or is just writing it; to open the log for writing " +
				"sets it aside")
		case err == bufio.ErrBufferFull:
			err = fmt.Errorf("it is longer than %d bytes", MaxLine)
		case err == nil:
			err = c.line(text[:len(text)-1])
		}
		if err != nil {
			return &BadLine{f.Name(), n, err}
		}
	}
}

func (c *checker) line(text []byte) error {
	l, err := parseLine(text)
	if err != nil {
		return err
	}
	r := &c.r
	if r.Events == 0 && l.Seq > 1 { // older files were removed
		r.LastSeq, r.LastHash = l.Seq-1, l.Prev
	}
	if err := l.follows(r.LastSeq, r.LastHash); err != nil {
		return err
	}
	if r.Events == 0 {
		r.FirstSeq, r.FirstPrev, r.First = l.Seq, l.Prev, l.Time
	}
	if l.Seq == c.o.AnchorSeq {
		if l.Hash != c.o.AnchorHash {
			return fmt.Errorf("its hash is %s, and %s was noted elsewhere: the log was rewritten", l.Hash, c.o.AnchorHash)
		}
		c.anchored = true
	}
	if err := c.count(l); err != nil {
		return err
	}
	r.Events++
	r.LastSeq, r.LastHash, r.Last = l.Seq, l.Hash, l.Time
	if c.o.Each != nil {
		c.o.Each(l)
	}
	return nil
}

func (c *checker) count(l *Line) error {
	r := &c.r
	switch l.Kind {
	case RunStart:
		r.Started++
		c.open[l.Run] = true
	case RunEnd:
		r.Ended++
		delete(c.open, l.Run)
	case RunRefused:
		r.Refused++
	case LogGap:
		r.Gaps++
		r.Missed += uint64(max(l.Missed, 0))
	case LogRecovered:
		r.Recovered++
	case LogOpen:
		if c.running {
			r.Reopened++
		}
		c.running = true
	case LogClose:
		c.running = false
	case LogCheckpoint:
		return c.signature(l)
	}
	return nil
}

func (c *checker) signature(l *Line) error {
	if len(c.o.Keys) == 0 {
		return nil
	}
	sig, err := base64.StdEncoding.Strict().DecodeString(l.Signature)
	if err != nil {
		return errors.New("its signature is not base64")
	}
	for _, k := range c.o.Keys {
		if len(k) == ed25519.PublicKeySize && keyID(k) == l.Key && ed25519.Verify(k, signedText(l.Seq, l.Prev), sig) {
			c.r.Signed = l.Seq
			return nil
		}
	}
	return fmt.Errorf("the signature by the key %q does not hold, or that key is not trusted", words.UTF8(l.Key, maxName))
}
