package token

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/internal/test/must"
)

// home is a directory with an issuer's public key, for a child.
func home(t *testing.T, runs int64) (dir string, tok *Token) {
	dir = t.TempDir()
	public, private := newKey(t)
	must.Do(t, WritePublicKey(dir+"/key.pub", public))
	return dir, must.Get(Mint(private, Block{Runs: runs}))(t)
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
		must.Do(t, cmd.Process.Kill())
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
	if len(lines) != 22 || !strings.Contains(lines[20], "could not be counted") || lines[21] != "room: <nil> 21" {
		t.Fatalf("%q", lines)
	}
	if l := open(t, dir+"/ledger"); l.Used(tok.ID()) != 21 {
		t.Errorf("%d runs are counted, want 21", l.Used(tok.ID()))
	}
}

// What has expired is removed once an hour, and before that the file does not grow with the number of runs.
func TestSwept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "l")
	l := open(t, dir)
	public, private := newKey(t)
	gone := verified(t, public, must.Get(Mint(private, Block{Runs: 5, Expires: noon.Add(time.Hour)}))(t))
	stays := verified(t, public, must.Get(Mint(private, Block{Runs: 1 << 30}))(t))
	must.Do(t, l.Spend(gone, noon))
	later := noon.Add(grace + 2*time.Hour)
	for range 500 {
		must.Do(t, l.Spend(stays, later))
	}
	if st, err := os.Stat(dir + "/" + countsFile); err != nil || st.Size() > 64<<10 {
		t.Errorf("the database grows: %v %v", st.Size(), err)
	}
	if l.Used(gone.ID()) != 1 || l.Used(stays.ID()) != 500 {
		t.Errorf("used: %d %d", l.Used(gone.ID()), l.Used(stays.ID()))
	}
	swept(t, l, later, stays)
	for range 2 {
		if l.Used(gone.ID()) != 0 || l.Used(stays.ID()) != 501 || l.shares[""] != 1 {
			t.Errorf("used: %d %d, %v", l.Used(gone.ID()), l.Used(stays.ID()), l.shares)
		}
		_ = l.Close()
		l = open(t, dir)
	}
	if names, _ := filepath.Glob(dir + "/*"); len(names) != 2 {
		t.Errorf("left over: %q", names)
	}
}

// If the database is removed or cut off while the ledger is open, nothing more is counted, and so nothing allowed.
func TestCountsTouchedWhileOpen(t *testing.T) {
	public, private := newKey(t)
	for what, spoil := range map[string]func(dir string) error{
		"removed": func(d string) error { return os.Remove(d + "/" + countsFile) },
		"cut off": func(d string) error { return os.Truncate(d+"/"+countsFile, 3) },
		"longer":  func(d string) error { return os.Truncate(d+"/"+countsFile, 1<<20) },
		"gone":    os.RemoveAll,
	} {
		dir := filepath.Join(t.TempDir(), "l")
		l := open(t, dir)
		tok := verified(t, public, must.Get(Mint(private, Block{Runs: 10}))(t))
		must.Do(t, l.Spend(tok, noon))
		must.Do(t, spoil(dir))
		for range 2 {
			wants(t, what, l.Spend(tok, noon), CodeLedger, tok)
		}
		if what == "gone" {
			wants(t, what, l.Revoked(tok.ID()), CodeLedger)
		}
	}
}

func TestKeyFiles(t *testing.T) {
	dir := t.TempDir()
	public, private := newKey(t)
	second, _ := newKey(t)
	must.Do(t, WritePrivateKey(dir+"/k", private))
	if err := WritePrivateKey(dir+"/k", private); err == nil {
		t.Error("a key was overwritten")
	}
	for i, k := range [][]byte{public, second} {
		must.Do(t, WritePublicKey(fmt.Sprint(dir, "/p", i), k))
	}
	if k, err := ReadPrivateKey(dir + "/k"); err != nil || !k.Equal(private) {
		t.Error(err)
	}
	if st, err := os.Stat(dir + "/k"); err != nil || st.Mode() != 0o600 {
		t.Error(st.Mode(), err)
	}
	a, _ := os.ReadFile(dir + "/p0")
	b, _ := os.ReadFile(dir + "/p1")
	must.Do(t, os.WriteFile(dir+"/both", append(a, b...), 0o644))
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

func FuzzEntry(f *testing.F) {
	id := []byte("0123456789abcdef")
	f.Add(id, entry{used: 3, expires: 7, above: id}.encode(id), true)
	f.Add(id, entry{used: 1}.encode(id), false)
	f.Add(id, []byte("brig"), false)
	f.Fuzz(func(t *testing.T, id, value []byte, mend bool) {
		if mend && len(value) > 4 { // what is behind the checksum
			binary.BigEndian.PutUint32(value, checksum(id, value[4:]))
		}
		e, err := decodeEntry(id, value)
		if err == nil && (!bytes.Equal(e.encode(id), value) || len(e.chain(id)) > MaxBlocks*idSize) {
			t.Fatalf("%+v", e)
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
	tok := verified(b, public, must.Get(Mint(private, Block{Runs: runs * MaxRuns}))(b))
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
