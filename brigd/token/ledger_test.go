package token

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brig/internal/test/must"
)

func open(t testing.TB, dir string) *Ledger {
	t.Helper()
	l := must.Get(OpenLedger(dir))(t)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// verified is t as the issuer's service has accepted it.
func verified(t testing.TB, public ed25519.PublicKey, tok *Token) *Token {
	t.Helper()
	must.Do(t, Verify(tok, []ed25519.PublicKey{public}, noon))
	return tok
}

func TestSpendCountsAllBlocksOrNone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "l")
	l := open(t, dir)
	public, private := newKey(t)
	base := must.Get(Mint(private, Block{Runs: 3, Expires: noon.Add(time.Hour)}))(t)
	wants(t, "not verified", l.Spend(base, noon), CodeSignature)
	one := verified(t, public, must.Get(Attenuate(base, Block{Runs: 1}))(t))
	two := verified(t, public, must.Get(Attenuate(base, Block{Runs: 9}))(t))
	verified(t, public, base)
	steps := []struct {
		tok  *Token
		code string
	}{{one, ""}, {one, CodeSpent}, {two, ""}, {base, ""}, {base, CodeSpent}, {two, CodeSpent}}
	for i, s := range steps {
		if i == 3 { // what is counted is counted after a restart
			must.Do(t, l.Close())
			wants(t, "closed", l.Spend(base, noon), CodeLedger)
			l = open(t, dir)
		}
		err := l.Spend(s.tok, noon)
		if s.code != "" {
			wants(t, fmt.Sprint("step ", i), err, s.code, s.tok)
		} else if err != nil {
			t.Errorf("step %d: %v", i, err)
		}
	}
	if a, b, c := l.Used(base.ID()), l.Used(one.ID()), l.Used(two.ID()); a != 3 || b != 1 || c != 1 {
		t.Errorf("used %d %d %d, want 3 1 1: a refused run was counted", a, b, c)
	}
	wants(t, "expired", l.Spend(base, noon.Add(time.Hour)), CodeExpired)
}

func TestTokensWithoutRunsWriteNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "l")
	l := open(t, dir)
	public, private := newKey(t)
	tok := verified(t, public, must.Get(Mint(private, Block{Agent: "x"}))(t))
	before, err := os.ReadFile(dir + "/" + countsFile)
	for range 100 {
		must.Do(t, l.Spend(tok, noon))
	}
	if after, err2 := os.ReadFile(dir + "/" + countsFile); err != nil || err2 != nil || !bytes.Equal(before, after) {
		t.Errorf("the database has changed: %v %v", err, err2)
	}
}

func TestSpendAtOnce(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l"))
	public, private := newKey(t)
	const limit, asked = 70, 300
	tok := verified(t, public, must.Get(Mint(private, Block{Runs: limit}))(t))
	var allowed atomic.Int64
	var wait sync.WaitGroup
	for range asked {
		wait.Go(func() {
			if l.Spend(tok, noon) == nil {
				allowed.Add(1)
			}
		})
	}
	wait.Wait()
	if allowed.Load() != limit || l.Used(tok.ID()) != limit {
		t.Errorf("%d of %d runs were allowed, and %d counted", allowed.Load(), limit, l.Used(tok.ID()))
	}
}

func TestRevoked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "l")
	if err := Revoke(dir, strings.Repeat("0", 32), "", time.Time{}); err == nil {
		t.Error("revoked in a directory that is no ledger")
	}
	l := open(t, dir)
	public, private := newKey(t)
	base := verified(t, public, must.Get(Mint(private, Block{Runs: 1000}))(t))
	child := verified(t, public, must.Get(Attenuate(base, Block{}))(t))
	sibling := verified(t, public, must.Get(Attenuate(base, Block{}))(t))
	for range 2 { // beside the open ledger, and twice
		must.Do(t, Revoke(dir, child.ID(), "lost \"it\"", time.Time{}))
	}
	wants(t, "child", l.Spend(child, noon), CodeRevoked, child)
	if err := l.Spend(sibling, noon); err != nil {
		t.Error(err)
	}
	must.Do(t, l.Revoke(base.ID(), ""))
	for _, tok := range []*Token{base, child, sibling} {
		wants(t, "all", l.Spend(tok, noon), CodeRevoked)
	}
	for _, id := range []string{"", "..", "../counts", strings.Repeat("G", 32), strings.ToUpper(base.ID()[:31] + "a"),
		base.ID() + "\n"} {
		wants(t, id, l.Revoke(id, ""), CodeMalformed)
		wants(t, id, l.Revoked(id), CodeMalformed)
	}
	wants(t, "reason", l.Revoke(sibling.ID(), "a\nb"), CodeMalformed)
	must.Do(t, Revoke(dir, sibling.ID(), "", time.Now().Add(-2*grace)))
	_ = l.Close()
	wants(t, "closed", l.Revoked(base.ID()), CodeLedger)
	l = open(t, dir)
	wants(t, "after a restart", l.Revoked(sibling.ID(), base.ID()), CodeRevoked)
	if err := l.Revoked(sibling.ID()); err != nil {
		t.Errorf("a revocation of what has expired long ago was not removed: %v", err)
	}
}

func TestOneProcessAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "l")
	open(t, dir)
	if l, err := OpenLedger(dir); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("%v %v", l, err)
	}
}

func TestLedgerThatOthersCanTouch(t *testing.T) {
	for what, spoil := range map[string]func(dir string) error{
		"directory": func(d string) error { return os.Chmod(d, 0o750) },
		"counts":    func(d string) error { return os.Chmod(d+"/"+countsFile, 0o604) },
		"link": func(d string) error {
			return os.Rename(d, d+"2")
		},
		"symlink for counts": func(d string) error {
			_ = os.Rename(d+"/"+countsFile, d+"/other")
			return os.Symlink("other", d+"/"+countsFile)
		},
		"directory for counts": func(d string) error {
			_ = os.Remove(d + "/" + countsFile)
			return os.Mkdir(d+"/"+countsFile,
				0o700)
		},
		"file for revoked": func(d string) error {
			_ = os.Remove(d + "/revoked")
			return os.WriteFile(d+"/revoked", nil,
				0o600)
		},
	} {
		dir := filepath.Join(t.TempDir(), "l")
		_ = open(t, dir).Close()
		must.Do(t, spoil(dir))
		if what == "link" {
			must.Do(t, os.Symlink(dir+"2", dir))
		}
		if l, err := OpenLedger(dir); err == nil {
			t.Errorf("%s: opened", what)
			_ = l.Close()
		}
	}
}

// filled is the file of counts after n runs, one at a time.
func filled(t *testing.T, n int) (dir string, tok *Token) {
	dir = filepath.Join(t.TempDir(), "l")
	public, private := newKey(t)
	tok = verified(t, public, must.Get(Mint(private, Block{Runs: 1000}))(t))
	l := open(t, dir)
	for range n {
		must.Do(t, l.Spend(tok, noon))
	}
	_ = l.Close()
	return dir, tok
}

// A damaged database is not opened, and the error names what to do.
func TestCutOffAndAltered(t *testing.T) {
	for what, edit := range map[string]func(d []byte) []byte{
		"nothing":      func(d []byte) []byte { return d },
		"longer":       func(d []byte) []byte { return append(d, make([]byte, 100)...) },
		"half":         func(d []byte) []byte { return d[:len(d)/2] },
		"a page":       func(d []byte) []byte { return d[:4096] },
		"three pages":  func(d []byte) []byte { return d[:3*4096] },
		"a byte":       func(d []byte) []byte { return d[:1] },
		"empty":        func([]byte) []byte { return nil },
		"zeros":        func(d []byte) []byte { return make([]byte, len(d)) },
		"text":         func(d []byte) []byte { return bytes.Repeat([]byte("brig"), len(d)/4) },
		"no meta":      func(d []byte) []byte { clear(d[:2*4096]); return d },
		"no data":      func(d []byte) []byte { clear(d[2*4096:]); return d },
		"another name": func(d []byte) []byte { return bytes.ReplaceAll(d, countsBucket, []byte("tnuocs")) },
		"ones":         func(d []byte) []byte { return bytes.ReplaceAll(d, []byte{0, 0}, []byte{1, 1}) },
	} {
		dir, tok := filled(t, 5)
		name := dir + "/" + countsFile
		data, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, edit(data), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		l, err := OpenLedger(dir)
		if what != "nothing" && what != "longer" {
			if err == nil || !strings.Contains(err.Error(), "restore the file, or move it away and revoke the tokens") {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if err != nil || l.Used(tok.ID()) != 5 || l.Spend(tok, noon) != nil {
			t.Fatalf("%s: %v", what, err)
		}
		_ = l.Close()
		if l = open(t, dir); l.Used(tok.ID()) != 6 {
			t.Errorf("%s: after reopening, %d runs are counted", what, l.Used(tok.ID()))
		}
	}
}

// A count that was altered is noticed, in whichever page it is.
func TestAlteredCount(t *testing.T) {
	dir, tok := filled(t, 5)
	id, _ := hex.DecodeString(tok.ID())
	good, bad := entry{used: 5}.encode(id), entry{used: 1}.encode(id)
	copy(bad, good[:4])
	data, err := os.ReadFile(dir + "/" + countsFile)
	if err != nil || !bytes.Contains(data, good) {
		t.Fatal(err)
	}
	must.Do(t, os.WriteFile(dir+"/"+countsFile, bytes.ReplaceAll(data, good, bad), 0o600))
	if _, err := OpenLedger(dir); err == nil || !strings.Contains(err.Error(), "was altered") {
		t.Error(err)
	}
}

// What an interrupted call has left is no obstacle.
func TestFilesOfOthers(t *testing.T) {
	for _, name := range []string{countsNew, "lock"} {
		dir := t.TempDir()
		_ = os.Chmod(dir, 0o700)
		must.Do(t, os.WriteFile(dir+"/"+name, []byte("text\n"), 0o600))
		l, err := OpenLedger(dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = l.Close()
	}
}

// Close does not take a descriptor from under a question.
func TestCloseBesideRevoked(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l"))
	id := strings.Repeat("0", 32)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for err := l.Revoked(id); ; err = l.Revoked(id) {
				if err != nil {
					wants(t, "closed", err, CodeLedger)
					return
				}
			}
		})
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	wait.Wait()
}
