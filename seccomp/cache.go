package seccomp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"brig/internal/words"
)

// cacheMagic begins a cache file, before the hash and the filter. It must change when Compile generates different
// filters.
const cacheMagic = "brig-bpf-2\n"

// CacheError is a failure of the cache, not of the profile.
type CacheError struct {
	Dir string
	Err error
}

// Error returns one line.
func (e *CacheError) Error() string {
	return fmt.Sprintf("seccomp cache %s: %v; give a directory that you own, mode 0700", words.QuoteASCII(e.Dir), e.Err)
}

// Unwrap returns the cause.
func (e *CacheError) Unwrap() error { return e.Err }

// Cached returns the filter that compile would return for key, from dir if it is cached there. key must contain
// everything that the filter depends on: the profile's bytes and the Target; the version of libseccomp is added here.
// dir is created with mode 0700. It must belong to the caller, must not be a symbolic link and must not be writable by
// others, because its writer chooses the filter.
//
// If only the cache fails, the filter is returned with a *CacheError, which the caller may print before it continues. A
// corrupt entry is compiled again and replaced.
func Cached(dir string, key []byte, compile func() ([]byte, error)) ([]byte, error) {
	fd, cacheErr := openCache(dir)
	name := entryName(key)
	if cacheErr == nil {
		defer unix.Close(fd)
		if bpf, ok := readEntry(fd, name); ok {
			return bpf, nil
		}
	}
	bpf, err := compile()
	if err != nil {
		return nil, err
	}
	if cacheErr == nil {
		cacheErr = writeEntry(fd, name, bpf)
	}
	if cacheErr != nil {
		return bpf, &CacheError{dir, cacheErr}
	}
	return bpf, nil
}

func entryName(key []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%slibseccomp %s\n", cacheMagic, LibraryVersion())
	h.Write(key)
	return hex.EncodeToString(h.Sum(nil)) + ".bpf"
}

// openCache opens the directory and checks the open directory, not the name.
func openCache(dir string) (int, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return -1, err
	}
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open: %w", err)
	}
	if err := private(fd); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// private returns an error unless only this user can have written to the file.
func private(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("fstat: %w", err)
	}
	if int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("belongs to uid %d, not to uid %d", st.Uid, os.Geteuid())
	}
	if st.Mode&0o022 != 0 {
		return fmt.Errorf("mode %04o lets others write", st.Mode&0o7777)
	}
	return nil
}

// readEntry returns a cached filter. A defective entry counts as missing: the filter is compiled again.
func readEntry(dir int, name string) ([]byte, bool) {
	// O_NONBLOCK: a FIFO must not block the open.
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, false
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if private(fd) != nil {
		return nil, false
	}
	const head = len(cacheMagic) + sha256.Size
	data, err := io.ReadAll(io.LimitReader(f, int64(head+MaxInsns*insnSize+1)))
	if err != nil || len(data) < head || !bytes.HasPrefix(data, []byte(cacheMagic)) {
		return nil, false
	}
	bpf := data[head:]
	sum := sha256.Sum256(bpf)
	if !bytes.Equal(sum[:], data[len(cacheMagic):head]) {
		return nil, false
	}
	_, err = decodeProgram(bpf)
	return bpf, err == nil
}

// writeEntry writes the file under a temporary name and renames it, so that a reader sees all of it or nothing.
func writeEntry(dir int, name string, bpf []byte) error {
	sum := sha256.Sum256(bpf)
	temp := ".tmp-" + strconv.FormatUint(rand.Uint64(), 36) // the directory is private; O_EXCL prevents a collision
	fd, err := unix.Openat(dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	f := os.NewFile(uintptr(fd), temp)
	_, err = f.Write(append(append([]byte(cacheMagic), sum[:]...), bpf...))
	if err = errors.Join(err, f.Close()); err == nil {
		err = unix.Renameat(dir, temp, dir, name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write: %w", err), unix.Unlinkat(dir, temp, 0))
	}
	return nil
}
