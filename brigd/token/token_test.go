package token

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/brigd/job"
	"brig/internal/test/must"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func newKey(t testing.TB) (ed25519.PublicKey, ed25519.PrivateKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return public, private
}

// wants fails the test unless an error is a Refusal of this layer with the code, and holds none of the tokens.
func wants(t testing.TB, what string, err error, code string, secrets ...*Token) {
	t.Helper()
	var r *job.Refusal
	if !errors.As(err, &r) || r.Layer != "token" || r.Code != code || len(r.NextSteps) == 0 {
		t.Errorf("%s: got %#v, want a refusal with the code %s", what, err, code)
		return
	}
	text, _ := json.Marshal(r)
	for _, s := range secrets {
		if strings.Contains(string(text), s.Text()[6:]) {
			t.Errorf("%s: the refusal holds the token", what)
		}
	}
}

// again is t as somebody else reads it: nothing is remembered.
func again(t testing.TB, tok *Token) *Token {
	t.Helper()
	out := must.Get(Parse(tok.Text()))(t)
	if out.Text() != tok.Text() {
		t.Fatal("a token's text changes when it is read and written")
	}
	return out
}

func TestTokenSaysWhatItsBlocksSay(t *testing.T) {
	public, private := newKey(t)
	tok := must.Get(Mint(private, Block{Agent: "ci.build@x", Expires: noon.Add(time.Hour),
		Policy: json.RawMessage(`{ "a": [1, {"b": "<&>\u2028"}] }`)}))(t)
	first := tok.ID()
	tok = must.Get(Attenuate(again(t, tok), Block{Runs: 5, NotBefore: noon, Note: "für ü"}))(t)
	tok = must.Get(Attenuate(again(t, tok), Block{Expires: noon.Add(time.Minute), Policy: json.RawMessage(`{}`)}))(t)
	tok = again(t, tok)
	must.Do(t, Verify(tok, []ed25519.PublicKey{public}, noon))
	ids := tok.IDs()
	if len(ids) != 3 || ids[0] != first || ids[2] != tok.ID() || tok.Agent() != "ci.build@x" || len(tok.Policies()) != 2 {
		t.Errorf("%v: %v %q %q", tok, ids, tok.Agent(), tok.Policies())
	}
	if !tok.Expires().Equal(noon.Add(time.Minute)) || !tok.NotBefore().Equal(noon) || tok.Blocks()[1].Runs != 5 {
		t.Errorf("expires %v, not before %v, blocks %v", tok.Expires(), tok.NotBefore(), tok.Blocks())
	}
	for _, text := range []string{fmt.Sprint(tok), fmt.Sprintf("%+v %#v", tok, tok),
		func() string { b, _ := json.Marshal(tok); return string(b) }()} {
		if strings.Contains(text, tok.Text()[6:40]) || strings.Contains(text, fmt.Sprint(tok.secret[:4])) {
			t.Errorf("%q shows the token", text)
		}
	}
	sealed := again(t, must.Get(Seal(tok))(t))
	if err := Verify(sealed, []ed25519.PublicKey{public}, noon); err != nil {
		t.Error(err)
	}
	if sealed.ID() != tok.ID() || !sealed.Sealed() {
		t.Error("a seal changes the id")
	}
	_, err := Attenuate(sealed, Block{})
	wants(t, "a block on a sealed token", err, CodeSealed, tok, sealed)
	_, err = Seal(sealed)
	wants(t, "a second seal", err, CodeSealed)
}

func TestTimeAndKeys(t *testing.T) {
	old, oldPrivate := newKey(t)
	public, private := newKey(t)
	stranger, _ := newKey(t)
	tok := must.Get(Mint(private, Block{Expires: noon.Add(time.Hour), NotBefore: noon}))(t)
	for _, c := range []struct {
		what string
		keys []ed25519.PublicKey
		at   time.Time
		code string
	}{
		{"in time", []ed25519.PublicKey{public}, noon, ""},
		{"two keys trusted", []ed25519.PublicKey{old, public}, noon.Add(time.Hour - 1), ""},
		{"too early", []ed25519.PublicKey{public}, noon.Add(-1), CodeNotYetValid},
		{"too late", []ed25519.PublicKey{public}, noon.Add(time.Hour), CodeExpired},
		{"another key", []ed25519.PublicKey{stranger, old}, noon, CodeUntrusted},
		{"no key", nil, noon, CodeUntrusted},
		{"a short key", []ed25519.PublicKey{public[:31]}, noon, CodeUntrusted},
	} {
		for _, reused := range []*Token{again(t, tok), tok} { // the second remembers that its signatures hold
			err := Verify(reused, c.keys, c.at)
			if c.code != "" {
				wants(t, c.what, err, c.code, tok)
			} else if err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
		}
	}
	if err := Verify(must.Get(Mint(oldPrivate, Block{}))(t), []ed25519.PublicKey{old, public}, noon); err != nil {
		t.Errorf("while keys are changed: %v", err)
	}
}

func TestNeverWider(t *testing.T) {
	_, private := newKey(t)
	tok := must.Get(Mint(private, Block{Agent: "a", Expires: noon}))(t)
	for _, b := range []Block{{Agent: "b"}, {Agent: "a"}, {Expires: noon.Add(time.Second)}} {
		_, err := Attenuate(tok, b)
		wants(t, fmt.Sprintf("%+v", b), err, CodeWider, tok)
	}
	for len(tok.blocks) < MaxBlocks {
		tok = must.Get(Attenuate(tok, Block{}))(t)
	}
	_, err := Attenuate(tok, Block{})
	wants(t, "one block too many", err, CodeWider, tok)
	again(t, tok)
}

func TestWhatABlockMayHold(t *testing.T) {
	_, private := newKey(t)
	big := json.RawMessage(`{"a":"` + strings.Repeat("x", MaxText) + `"}`)
	for _, b := range []Block{
		{Agent: "a b"}, {Agent: "-a"}, {Agent: "a/b"}, {Agent: "a\n"}, {Agent: "ä"}, {Agent: strings.Repeat("a", MaxAgent+1)},
		{Note: "\x1b[2J"}, {Note: "\u202e"},
		{Note: "\xff"}, {Note: strings.Repeat("n", MaxNote+1)}, {Runs: -1}, {Runs: MaxRuns + 1},
		{Policy: json.RawMessage(`[]`)},
		{Policy: json.RawMessage(`null`)}, {Policy: json.RawMessage(`{}{}`)}, {Policy: json.RawMessage(`{"a":1,"a":2}`)},
		{Policy: json.RawMessage(`{"x":[{"a":[],"b":{},"a":0}]}`)}, {Policy: json.RawMessage("{\"a\":\"\xff\"}")},
		{Policy: big},
		{Expires: time.Unix(-5, 0)}, {Expires: time.Unix(maxTime+1, 0)},
	} {
		if tok, err := Mint(private, b); err == nil {
			t.Errorf("minted %v with %.80q", tok, fmt.Sprint(b))
		}
	}
	fits := must.Get(Mint(private, Block{Policy: json.RawMessage(`{"a":"` + strings.Repeat("x", 12000) +
		`","b":[{"a":1},{"a":1}]}`)}))(t)
	again(t, fits)
	if !slices.ContainsFunc([]error{func() error {
		_,
			err := Attenuate(fits, Block{Note: strings.Repeat("n", 200)})
		return err
	}()},
		func(e error) bool { return e != nil }) {
		t.Error("a token that is too long was made")
	}
}
