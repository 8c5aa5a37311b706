package token

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"slices"
	"time"
)

// Mint creates a token of one block, signed with the issuer's key.
func Mint(key ed25519.PrivateKey, b Block) (*Token, error) {
	if len(key) != ed25519.PrivateKeySize {
		return nil, fmt.Errorf("mint: the key is no ed25519 private key")
	}
	t := &Token{issuer: issuerOf(key.Public().(ed25519.PublicKey))}
	return t.with(key, b)
}

// Attenuate returns a token that allows only what both t and b allow. It needs no key except the one in t, and does not
// check whether t is trusted. A block that would lift a restriction of t is refused, since it would have no effect. t
// is not modified.
func Attenuate(t *Token, b Block) (*Token, error) {
	key, err := t.lastKey()
	if err != nil {
		return nil, err
	}
	switch end := t.Expires(); {
	case b.Agent != "" && t.Agent() != "":
		return nil, refuse(CodeWider, "agent", "the token is the agent %s's already, and an agent cannot be changed",
			t.Agent())
	case !end.IsZero() && b.Expires.After(end):
		return nil, refuse(CodeWider, "expires", "the token expires at %s, and cannot be made to last longer", stamp(end))
	case len(t.blocks) == MaxBlocks:
		return nil, refuse(CodeWider, "", "the token has %d blocks already, which is the limit", MaxBlocks)
	}
	return t.with(key, b)
}

// with returns t with one more block, signed with key.
func (t *Token) with(key ed25519.PrivateKey, b Block) (*Token, error) {
	if b.Issued.IsZero() {
		b.Issued = time.Now()
	}
	content, err := b.encode()
	if err != nil {
		return nil, fmt.Errorf("a block of a token: %w", err)
	}
	if len(content) > MaxText {
		return nil, fmt.Errorf("a block of %d bytes: a token may have %d", len(content), MaxText)
	}
	public, next, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("a key for the next block: %w", err)
	}
	n := block{content: content, next: public}
	if n.Block, err = decode(content); err != nil {
		return nil, fmt.Errorf("a block of a token: %w", err)
	}
	out := &Token{issuer: t.issuer, blocks: append(slices.Clip(t.blocks), n), secret: next.Seed()}
	last, what := &out.blocks[len(t.blocks)], out.signed(len(t.blocks))
	last.signature = ed25519.Sign(key, what)
	last.name(what)
	if size := len(out.Text()); size > MaxText {
		return nil, fmt.Errorf("the token would be %d bytes long, and may be %d: give it a smaller policy or fewer blocks",
			size, MaxText)
	}
	return out, nil
}

// Seal returns a token that allows what t allows and cannot be narrowed: it contains no secret key.
func Seal(t *Token) (*Token, error) {
	key, err := t.lastKey()
	if err != nil {
		return nil, err
	}
	out := &Token{issuer: t.issuer, blocks: t.blocks}
	out.seal = ed25519.Sign(key, out.sealed())
	if size := len(out.Text()); size > MaxText {
		return nil, fmt.Errorf("the sealed token would be %d bytes long, and may be %d", size, MaxText)
	}
	return out, nil
}

// sealed returns the text that a seal signs.
func (t *Token) sealed() []byte { return append([]byte(domainSeal), t.body()...) }

// lastKey returns the key that signs the next block.
func (t *Token) lastKey() (ed25519.PrivateKey, error) {
	if t.seal != nil {
		return nil, refuse(CodeSealed, "", "the token is sealed: nobody can narrow it")
	}
	key := ed25519.NewKeyFromSeed(t.secret)
	if !bytes.Equal(key.Public().(ed25519.PublicKey), t.blocks[len(t.blocks)-1].next) {
		return nil, refuse(CodeSignature, "", "the token does not end with the key of its last block")
	}
	return key, nil
}

// Verify returns nil if one of the trusted keys has issued t, all blocks are complete and unmodified, and all are valid
// at the time now. Otherwise it returns a *job.Refusal, which contains only ids and times of the token. Verify does
// not check whether t is revoked or spent: see Ledger.
func Verify(t *Token, keys []ed25519.PublicKey, now time.Time) error {
	i := slices.IndexFunc(keys, func(k ed25519.PublicKey) bool {
		return len(k) == ed25519.PublicKeySize && issuerOf(k) == t.issuer
	})
	if i < 0 {
		return refuse(CodeUntrusted, "issuer", "the token was issued with the key %s, which is not trusted here", t.Issuer())
	}
	root := [32]byte(keys[i])
	if seen := t.trusted.Load(); seen == nil || *seen != root {
		if err := t.checkSignatures(keys[i]); err != nil {
			return err
		}
		t.trusted.Store(&root)
	}
	return t.checkTime(now)
}

func (t *Token) checkSignatures(key ed25519.PublicKey) error {
	for i, b := range t.blocks {
		if !ed25519.Verify(key, t.signed(i), b.signature) {
			return refuse(CodeSignature, "", "the signature of block %d does not fit", i)
		}
		key = b.next
	}
	if t.seal != nil {
		if !ed25519.Verify(key, t.sealed(), t.seal) {
			return refuse(CodeSignature, "", "the seal does not fit")
		}
		return nil
	}
	_, err := t.lastKey()
	return err
}

func (t *Token) checkTime(now time.Time) error {
	if end := t.Expires(); !end.IsZero() && !now.Before(end) {
		return refuse(CodeExpired, "expires", "the token has expired at %s", stamp(end))
	}
	if begin := t.NotBefore(); now.Before(begin) {
		return refuse(CodeNotYetValid, "not_before", "the token is valid from %s on", stamp(begin))
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
