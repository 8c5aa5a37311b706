package token

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// home is a directory with an issuer's public key, for a child.
func home(t *testing.T, runs int64) (dir string, tok *Token) {
	dir = t.TempDir()
	public, private := newKey(t)
	if err := WritePublicKey(dir+"/key.pub", public); err != nil {
		t.Fatal(err)
	}
	return dir, must(t)(Mint(private, Block{Runs: runs}))
}

// What was spent before a SIGKILL is spent after it.
func TestKilled(t *testing.T) {
	dir, tok := home(t, 1000)
	total := int64(0)
	for round := int64(1); round <= 5; round++ {
		cmd, out := spawn(t, "kill", dir, tok)
		said := int64(0)
		for said < 4*round && out.Scan() && out.Text() == "spent" {
			said++
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for out.Scan() && out.Text() == "spent" { // what it said in the meantime
			said++
		}
		_ = cmd.Wait()
		l := open(t, dir+"/ledger")
		total += said
		if got := l.Used(tok.ID()); got < total || got > total+round || said == 0 {
			t.Fatalf("round %d: %d runs are counted, and %d were allowed", round, got, total)
		}
		_ = l.Close()
	}
}

// With a full disk (here: a limit on the size of files) a limited token is refused, and used again once there is room.
func TestDiskFull(t *testing.T) {
	dir, tok := home(t, 1000)
	cmd, out := spawn(t, "full", dir, tok)
	var lines []string
	for out.Scan() {
		lines = append(lines, out.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err, lines)
	}
	spent := 0
	for spent < len(lines) && lines[spent] == "spent" {
		spent++
	}
	if spent == 0 || spent == 20 || len(lines) != spent+2 || !strings.Contains(lines[spent], "could not be counted") {
		t.Fatalf("%q", lines)
	}
	if want := fmt.Sprintf("room: <nil> %d", spent+1); lines[spent+1] != want {
		t.Errorf("%q, want %q", lines[spent+1], want)
	}
	if l := open(t, dir+"/ledger"); l.Used(tok.ID()) != int64(spent)+1 {
		t.Errorf("%d runs are counted, want %d", l.Used(tok.ID()), spent+1)
	}
}

// What has expired is forgotten when the file is replaced, and the file does not grow for ever.
func TestCompaction(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "l")
	l := open(t, dir)
	public, private := newKey(t)
	gone := verified(t, public, must(t)(Mint(private, Block{Runs: 5, Expires: noon.Add(time.Hour)})))
	stays := verified(t, public, must(t)(Mint(private, Block{Runs: 1 << 30})))
	if err := l.Spend(gone, noon); err != nil {
		t.Fatal(err)
	}
	later := noon.Add(grace + 2*time.Hour)
	l.mu.Lock()
	l.latest = later.Unix()
	l.mu.Unlock()
	_ = l.Close()
	l = open(t, dir)
	long := must(t)(Mint(private, Block{})) // a line of its counts has some 1600 bytes
	for len(long.blocks) < MaxBlocks {
		long = must(t)(Attenuate(long, Block{Runs: 1000}))
	}
	verified(t, public, long)
	for range compactFrom/1600 + 20 {
		if err := l.Spend(long, later); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := os.Stat(dir + "/" + countsFile); err != nil || st.Size() > compactFrom/2 {
		t.Errorf("the file of counts was not replaced: %v %v", st.Size(), err)
	}
	if err := l.Spend(stays, later); err != nil {
		t.Fatal(err)
	}
	if l.Used(gone.ID()) != 0 || l.Used(stays.ID()) != 1 {
		t.Errorf("used: %d %d", l.Used(gone.ID()), l.Used(stays.ID()))
	}
	for range 3 {
		if err := l.Spend(stays, later); err != nil {
			t.Fatal(err)
		}
	}
	_ = l.Close()
	if l = open(t, dir); l.Used(gone.ID()) != 0 || l.Used(stays.ID()) != 4 {
		t.Errorf("after reopening, used: %d %d", l.Used(gone.ID()), l.Used(stays.ID()))
	}
	if names, _ := filepath.Glob(dir + "/*"); len(names) != 3 {
		t.Errorf("left over: %q", names)
	}
}

// A file of counts that somebody removes or cuts off while the ledger is open is written anew; if its directory is gone,
// nothing is allowed.
func TestCountsTouchedWhileOpen(t *testing.T) {
	public, private := newKey(t)
	for what, spoil := range map[string]func(dir string) error{
		"removed": func(d string) error { return os.Remove(d + "/" + countsFile) },
		"cut off": func(d string) error { return os.Truncate(d+"/"+countsFile, 3) },
		"gone":    os.RemoveAll,
	} {
		dir := filepath.Join(t.TempDir(), "l")
		l := open(t, dir)
		tok := verified(t, public, must(t)(Mint(private, Block{Runs: 10})))
		for i := range int64(3) {
			if i == 2 {
				if err := spoil(dir); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.Spend(tok, noon); (err != nil) != (i == 2 && what == "gone") {
				t.Errorf("%s, run %d: %v", what, i, err)
			}
		}
		if what == "gone" {
			wants(t, what, l.Revoked(tok.ID()), CodeLedger)
			continue
		}
		_ = l.Close()
		if l = open(t, dir); l.Used(tok.ID()) != 3 {
			t.Errorf("%s: %d runs are counted", what, l.Used(tok.ID()))
		}
	}
}

func TestKeyFiles(t *testing.T) {
	dir := t.TempDir()
	public, private := newKey(t)
	second, _ := newKey(t)
	if err := WritePrivateKey(dir+"/k", private); err != nil {
		t.Fatal(err)
	}
	if err := WritePrivateKey(dir+"/k", private); err == nil {
		t.Error("a key was overwritten")
	}
	for i, k := range [][]byte{public, second} {
		if err := WritePublicKey(fmt.Sprint(dir, "/p", i), k); err != nil {
			t.Fatal(err)
		}
	}
	if k, err := ReadPrivateKey(dir + "/k"); err != nil || !k.Equal(private) {
		t.Error(err)
	}
	if st, err := os.Stat(dir + "/k"); err != nil || st.Mode() != 0o600 {
		t.Error(st.Mode(), err)
	}
	a, _ := os.ReadFile(dir + "/p0")
	b, _ := os.ReadFile(dir + "/p1")
	if err := os.WriteFile(dir+"/both", append(a, b...), 0o644); err != nil {
		t.Fatal(err)
	}
	if keys, err := ReadPublicKeys(dir + "/both"); err != nil || len(keys) != 2 || !keys[1].Equal(second) {
		t.Error(keys, err)
	}
	_ = os.Symlink("k", dir+"/link")
	_ = os.WriteFile(dir+"/junk", []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), 0o600)
	_ = os.WriteFile(dir+"/empty", nil, 0o600)
	_ = os.WriteFile(dir+"/trailing", append(a, "x"...), 0o600)
	for _, name := range []string{"link", "junk", "empty", "p0", ".", "none"} {
		if _, err := ReadPrivateKey(dir + "/" + name); err == nil {
			t.Errorf("%s was read as a private key", name)
		}
	}
	for _, name := range []string{"link", "junk", "empty", "trailing", "k", ".", "none"} {
		if _, err := ReadPublicKeys(dir + "/" + name); err == nil {
			t.Errorf("%s was read as public keys", name)
		}
	}
	for mode, ok := range map[os.FileMode]bool{0o400: true, 0o640: false, 0o604: false, 0o620: false} {
		_ = os.Chmod(dir+"/k", mode)
		if _, err := ReadPrivateKey(dir + "/k"); (err == nil) != ok {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
	_ = os.Chmod(dir+"/both", 0o664)
	if _, err := ReadPublicKeys(dir + "/both"); err == nil {
		t.Error("trusted keys that others may write")
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte("00000000 {}"))
	f.Add([]byte(`6cb5a8d5 {"n":1,"t":2,"c":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRecord(data)
		if err == nil {
			if _, err := json.Marshal(r); err != nil {
				t.Fatal(err)
			}
		}
		l := &Ledger{used: map[string]*entry{}, roots: map[string]int{}, holders: map[string]int{}}
		if good, err := l.read(append([]byte(header), data...)); err == nil && good > len(header)+len(data) {
			t.Fatal(good)
		}
	})
}

// Spends that wait for the disk at the same time share a write: compare with the next.
func BenchmarkSpend(b *testing.B) { benchmarkSpend(b, 1, 1) }

func BenchmarkSpend200AtOnce(b *testing.B) { benchmarkSpend(b, 200, 1) }

func BenchmarkSpendWithoutRuns(b *testing.B) { benchmarkSpend(b, 1, 0) }

func benchmarkSpend(b *testing.B, clients int, runs int64) {
	l := open(b, filepath.Join(b.TempDir(), "l"))
	public, private := newKey(b)
	tok := verified(b, public, must(b)(Mint(private, Block{Runs: runs * MaxRuns})))
	var wait sync.WaitGroup
	for c := range clients {
		wait.Go(func() {
			for i := c; i < b.N; i += clients {
				if err := l.Spend(tok, noon); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wait.Wait()
}

func BenchmarkVerify(b *testing.B) {
	c := newChain(b)
	text := c.last().Text()
	for b.Loop() {
		tok, err := Parse(text)
		if err == nil {
			err = Verify(tok, []ed25519.PublicKey{c.public}, noon)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
