package token

import (
	"errors"
	"fmt"
	"os"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"

	"brig/internal/sys"
)

const (
	countsFile = "counts.db"
	countsNew  = "counts.new"
)

// openDir opens the ledger's directory, which must be private.
func openDir(path string) (*os.File, error) {
	dir, err := private(unix.AT_FDCWD, path, path, unix.O_RDONLY|unix.O_DIRECTORY)
	if errors.As(err, new(*os.PathError)) {
		return nil, fmt.Errorf("the ledger's directory: %w", err)
	}
	return dir, err
}

// private opens a directory or a regular file. It is an error if it belongs to another user, unless the process is
// root, or if it is accessible to others.
func private(dir int, path, name string, flags int) (*os.File, error) {
	kind := uint32(unix.S_IFREG)
	if flags&unix.O_DIRECTORY != 0 {
		kind = unix.S_IFDIR
	}
	return sys.Open(dir, path, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, func(st *unix.Stat_t) error {
		switch {
		case st.Mode&unix.S_IFMT != kind:
			return fmt.Errorf("%s is of another type than a ledger's; name another directory", name)
		case int(st.Uid) != os.Geteuid() && os.Geteuid() != 0:
			return fmt.Errorf("%s belongs to user %d and not to user %d; name a directory of your own",
				name, st.Uid, os.Geteuid())
		case st.Mode&0o077 != 0:
			return fmt.Errorf("%s has mode %04o, which lets others at it: chmod go= %s", name, st.Mode&0o7777, name)
		}
		return nil
	})
}

// openAt opens a file of the ledger.
func openAt(dir *os.File, name string, flags int) (*os.File, error) {
	return private(int(dir.Fd()), name, dir.Name()+"/"+name, flags)
}

// openCounts opens the database, checks it and reads every entry. In an empty ledger it creates the database.
func (l *Ledger) openCounts(path string) (err error) {
	if l.file, err = openAt(l.dir, countsFile, unix.O_RDWR); errors.Is(err, os.ErrNotExist) {
		if err = create(l.dir); err == nil {
			l.file, err = openAt(l.dir, countsFile, unix.O_RDWR)
		}
	}
	if err != nil {
		return fmt.Errorf("the ledger %s: %w", path, err)
	}
	err = guarded(func() (err error) {
		if err = l.measure(); err == nil && l.size == 0 {
			err = errors.New("it is empty")
		}
		if err == nil {
			l.db, err = database(l.file)
		}
		if err == nil {
			err = l.check()
		}
		return err
	})
	if err == nil {
		return nil
	}
	if l.db == nil {
		_ = l.file.Close() // already closed, unless bbolt has panicked
	}
	if errors.Is(err, berrors.ErrTimeout) {
		return fmt.Errorf("the ledger %s: another process has it open; stop that one, or name another directory", path)
	}
	return fmt.Errorf("%s: %w; nothing is allowed with counts that may be wrong: restore the file, "+
		"or move it away and revoke the tokens whose runs are limited", l.file.Name(), err)
}

// database opens a database file, and initialises it if it is empty. It fails at once if another process has it open.
func database(f *os.File) (*bbolt.DB, error) {
	return bbolt.Open(f.Name(), 0, &bbolt.Options{
		Timeout:  time.Millisecond,
		OpenFile: func(string, int, os.FileMode) (*os.File, error) { return f, nil },
	})
}

// create creates an empty database. The file gets its final name when it is complete, unless another process has
// created it in the meantime.
func create(dir *os.File) error {
	d := int(dir.Fd())
	_ = unix.Unlinkat(d, countsNew, 0) // unlinkat(2): left by an interrupted call
	f, err := openAt(dir, countsNew, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return err
	}
	db, err := database(f)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket(countsBucket)
		return err
	})
	if err = errors.Join(err, db.Close()); err == nil {
		err = unix.Linkat(d, countsNew, d, countsFile, 0) // linkat(2)
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("creating %s: %w", countsFile, err)
	}
	return errors.Join(os.NewSyscallError("unlinkat", unix.Unlinkat(d, countsNew, 0)), dir.Sync())
}

// check returns an error if the database is inconsistent. It also counts the shares.
func (l *Ledger) check() error {
	return l.db.View(func(tx *bbolt.Tx) (err error) {
		if tx.Size() > l.size {
			return errors.New("its end is missing")
		}
		if tx.Bucket(countsBucket) == nil {
			return errors.New("it has no counts")
		}
		for e := range tx.Check() {
			err = errors.Join(err, e)
		}
		if err != nil {
			return err
		}
		return l.sweep(tx, time.Now())
	})
}
