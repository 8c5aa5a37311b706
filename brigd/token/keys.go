package token

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"brig/internal/sys"
)

// maxKeyFile is the maximum size of a key file in bytes.
const maxKeyFile = 64 << 10

func issuerOf(key ed25519.PublicKey) (id [issuerSize]byte) {
	sum := sha256.Sum256(key)
	copy(id[:], sum[:])
	return id
}

// KeyID returns the id of a public key: 16 hexadecimal digits of its SHA-256. A token contains the id of its issuer's
// key.
func KeyID(key ed25519.PublicKey) string {
	id := issuerOf(key)
	return hex.EncodeToString(id[:])
}

// WritePrivateKey writes the key to a new file in PEM (PKCS #8) that only its owner can read. It is an error if the
// file exists.
func WritePrivateKey(path string, key ed25519.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return writeNew(path, 0o600, "PRIVATE KEY", der, err)
}

// WritePublicKey writes the key to a new file in PEM (PKIX). It is an error if the file exists.
func WritePublicKey(path string, key ed25519.PublicKey) error {
	der, err := x509.MarshalPKIXPublicKey(key)
	return writeNew(path, 0o644, "PUBLIC KEY", der, err)
}

// writeNew writes one block of PEM to a new file. If making the block has failed, it returns that err.
func writeNew(path string, mode os.FileMode, kind string, der []byte, err error) error {
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, mode)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists, and a key is never overwritten; choose another name", path)
	} else if err != nil {
		return err
	}
	err = pem.Encode(f, &pem.Block{Type: kind, Bytes: der})
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// ReadPrivateKey reads an issuer's key: one PEM block of PKCS #8. It is an error if the file is a symbolic link, or if
// other users may read or write it.
func ReadPrivateKey(path string) (ed25519.PrivateKey, error) {
	data, err := readKeyFile(path, 0o077, "chmod 600")
	if err != nil {
		return nil, err
	}
	p, rest := pem.Decode(data)
	if p == nil || p.Type != "PRIVATE KEY" || len(bytes.TrimSpace(rest)) > 0 {
		return nil, fmt.Errorf("%s does not hold one PRIVATE KEY in PEM", path)
	}
	key, err := x509.ParsePKCS8PrivateKey(p.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s does not hold a PKCS #8 key", path) // the parser's error could contain parts of the key
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s holds a key that is not ed25519; brigd token keygen makes one", path)
	}
	return private, nil
}

// ReadPublicKeys reads the trusted keys: one or more PEM blocks of PKIX. With several, a new key can be trusted before
// the old one is removed. It is an error if the file is a symbolic link, or if other users may write it.
func ReadPublicKeys(path string) (keys []ed25519.PublicKey, err error) {
	data, err := readKeyFile(path, 0o022, "chmod go-w")
	if err != nil {
		return nil, err
	}
	for len(bytes.TrimSpace(data)) > 0 {
		var p *pem.Block
		if p, data = pem.Decode(data); p == nil || p.Type != "PUBLIC KEY" {
			return nil, fmt.Errorf("%s: block %d is not a PUBLIC KEY in PEM", path, len(keys)+1)
		}
		key, err := x509.ParsePKIXPublicKey(p.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: block %d: %w", path, len(keys)+1, err)
		}
		public, ok := key.(ed25519.PublicKey)
		if !ok {
			return nil, fmt.Errorf("%s: block %d is not an ed25519 key", path, len(keys)+1)
		}
		keys = append(keys, public)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s holds no key", path)
	}
	return keys, nil
}

// readKeyFile reads a regular file. It is an error if other users have one of the permissions in forbidden.
func readKeyFile(path string, forbidden uint32, remedy string) ([]byte, error) {
	const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK
	f, err := sys.Open(unix.AT_FDCWD, path, path, flags, func(st *unix.Stat_t) error {
		switch {
		case st.Mode&unix.S_IFMT != unix.S_IFREG:
			return fmt.Errorf("%s is not a regular file", path)
		case st.Uid != 0 && int(st.Uid) != os.Geteuid():
			return fmt.Errorf("%s belongs to user %d, and must be root's or that of user %d", path, st.Uid, os.Geteuid())
		case st.Mode&forbidden != 0:
			return fmt.Errorf("%s has mode %04o, which lets others at it: %s %s", path, st.Mode&0o7777, remedy, path)
		case st.Size > maxKeyFile:
			return fmt.Errorf("%s has %d bytes, more than the %d of a file of keys", path, st.Size, maxKeyFile)
		}
		return nil
	})
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%s is a symbolic link; name the file itself", path)
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxKeyFile))
}
