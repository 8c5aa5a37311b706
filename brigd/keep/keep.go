// Package keep stores sandboxes and snapshots as files in a directory that only its owner may enter. NAME.changes
// holds what has changed since NAME was written.
//
// A file is a line with the SHA-256 of the rest, a layer (package layer), a line of JSON that describes it, and a line
// with the size of the layer. It is written under another name, synchronized (fsync(2)) and renamed, so that the file
// of each name is complete at any moment, even after SIGKILL or a power failure. Only one process may have the
// directory open.
package keep

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"brig/internal/store"
	"brig/internal/sys"
	"brig/internal/words"
)

const (
	magic     = "brig keep 1 sha256:"
	headSize  = int64(len(magic) + 2*sha256.Size + 1)
	tailSize  = 21 // 20 digits
	maxMeta   = 1 << 20
	temporary = ".new-" // begins the names of files that are being written
)

// Changes is the suffix of the name of a file of changes. The rest is the name of the file that they belong to.
const Changes = ".changes"

// name matches the names that a file may have, without Changes.
var name = regexp.MustCompile(`^[a-z]{2}_[a-z0-9]{1,64}(-[A-Za-z0-9-]{1,41})?$`)

// Dir is an open directory. Its methods may be called concurrently, but for two that save or remove the same name.
type Dir struct{ dir *store.Dir }

// Open opens a directory, and creates it if it is missing: only its last component. It removes what an earlier process
// has not finished writing.
func Open(dir string) (*Dir, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%w; make its parent directory first", err)
	}
	d, err := store.Open(dir, unix.O_NOFOLLOW, store.Any)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", words.Quote(dir), private(err))
	}
	if err = d.Lock(unix.LOCK_EX | unix.LOCK_NB); err == store.ErrBusy {
		err = errors.New("another brigd has it open; name another directory")
	}
	if err == nil {
		err = sweep(d)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", words.Quote(dir), err), d.Close())
	}
	return &Dir{d}, nil
}

// private adds a remedy to the error for a file that another user can change, or a directory that another user can
// enter.
func private(err error) error {
	var foreign *store.NotOwn
	if !errors.As(err, &foreign) {
		return err
	}
	if int(foreign.UID) != unix.Geteuid() {
		return fmt.Errorf("it belongs to user %d, not to you; name a directory of your own", foreign.UID)
	}
	return fmt.Errorf("other users have access to it (mode %o); chmod 700 it, or name another directory",
		foreign.Mode&0o777)
}

// Close closes the directory.
func (d *Dir) Close() error { return d.dir.Close() }

// sweep removes temporary files, and changes without the file that they belong to, which was removed first.
func sweep(d *store.Dir) error {
	names, err := d.Names(func(string) bool { return true })
	for _, n := range names {
		of, changes := strings.CutSuffix(n, Changes)
		alone := changes && name.MatchString(of) && !slices.Contains(names, of)
		if (alone || strings.HasPrefix(n, temporary)) && err == nil {
			err = d.Unlink(n)
		}
	}
	return err
}

// Names lists the files in the directory, without those of changes.
func (d *Dir) Names() ([]string, error) { return d.dir.Names(name.MatchString) }

// Save writes a file, which replaces an earlier one. pack writes the layer, and returns what describes it, for JSON.
// The caller closes the file.
func (d *Dir) Save(id string, pack func(io.Writer) (meta any, err error)) (*File, error) {
	f, err := d.dir.Open(temporary+id, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return nil, err
	}
	k, err := write(f, pack)
	if err == nil {
		err = d.dir.Publish(f, temporary+id, id)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), d.dir.Drop(temporary+id))
	}
	return k, nil
}

// memory makes an empty file in memory, which ends when it is closed: memfd_create(2).
func memory() (*os.File, error) {
	fd, err := unix.MemfdCreate("brig-snapshot", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), "snapshot"), nil
}

// Memory is Save to a file in memory.
func Memory(pack func(io.Writer) (meta any, err error)) (*File, error) {
	f, err := memory()
	if err != nil {
		return nil, err
	}
	k, err := write(f, pack)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return k, nil
}

// Receive copies a whole file (File.Whole) to memory, and checks it.
func Receive(r io.Reader) (*File, error) {
	f, err := memory()
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(f, r); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		var k *File
		if k, err = check(f); err == nil {
			return k, nil
		}
	}
	return nil, errors.Join(err, f.Close())
}

// Remove removes a file, and then its changes. A missing file is not an error.
func (d *Dir) Remove(id string) error {
	for _, n := range []string{id, id + Changes} {
		if err := d.dir.Unlink(n); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return d.dir.Sync(".")
}

// File is an open file, whose content no longer changes.
type File struct {
	Meta   []byte
	Digest string // SHA-256 of all but the first line, in hexadecimal digits
	f      *os.File
	size   int64
}

// Layer reads the layer from its start.
func (k *File) Layer() *io.SectionReader { return io.NewSectionReader(k.f, headSize, k.size) }

// Whole reads all of the file, for Receive.
func (k *File) Whole() *io.SectionReader {
	return io.NewSectionReader(k.f, 0, headSize+k.size+int64(len(k.Meta))+1+tailSize)
}

// Size returns the size of the layer in bytes.
func (k *File) Size() int64 { return k.size }

// Close closes the file.
func (k *File) Close() error { return k.f.Close() }

// write fills a file.
func write(f *os.File, pack func(io.Writer) (any, error)) (*File, error) {
	if _, err := f.Seek(headSize, io.SeekStart); err != nil {
		return nil, err
	}
	sum := sha256.New()
	w := io.MultiWriter(f, sum)
	meta, err := pack(w)
	if err != nil {
		return nil, err
	}
	end, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	k := &File{f: f, size: end - headSize}
	if k.Meta, err = json.Marshal(meta); err != nil {
		return nil, err
	}
	if _, err = fmt.Fprintf(w, "%s\n%020d\n", k.Meta, k.size); err != nil {
		return nil, err
	}
	k.Digest = hex.EncodeToString(sum.Sum(nil))
	_, err = f.WriteAt([]byte(magic+k.Digest+"\n"), 0)
	return k, err
}

// errDamaged is the error for a file that is not as it was written.
var errDamaged = errors.New("it is damaged: its digest is another; remove it, or put a backup in its place")

// Load opens a file, and checks all of it before it returns.
func (d *Dir) Load(id string) (*File, error) {
	f, err := d.dir.Open(id, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	if err = own(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	k, err := check(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", words.Quote(f.Name()), err), f.Close())
	}
	return k, nil
}

// own returns an error unless a file is a regular one, and only its owner, this user, can change it.
func own(f *os.File) error {
	var st unix.Stat_t
	if err := sys.Control(f, func(fd int) error { return unix.Fstat(fd, &st) }); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return errors.New("it is no regular file; remove it")
	}
	return private(store.Check(&st, store.Writing))
}

func check(f *os.File) (*File, error) {
	head := make([]byte, headSize)
	if _, err := io.ReadFull(f, head); err != nil || !bytes.HasPrefix(head, []byte(magic)) {
		return nil, errDamaged
	}
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	if err != nil {
		return nil, err
	}
	k := &File{Digest: hex.EncodeToString(sum.Sum(nil)), f: f}
	if magic+k.Digest+"\n" != string(head) || n < tailSize {
		return nil, errDamaged
	}
	tail := make([]byte, tailSize)
	if _, err := f.ReadAt(tail, headSize+n-tailSize); err != nil {
		return nil, err
	}
	size, err := strconv.ParseInt(string(tail[:tailSize-1]), 10, 64)
	left := n - tailSize - size
	if err != nil || size < 0 || left < 1 || left > maxMeta {
		return nil, errDamaged
	}
	k.Meta, k.size = make([]byte, left-1), size // without the end of its line
	_, err = f.ReadAt(k.Meta, headSize+size)
	return k, err
}
