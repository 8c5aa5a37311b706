package token

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
)

const (
	prefix = "brig1."

	domainBlock = "brig token 1: block\x00"
	domainSeal  = "brig token 1: seal\x00"
	domainID    = "brig token 1: id\x00"

	endSecret = 0
	endSeal   = 1

	issuerSize = 8
)

// block is a Block with its place in a token.
type block struct {
	Block
	id        string
	content   []byte
	next      ed25519.PublicKey
	signature []byte
}

// Like reports whether a text begins as tokens do. It does not check the token.
func Like(text string) bool { return strings.HasPrefix(text, prefix) }

// signed returns the text that the signature of block i covers.
func (t *Token) signed(i int) []byte {
	before := make([]byte, ed25519.SignatureSize)
	if i > 0 {
		before = t.blocks[i-1].signature
	}
	out := append([]byte(domainBlock), byte(i))
	out = append(out, t.issuer[:]...)
	out = append(out, before...)
	return t.blocks[i].append(out)
}

// append adds the signed part of a raw block.
func (b *block) append(out []byte) []byte {
	out = binary.BigEndian.AppendUint16(out, uint16(len(b.content)))
	return append(append(out, b.content...), b.next...)
}

// name sets the block's id.
func (b *block) name(signed []byte) {
	sum := sha256.Sum256(slices.Concat([]byte(domainID), signed, b.signature))
	b.id = hex.EncodeToString(sum[:idSize])
}

// body returns the raw token without its end.
func (t *Token) body() []byte {
	out := append(t.issuer[:len(t.issuer):len(t.issuer)], byte(len(t.blocks)))
	for i := range t.blocks {
		out = append(t.blocks[i].append(out), t.blocks[i].signature...)
	}
	return out
}

// Text returns the token itself. Anyone who has it can use it, so it must not appear in logs or arguments.
func (t *Token) Text() string {
	out := append(append(t.body(), endSecret), t.secret...)
	if t.seal != nil {
		out = append(append(t.body(), endSeal), t.seal...)
	}
	return prefix + base64.RawURLEncoding.EncodeToString(out)
}

// reader reads the parts of a raw token. It sets short if bytes are missing.
type reader struct {
	data  []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if r.short || n > len(r.data) {
		r.short = true
		return nil
	}
	out := r.data[:n:n]
	r.data = r.data[n:]
	return out
}

func (r *reader) number(size int) (n int) {
	for _, c := range r.take(size) {
		n = n<<8 | int(c)
	}
	return n
}

// Parse parses a token's text. It does not check the signatures: see Verify. Each token has exactly one text; no other
// form is accepted. The error is a *job.Refusal.
func Parse(text string) (*Token, error) {
	if len(text) > MaxText {
		return nil, malformed("it is longer than %d bytes", MaxText)
	}
	body, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return nil, malformed("it does not begin with %s", prefix)
	}
	if strings.ContainsAny(body, "\r\n") { // package base64 would ignore these
		return nil, malformed("it has a line break in it")
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(body)
	if err != nil {
		return nil, malformed("what follows %s is not unpadded base64url", prefix)
	}
	r := &reader{data: raw}
	t := &Token{}
	copy(t.issuer[:], r.take(issuerSize))
	count := r.number(1)
	if !r.short && (count < 1 || count > MaxBlocks) {
		return nil, malformed("it has %d blocks and may have 1 to %d", count, MaxBlocks)
	}
	if err := t.readBlocks(r, count); err != nil {
		return nil, err
	}
	switch end := r.number(1); {
	case r.short: // reported below
	case end == endSecret:
		t.secret = r.take(ed25519.SeedSize)
	case end == endSeal:
		t.seal = r.take(ed25519.SignatureSize)
	default:
		return nil, malformed("it ends in a way that this brig does not know")
	}
	if r.short {
		return nil, malformed("a part of it is missing")
	}
	if len(r.data) > 0 {
		return nil, malformed("%d bytes follow its end", len(r.data))
	}
	return t, nil
}

func (t *Token) readBlocks(r *reader, count int) error {
	for i := range count {
		b := block{content: r.take(r.number(2)), next: r.take(ed25519.PublicKeySize),
			signature: r.take(ed25519.SignatureSize)}
		if r.short {
			return malformed("a part of it is missing")
		}
		var err error
		if b.Block, err = decode(b.content); err != nil {
			return malformed("block %d: %v", i, err)
		}
		if b.Agent != "" && t.Agent() != "" {
			return malformed("block %d names an agent, and an earlier one has", i)
		}
		t.blocks = append(slices.Clip(t.blocks), b)
		t.blocks[i].name(t.signed(i))
	}
	return nil
}
