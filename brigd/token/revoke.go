package token

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// RevokedDir is the directory in a ledger's that has a file for each revoked id, named by it.
const RevokedDir = "revoked"

const maxReason = 256

// revocation is the content of a revoked id's file: the reason and the time.
type revocation struct {
	ID      string    `json:"id"`
	Time    time.Time `json:"time"`
	Reason  string    `json:"reason,omitempty"`
	Expires time.Time `json:"expires,omitzero"` // of the affected tokens; zero if unknown
}

// Revoke revokes every token that has a block with the id, in the ledger in the directory path. It creates a file,
// which every process checks from the moment Revoke returns. expires, if not zero, is when those tokens expire; the
// file is removed some time later. Revoking an id twice is not an error. The ledger deletes its counts for these
// tokens. If the file is deleted to undo a revocation, they may have all their runs again.
func Revoke(path, id, reason string, expires time.Time) error {
	dir, err := openBeside(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if !isID(id) {
		return refuse(CodeMalformed, "id",
			"what to revoke is the id of a token's block, 32 hexadecimal digits: brigd token inspect shows them")
	}
	if len(reason) > maxReason || strings.ContainsFunc(reason, notPrintable) {
		return refuse(CodeMalformed, "reason", "the reason may have %d bytes of printable text", maxReason)
	}
	text, err := json.Marshal(&revocation{ID: id, Time: time.Now().UTC(), Reason: reason, Expires: expires})
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	f, err := openAt(dir, id, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if errors.Is(err, os.ErrExist) {
		return nil
	} else if err != nil {
		return refuse(CodeLedger, "", "%s could not be revoked: %v", id, err)
	}
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close(), dir.Sync()); err != nil {
		return refuse(CodeLedger, "", "%s is revoked, but perhaps not after a power failure: %v", id, err)
	}
	return nil
}

// RevokedIn calls the method Revoked for a ledger that another process has open.
func RevokedIn(path string, ids ...string) error {
	revoked, err := openBeside(path)
	if err != nil {
		return err
	}
	defer revoked.Close()
	return isRevoked(revoked, ids)
}

// openBeside opens the revocations of an existing ledger. It does not create one, since a revocation in a mistyped
// directory would have no effect.
func openBeside(path string) (*os.File, error) {
	dir, err := openDir(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var st unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), countsFile, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil { // fstatat(2)
		return nil, refuse(CodeLedger, "", "%s is not the directory of a ledger (%v): name the one that brigd uses", path,
			err)
	}
	return openRevoked(dir, path)
}

func openRevoked(dir *os.File, path string) (*os.File, error) {
	d := int(dir.Fd())
	if err := unix.Mkdirat(d, RevokedDir, 0o700); err == nil { // mkdirat(2)
		if err := dir.Sync(); err != nil {
			return nil, err
		}
	} else if !errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("the ledger %s: %w", path, os.NewSyscallError("mkdirat "+RevokedDir, err))
	}
	f, err := private(d, RevokedDir, path+"/"+RevokedDir, unix.O_RDONLY|unix.O_DIRECTORY)
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		return nil, fmt.Errorf("the ledger %s: %w", path, os.NewSyscallError("openat "+RevokedDir, failed.Err))
	}
	return f, err
}

// Revoked returns nil if none of the ids is revoked. If one is, or if that cannot be determined, it returns a
// *job.Refusal.
func (l *Ledger) Revoked(ids ...string) error {
	l.open.RLock() // Close must not close the descriptor, whose number could be reused
	defer l.open.RUnlock()
	return isRevoked(l.revoked, ids)
}

func isRevoked(dir *os.File, ids []string) error {
	var here unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &here); err != nil || here.Nlink == 0 { // fstat(2)
		return refuse(CodeLedger, "", "whether the token is revoked cannot be found out: %s was closed or removed (%v)",
			dir.Name(), err)
	}
	for _, id := range ids {
		if !isID(id) {
			return refuse(CodeMalformed, "id", "an id has 32 hexadecimal digits")
		}
		var st unix.Stat_t
		switch err := unix.Fstatat(int(dir.Fd()), id, &st, unix.AT_SYMLINK_NOFOLLOW); { // fstatat(2)
		case err == nil:
			return refuse(CodeRevoked, "id", "the token is revoked (%s)", id)
		case !errors.Is(err, unix.ENOENT):
			return refuse(CodeLedger, "", "whether the token is revoked cannot be found out: %v", err)
		}
	}
	return nil
}

// revokedIDs returns the revoked ids as bytes. If they cannot be read, it returns none.
func (l *Ledger) revokedIDs() map[string]bool {
	names, _ := l.revokedNames()
	gone := make(map[string]bool, len(names))
	for _, id := range names {
		if raw, err := hex.DecodeString(id); err == nil && isID(id) {
			gone[string(raw)] = true
		}
	}
	return gone
}

// revokedNames reads the directory. It changes the directory's shared file position, so only OpenLedger, and a caller
// that holds write, may call it.
func (l *Ledger) revokedNames() ([]string, error) {
	if _, err := l.revoked.Seek(0, io.SeekStart); err != nil { // lseek(2)
		return nil, fmt.Errorf("%s: %w", l.revoked.Name(), err)
	}
	names, err := l.revoked.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.revoked.Name(), err)
	}
	return names, nil
}

// pruneRevoked removes revocations whose tokens all expired before the grace period. It keeps files that cannot be
// read.
func (l *Ledger) pruneRevoked() error {
	names, err := l.revokedNames()
	if err != nil {
		return err
	}
	for _, id := range names {
		f, err := openAt(l.revoked, id, unix.O_RDONLY)
		if err != nil {
			continue // may belong to root, and is a valid revocation nevertheless
		}
		var r revocation
		err = json.NewDecoder(io.LimitReader(f, 4096)).Decode(&r)
		_ = f.Close()
		if err != nil || r.ID != id || r.Expires.IsZero() || time.Since(r.Expires) < grace {
			continue
		}
		if err := unix.Unlinkat(int(l.revoked.Fd()), id, 0); err != nil { // unlinkat(2)
			return fmt.Errorf("%s: %w", l.revoked.Name(), os.NewSyscallError("unlinkat", err))
		}
	}
	return nil
}

// isID reports whether a text has the form of an id.
func isID(s string) bool {
	return len(s) == 32 && !strings.ContainsFunc(s,
		func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) })
}
