package token

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"
)

// Token is a parsed one. Its methods may be called by many at a time. Until Verify has accepted it, what they return is
// only claimed.
type Token struct {
	issuer [issuerSize]byte
	blocks []block
	secret []byte // the last key's seed; nil in a sealed token
	seal   []byte

	// trusted is the issuer's public key that Verify has found the signatures to hold under.
	trusted atomic.Pointer[[32]byte]
}

// ID names the last block, and with it the content of the whole token: 32 hexadecimal digits. It is no secret.
func (t *Token) ID() string { return t.blocks[len(t.blocks)-1].id }

// IDs names all blocks, the issuer's first. A token that was narrowed has those of the one it came from, and one more.
func (t *Token) IDs() []string {
	ids := make([]string, len(t.blocks))
	for i := range t.blocks {
		ids[i] = t.blocks[i].id
	}
	return ids
}

// Agent returns on whose behalf its holder acts; "" if no block names an agent.
func (t *Token) Agent() string {
	for i := range t.blocks {
		if t.blocks[i].Agent != "" {
			return t.blocks[i].Agent
		}
	}
	return ""
}

// Policies are the policy documents of all blocks that have one, the issuer's first: all of them must allow.
func (t *Token) Policies() (list []json.RawMessage) {
	for i := range t.blocks {
		if p := t.blocks[i].Policy; len(p) > 0 {
			list = append(list, p)
		}
	}
	return list
}

// Blocks returns the content of each block, the issuer's first.
func (t *Token) Blocks() []Block {
	list := make([]Block, len(t.blocks))
	for i := range t.blocks {
		list[i] = t.blocks[i].Block
	}
	return list
}

// Runs maps the id of each block that limits the runs to its limit; a Ledger counts them. It is empty where none does.
func (t *Token) Runs() map[string]int64 {
	out := map[string]int64{}
	for i := range t.blocks {
		if n := t.blocks[i].Runs; n > 0 {
			out[t.blocks[i].id] = n
		}
	}
	return out
}

// Expires is when it ends: the earliest of all blocks; the zero time if none has one.
func (t *Token) Expires() time.Time { return t.expiresAt(len(t.blocks) - 1) }

// expiresAt is when every token that begins with the blocks up to i has ended.
func (t *Token) expiresAt(i int) (first time.Time) {
	for _, b := range t.blocks[:i+1] {
		if !b.Expires.IsZero() && (first.IsZero() || b.Expires.Before(first)) {
			first = b.Expires
		}
	}
	return first
}

// NotBefore is when it begins: the latest of all blocks; the zero time if none has one.
func (t *Token) NotBefore() (last time.Time) {
	for i := range t.blocks {
		if b := &t.blocks[i]; b.NotBefore.After(last) {
			last = b.NotBefore
		}
	}
	return last
}

// Sealed reports whether it cannot be narrowed any more.
func (t *Token) Sealed() bool { return t.seal != nil }

// Issuer is the id of the key that has signed it: see KeyID.
func (t *Token) Issuer() string { return fmt.Sprintf("%x", t.issuer) }

// String is for logs: it is not the token.
func (t *Token) String() string {
	return fmt.Sprintf("token %s (blocks: %d, issuer: %s)", t.ID(), len(t.blocks), t.Issuer())
}

// GoString is String, so that %#v shows no secret.
func (t *Token) GoString() string { return t.String() }

// MarshalText is String: a token that gets into a log by way of a struct around it would have leaked. Use Text.
func (t *Token) MarshalText() ([]byte, error) {
	return []byte(t.String()), nil
}
