package token

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func open(t testing.TB, dir string) *Ledger {
	t.Helper()
	l, err := OpenLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// verified is t as the issuer's service has accepted it.
func verified(t testing.TB, public ed25519.PublicKey, tok *Token) *Token {
	t.Helper()
	if err := Verify(tok, []ed25519.PublicKey{public}, noon); err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestSpendCountsAllBlocksOrNone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "l")
	l := open(t, dir)
	public, private := newKey(t)
	base := must(t)(Mint(private, Block{Runs: 3, Expires: noon.Add(time.Hour)}))
	wants(t, "not verified", l.Spend(base, noon), CodeSignature)
	one := verified(t, public, must(t)(Attenuate(base, Block{Runs: 1})))
	two := verified(t, public, must(t)(Attenuate(base, Block{Runs: 9})))
	verified(t, public, base)
	steps := []struct {
		tok  *Token
		code string
	}{{one, ""}, {one, CodeSpent}, {two, ""}, {base, ""}, {base, CodeSpent}, {two, CodeSpent}}
	for i, s := range steps {
		if i == 3 { // what is counted is counted after a restart
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
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
	tok := verified(t, public, must(t)(Mint(private, Block{Agent: "x"})))
	for range 100 {
		if err := l.Spend(tok, noon); err != nil {
			t.Fatal(err)
		}
	}
	if data, err := os.ReadFile(dir + "/" + countsFile); err != nil || string(data) != header {
		t.Errorf("%q %v", data, err)
	}
}

func TestSpendAtOnce(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l"))
	public, private := newKey(t)
	const limit, asked = 70, 300
	tok := verified(t, public, must(t)(Mint(private, Block{Runs: limit})))
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
	base := verified(t, public, must(t)(Mint(private, Block{Runs: 1000})))
	child := verified(t, public, must(t)(Attenuate(base, Block{})))
	sibling := verified(t, public, must(t)(Attenuate(base, Block{})))
	for range 2 { // beside the open ledger, and twice
		if err := Revoke(dir, child.ID(), "lost \"it\"", time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	wants(t, "child", l.Spend(child, noon), CodeRevoked, child)
	if err := l.Spend(sibling, noon); err != nil {
		t.Error(err)
	}
	if err := l.Revoke(base.ID(), ""); err != nil {
		t.Fatal(err)
	}
	for _, tok := range []*Token{base, child, sibling} {
		wants(t, "all", l.Spend(tok, noon), CodeRevoked)
	}
	for _, id := range []string{"", "..", "../counts", strings.Repeat("G", 32), strings.ToUpper(base.ID()[:31] + "a"), base.ID() + "\n"} {
		wants(t, id, l.Revoke(id, ""), CodeMalformed)
		wants(t, id, l.Revoked(id), CodeMalformed)
	}
	wants(t, "reason", l.Revoke(sibling.ID(), "a\nb"), CodeMalformed)
	if err := Revoke(dir, sibling.ID(), "", time.Now().Add(-2*grace)); err != nil {
		t.Fatal(err)
	}
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
		"counts":    func(d string) error { return os.Chmod(d+"/counts", 0o604) },
		"link": func(d string) error {
			return os.Rename(d, d+"2")
		},
		"symlink for counts": func(d string) error {
			_ = os.Rename(d+"/counts", d+"/other")
			return os.Symlink("other", d+"/counts")
		},
		"directory for counts": func(d string) error { _ = os.Remove(d + "/counts"); return os.Mkdir(d+"/counts", 0o700) },
		"file for revoked":     func(d string) error { _ = os.Remove(d + "/revoked"); return os.WriteFile(d+"/revoked", nil, 0o600) },
	} {
		dir := filepath.Join(t.TempDir(), "l")
		_ = open(t, dir).Close()
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		if what == "link" {
			if err := os.Symlink(dir+"2", dir); err != nil {
				t.Fatal(err)
			}
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
	tok = verified(t, public, must(t)(Mint(private, Block{Runs: 1000})))
	l := open(t, dir)
	for range n {
		if err := l.Spend(tok, noon); err != nil {
			t.Fatal(err)
		}
	}
	_ = l.Close()
	return dir, tok
}

func TestCutOffAndAltered(t *testing.T) {
	for what, c := range map[string]struct {
		edit func([]byte) []byte
		used int64 // -1: not opened
	}{
		"nothing":          {func(d []byte) []byte { return d }, 5},
		"a half line":      {func(d []byte) []byte { return append(d, d[len(header):len(header)+40]...) }, 5},
		"zeros":            {func(d []byte) []byte { return append(d, make([]byte, 100)...) }, 5},
		"zeros and a line": {func(d []byte) []byte { return append(append(d, make([]byte, 100)...), "x\n"...) }, 5},
		"newline lost":     {func(d []byte) []byte { return d[:len(d)-1] }, 4},
		"a digit changed":  {func(d []byte) []byte { return bytes.Replace(d, []byte(`"used":3`), []byte(`"used":1`), 1) }, -1},
		"last changed":     {func(d []byte) []byte { return bytes.Replace(d, []byte(`"used":5`), []byte(`"used":1`), 1) }, -1},
		"a line removed": {func(d []byte) []byte {
			lines := bytes.SplitAfter(d, []byte("\n"))
			return bytes.Join(append(lines[:3:3], lines[4:]...), nil)
		}, -1},
		"a line doubled": {func(d []byte) []byte {
			lines := bytes.SplitAfter(d, []byte("\n"))
			return bytes.Join(append(lines[:3:3], lines[2:]...), nil)
		}, -1},
		"no header": {func(d []byte) []byte { return d[len(header):] }, -1},
		"empty":     {func(d []byte) []byte { return nil }, -1},
		"a blank":   {func(d []byte) []byte { return append(d, '\n') }, -1},
	} {
		dir, tok := filled(t, 5)
		name := dir + "/" + countsFile
		data, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, c.edit(bytes.Clone(data)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		l, err := OpenLedger(dir)
		if err != nil {
			if c.used >= 0 {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if l.Used(tok.ID()) != c.used {
			t.Errorf("%s: %d runs are counted, want %d", what, l.Used(tok.ID()), c.used)
		}
		if err := l.Spend(tok, noon); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		_ = l.Close()
		if l = open(t, dir); l.Used(tok.ID()) != c.used+1 {
			t.Errorf("%s: after mending, %d runs are counted, want %d", what, l.Used(tok.ID()), c.used+1)
		}
	}
}
