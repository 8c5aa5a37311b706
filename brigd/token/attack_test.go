package token

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
)

// chain is a token of three blocks and all that its holders have seen: what each step ended with.
type chain struct {
	public ed25519.PublicKey
	steps  []*Token
}

func newChain(t testing.TB) chain {
	public, private := newKey(t)
	a := must.Get(Mint(private, Block{Expires: noon.Add(time.Hour)}))(t)
	b := must.Get(Attenuate(a, Block{Runs: 5, Agent: "b"}))(t)
	c := must.Get(Attenuate(b, Block{Policy: json.RawMessage(`{"languages":["python"]}`), Runs: 1}))(t)
	return chain{public, []*Token{a, b, c}}
}

func (c *chain) last() *Token { return c.steps[2] }

// forge returns an attacker's token: the text of what edit makes of a copy, read again.
func forge(t testing.TB, tok *Token, edit func(*Token)) *Token {
	t.Helper()
	out := &Token{issuer: tok.issuer, blocks: slices.Clone(tok.blocks), secret: tok.secret, seal: tok.seal}
	edit(out)
	return again(t, out)
}

func recontent(t testing.TB, b *block, edit func(*Block)) {
	t.Helper()
	edit(&b.Block)
	var err error
	if b.content, err = b.encode(); err != nil {
		t.Fatal(err)
	}
}

func TestForgery(t *testing.T) {
	c, other := newChain(t), newChain(t)
	mine, myKey := newKey(t)
	sealed := must.Get(Seal(c.last()))(t)
	resign := func(f *Token, i int, key ed25519.PrivateKey) {
		f.blocks[i].signature = ed25519.Sign(key, f.signed(i))
	}
	attacks := map[string]*Token{
		"last block dropped":   forge(t, c.last(), func(f *Token) { f.blocks = f.blocks[:2] }),
		"two blocks dropped":   forge(t, c.last(), func(f *Token) { f.blocks = f.blocks[:1] }),
		"first block dropped":  forge(t, c.last(), func(f *Token) { f.blocks = f.blocks[1:] }),
		"middle block dropped": forge(t, c.last(), func(f *Token) { f.blocks = slices.Delete(f.blocks, 1, 2) }),
		"blocks exchanged": forge(t, c.last(),
			func(f *Token) { f.blocks[1], f.blocks[2] = f.blocks[2], f.blocks[1] }),
		"block from another token": forge(t, c.last(), func(f *Token) { f.blocks[2] = other.last().blocks[2] }),
		"first block from another": forge(t, c.last(), func(f *Token) { f.blocks[0] = other.last().blocks[0] }),
		"block of a later position": forge(t, c.steps[1],
			func(f *Token) { f.blocks[1] = c.last().blocks[2]; f.secret = c.last().secret }),
		"block doubled":               forge(t, c.last(), func(f *Token) { f.blocks = append(f.blocks, f.blocks[2]) }),
		"another secret at the end":   forge(t, c.last(), func(f *Token) { f.secret = myKey.Seed() }),
		"seal cut, secret invented":   forge(t, sealed, func(f *Token) { f.seal, f.secret = nil, myKey.Seed() }),
		"seal by another key":         forge(t, sealed, func(f *Token) { f.seal = ed25519.Sign(myKey, f.sealed()) }),
		"last block dropped, seal on": forge(t, sealed, func(f *Token) { f.blocks = f.blocks[:2] }),
		"block's signature as a seal": forge(t, c.last(),
			func(f *Token) { f.seal, f.blocks = f.blocks[2].signature, f.blocks[:2] }),
		"runs raised": forge(t, c.last(),
			func(f *Token) { recontent(t, &f.blocks[1], func(b *Block) { b.Runs = 500 }) }),
		"expiry removed": forge(t, c.last(),
			func(f *Token) { recontent(t, &f.blocks[0], func(b *Block) { b.Expires = time.Time{} }) }),
		"policy emptied": forge(t, c.last(), func(f *Token) {
			recontent(t, &f.blocks[2], func(b *Block) { b.Policy = nil })
			resign(f, 2, ed25519.NewKeyFromSeed(f.secret))
		}),
		"next key exchanged": forge(t, c.last(), func(f *Token) { f.blocks[2].next, f.secret = mine, myKey.Seed() }),
		"re-signed by a stranger": forge(t, c.last(), func(f *Token) {
			recontent(t, &f.blocks[0], func(b *Block) { b.Expires = time.Time{} })
			resign(f, 0, myKey)
		}),
		"next key exchanged, chain re-signed": forge(t, c.last(), func(f *Token) {
			f.blocks[1].next = mine
			recontent(t, &f.blocks[2], func(b *Block) { b.Runs = 0 })
			resign(f, 2, myKey)
		}),
		"key of low order": forge(t, c.last(), func(f *Token) {
			f.blocks[2].next, f.seal = make([]byte, 32), make([]byte, 64)
			f.blocks[2].next[0], f.seal[0] = 1, 1 // the identity, under which this signature fits everything
		}),
		"signature plus the order": forge(t, c.last(), func(f *Token) {
			f.blocks[2].signature = plusOrder(f.blocks[2].signature)
		}),
	}
	for what, f := range attacks {
		wants(t, what, Verify(f, []ed25519.PublicKey{c.public, other.public}, noon), CodeSignature, f, c.last())
	}
	self := must.Get(Mint(myKey, Block{}))(t)
	wants(t, "the attacker's own", Verify(self, []ed25519.PublicKey{c.public}, noon), CodeUntrusted, self)
	claimed := forge(t, self, func(f *Token) { f.issuer = issuerOf(c.public) })
	wants(t, "the attacker's own under the issuer's name", Verify(claimed, []ed25519.PublicKey{c.public}, noon),
		CodeSignature)
	if err := Verify(again(t, c.last()), []ed25519.PublicKey{c.public}, noon); err != nil {
		t.Errorf("the token itself: %v", err)
	}
	_, err := Attenuate(attacks["last block dropped"], Block{})
	wants(t, "narrowing what was cut off", err, CodeSignature)
}

// plusOrder adds the order of the group to the second half of a signature, which a lax verifier takes for the same.
func plusOrder(sig []byte) []byte {
	order := []byte{0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10}
	out, carry := slices.Clone(sig), 0
	for i, o := range order {
		carry += int(out[32+i]) + int(o)
		out[32+i], carry = byte(carry), carry>>8
	}
	return out
}

// After any change of one character, Parse refuses the text or Verify refuses the token. So no second text of a token
// and no other token can be made.
func TestEveryCharacterCounts(t *testing.T) {
	c := newChain(t)
	for _, tok := range []*Token{c.last(), must.Get(Seal(c.last()))(t)} {
		text := tok.Text()
		for i := range text {
			for _, r := range []byte("Aa0_-=\n +/.") {
				if text[i] == r {
					continue
				}
				if f, err := Parse(text[:i] + string(r) + text[i+1:]); err == nil &&
					Verify(f, []ed25519.PublicKey{c.public}, noon) == nil {
					t.Fatalf("character %d as %q is accepted", i, r)
				}
			}
			if f, err := Parse(text[:i]); err == nil && Verify(f, []ed25519.PublicKey{c.public}, noon) == nil {
				t.Fatalf("the first %d characters are accepted", i)
			}
		}
	}
}

// A holder who uses one key for the next block of two tokens cannot carry over what others add to the first.
func TestReusedKey(t *testing.T) {
	public, private := newKey(t)
	shared, sharedKey := newKey(t)
	base := must.Get(Mint(private, Block{}))(t)
	baseKey := ed25519.NewKeyFromSeed(base.secret)
	with := func(runs int64) *Token {
		return forge(t, must.Get(Attenuate(base, Block{Runs: runs}))(t), func(f *Token) {
			f.blocks[1].next, f.secret = shared, sharedKey.Seed()
			f.blocks[1].signature = ed25519.Sign(baseKey, f.signed(1))
		})
	}
	few, many := with(1), with(1000)
	verified(t, public, few)
	added, sealed := must.Get(Attenuate(few, Block{Note: "paid"}))(t), must.Get(Seal(few))(t)
	for what, f := range map[string]*Token{
		"block": forge(t, added, func(f *Token) { f.blocks[1] = many.blocks[1] }),
		"seal":  forge(t, sealed, func(f *Token) { f.blocks[1] = many.blocks[1] }),
	} {
		wants(t, what, Verify(f, []ed25519.PublicKey{public}, noon), CodeSignature)
	}
}

// The last character of a text may have bits that no byte needs; they must be zero, or there would be several texts.
func TestSpareBits(t *testing.T) {
	_, private := newKey(t)
	for n := range 3 {
		text := must.Get(Mint(private, Block{Note: strings.Repeat("n", n+1)}))(t).Text()
		last := 0
		for _, r := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" {
			if f, err := Parse(text[:len(text)-1] + string(r)); err == nil {
				last++
				again(t, f)
			}
		}
		if spare := 64 >> (2 * ((3 - (len(text)-len(prefix))*6/8%3) % 3)); last != spare {
			t.Errorf("%d last characters are read, want %d", last, spare)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	c := newChain(t)
	text := c.last().Text()
	raw := must.Get(base64.RawURLEncoding.DecodeString(text[len(prefix):]))(t)
	encode := func(b []byte) string { return prefix + base64.RawURLEncoding.EncodeToString(b) }
	with := func(content string) string { // block 0 with another content
		f := &Token{issuer: c.last().issuer, blocks: slices.Clone(c.steps[0].blocks), secret: c.last().secret}
		f.blocks[0].content = []byte(content)
		return f.Text()
	}
	count := func(n byte) []byte { out := slices.Clone(raw); out[issuerSize] = n; return out }
	for what, text := range map[string]string{
		"empty": "", "prefix only": prefix, "another version": "brig2." + text[len(prefix):], "no prefix": text[len(prefix):],
		"a JWT": "eyJhbGciOiJub25lIn0.eyJhZ2VudCI6IngifQ.", "JSON": `{"agent":"x"}`,
		"capitals":     "BRIG1." + text[len(prefix):],
		"blank before": " " + text, "newline after": text + "\n", "newline inside": text[:50] + "\r\n" + text[50:],
		"padded":          text + "=",
		"standard base64": prefix + base64.RawStdEncoding.EncodeToString(append([]byte{0xfb, 0xff, 0xbf}, raw...)),
		"too long":        prefix + strings.Repeat("A", MaxText), "byte after the end": encode(append(slices.Clone(raw), 0)),
		"token after the end": encode(append(slices.Clone(raw), raw...)), "no blocks": encode(count(0)),
		"17 blocks":        encode(count(17)),
		"four blocks said": encode(count(4)), "two blocks said": encode(count(2)),
		"another end": encode(append(slices.Clone(raw[:len(raw)-33]), append([]byte{2}, raw[len(raw)-32:]...)...)),
		"field twice": with(`{"runs":1,"runs":2}`), "unknown field": with(`{"admin":true}`),
		"capital field": with(`{"Runs":1}`), "blank": with(`{"runs": 1}`),
		"order": with(`{"runs":1,"agent":"a"}`), "float": with(`{"runs":1e0}`), "null": with(`null`),
		"null field": with(`{"agent":null}`), "zero": with(`{"runs":0}`),
		"array": with(`[]`), "two values": with(`{}{}`), "nothing": with(``), "escape": with(`{"agent":"\u0061"}`),
		"negative": with(`{"runs":-1}`), "policy null": with(`{"policy":null}`),
		"policy twice": with(`{"policy":{"a":1,"a":2}}`), "policy blank": with(`{"policy":{"a": 1}}`),
		"deep": with(`{"policy":` + strings.Repeat(`{"a":`, 11000/5) + "0" + strings.Repeat("}", 11000/5) + `x`),
		"note": with(`{"note":"` + "\x1b" + `"}`), "huge number": with(`{"runs":99999999999999999999}`),
		"broken UTF-8": with("{\"note\":\"\xff\"}"),
		"agent again":  forgeText(c),
	} {
		tok, err := Parse(text)
		if err == nil {
			t.Errorf("%s: read as %v", what, tok)
			continue
		}
		wants(t, what, err, CodeMalformed)
		if len(text) > 60 && strings.Contains(err.Error(), text[20:60]) {
			t.Errorf("%s: the error holds the token", what)
		}
	}
}

// forgeText is a token in which two blocks name the agent.
func forgeText(c chain) string {
	f := &Token{issuer: c.last().issuer, blocks: slices.Clone(c.last().blocks), secret: c.last().secret}
	f.blocks[2] = f.blocks[1]
	return f.Text()
}

// fixed is a chain that is the same each time.
func fixed(t testing.TB) chain {
	t.Helper()
	key := func(n byte) ed25519.PrivateKey { return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, 32)) }
	public := func(n byte) ed25519.PublicKey { return key(n).Public().(ed25519.PublicKey) }
	tok := &Token{issuer: issuerOf(public(0))}
	c := chain{public: public(0)}
	for i, b := range []Block{{Expires: noon.Add(time.Hour), Agent: "b"}, {Runs: 5, Note: "é"},
		{Policy: json.RawMessage(`{"languages":["python"]}`)}} {
		n := block{next: public(byte(i + 1))}
		recontent(t, &n, func(to *Block) { *to = b })
		tok = &Token{issuer: tok.issuer, blocks: append(slices.Clip(tok.blocks), n), secret: key(byte(i + 1)).Seed()}
		tok.blocks[i].signature = ed25519.Sign(key(byte(i)), tok.signed(i))
		c.steps = append(c.steps, again(t, tok))
	}
	return c
}

// The format of version 1 does not change: tokens are kept.
func TestFormatStays(t *testing.T) {
	c := fixed(t)
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(c.last().Text()))); sum != goldenText || c.last().ID() != goldenID {
		t.Errorf("the token is now %s with the id %s", sum, c.last().ID())
	}
	verified(t, c.public, c.last())
}

const (
	goldenText = "c753aadd7d261c7f67f302ef05d6be22b3c668d35762eae997cd92e989ee9125"
	goldenID   = "7a95482b6356d1efe50bb81171efbb8e"
)

func FuzzParse(f *testing.F) {
	c := fixed(f)
	f.Add(c.last().Text())
	f.Add(must.Get(Seal(c.last()))(f).Text())
	f.Add(prefix)
	f.Add(c.steps[0].Text()[:100])
	f.Fuzz(func(t *testing.T, text string) {
		tok, err := Parse(text)
		if err != nil {
			wants(t, "parse", err, CodeMalformed)
			return
		}
		if tok.Text() != text {
			t.Fatalf("%q is written as %q", text, tok.Text())
		}
		if err := Verify(tok, []ed25519.PublicKey{c.public}, noon); err == nil && !slices.Contains(tok.IDs(), c.last().ID()) {
			t.Fatalf("forged: %q", text)
		}
		_, _, _ = tok.Expires(), tok.Policies(), tok.Blocks()
	})
}
