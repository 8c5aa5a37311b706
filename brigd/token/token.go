package token

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"
)

// Token is a parsed token. Its methods may be called concurrently. Until Verify has accepted the token, the values that
// they return are unverified claims.
type Token struct {
	issuer [issuerSize]byte
	blocks []block
	secret []byte // seed of the last key; nil in a sealed token
	seal   []byte

	// trusted is the issuer's public key with which Verify has checked the signatures.
	trusted atomic.Pointer[[32]byte]
}

// ID returns the id of the last block, which identifies the content of the whole token: 32 hexadecimal digits. It is
// not secret.
func (t *Token) ID() string { return t.blocks[len(t.blocks)-1].id }

// IDs returns the ids of all blocks, the issuer's first. A narrowed token has the ids of the original token and one
// more.
func (t *Token) IDs() (ids []string) {
	for _, b := range t.blocks {
		ids = append(ids, b.id)
	}
	return ids
}

// Agent returns the agent for which the holder acts, or "" if no block names one.
func (t *Token) Agent() string {
	for _, b := range t.blocks {
		if b.Agent != "" {
			return b.Agent
		}
	}
	return ""
}

// Policies returns the policies of all blocks that have one, the issuer's first. All of them must allow a run.
func (t *Token) Policies() (list []json.RawMessage) {
	for _, b := range t.blocks {
		if len(b.Policy) > 0 {
			list = append(list, b.Policy)
		}
	}
	return list
}

// Blocks returns the content of each block, the issuer's first.
func (t *Token) Blocks() (list []Block) {
	for _, b := range t.blocks {
		list = append(list, b.Block)
	}
	return list
}

// Expires returns the earliest expiry of all blocks, or the zero time if none has one.
func (t *Token) Expires() time.Time { return t.expiresAt(len(t.blocks) - 1) }

// expiresAt returns when all tokens that begin with the blocks up to i have expired.
func (t *Token) expiresAt(i int) (first time.Time) {
	for _, b := range t.blocks[:i+1] {
		if !b.Expires.IsZero() && (first.IsZero() || b.Expires.Before(first)) {
			first = b.Expires
		}
	}
	return first
}

// NotBefore returns the latest start of all blocks, or the zero time if none has one.
func (t *Token) NotBefore() (last time.Time) {
	for _, b := range t.blocks {
		if b.NotBefore.After(last) {
			last = b.NotBefore
		}
	}
	return last
}

// Sealed reports whether the token is sealed and cannot be narrowed.
func (t *Token) Sealed() bool { return t.seal != nil }

// Issuer returns the id of the key that signed the token: see KeyID.
func (t *Token) Issuer() string { return fmt.Sprintf("%x", t.issuer) }

// String returns a description for logs, not the token itself.
func (t *Token) String() string {
	return fmt.Sprintf("token %s (blocks: %d, issuer: %s)", t.ID(), len(t.blocks), t.Issuer())
}

// GoString returns String, so that %#v does not print the secret.
func (t *Token) GoString() string { return t.String() }

// MarshalText returns String, so that logging a struct that contains the token does not leak it. Use Text for the
// token.
func (t *Token) MarshalText() ([]byte, error) {
	return []byte(t.String()), nil
}
