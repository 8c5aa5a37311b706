package token

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"time"

	"brig/internal/test/asuser"
	"brig/internal/test/must"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

const childVar = "BRIG_TOKEN_TEST_CHILD"

// TestMain runs the suite as root and as an ordinary user: who may read what differs.
func TestMain(m *testing.M) {
	if job, dir, ok := strings.Cut(os.Getenv(childVar), " "); ok {
		os.Exit(child(job, dir))
	}
	os.Exit(asuser.Main(m))
}

// child spends in a process of its own, and prints the answer.
func child(job, dir string) int {
	in := bufio.NewReader(os.Stdin)
	text, err := in.ReadString('\n')
	if err != nil {
		return 1
	}
	tok, err := Parse(strings.TrimSpace(text))
	if err != nil {
		return 1
	}
	public, err := ReadPublicKeys(dir + "/key.pub")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	l, err := OpenLedger(dir + "/ledger")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if err := Verify(tok, public, time.Now()); err != nil {
		fmt.Println(err)
		return 1
	}
	for range 20 {
		if err := l.Spend(tok, time.Now()); err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println("spent")
	}
	if job == "full" { // setrlimit(2)
		signal.Ignore(unix.SIGXFSZ)
		_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 700, Max: 1 << 30})
		fmt.Println(l.Spend(tok, time.Now()))
		_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 30, Max: 1 << 30})
		fmt.Println("room:", l.Spend(tok, time.Now()), l.Used(tok.ID()))
		return 0
	}
	_, _ = in.ReadString('\n') // until it is killed
	return 0
}

// spawn starts the test binary as a child with a token.
func spawn(t *testing.T, job, dir string, tok *Token) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childVar+"="+job+" "+dir)
	in := must.Get(cmd.StdinPipe())(t)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	must.Get(fmt.Fprintln(in, tok.Text()))(t)
	return cmd, bufio.NewScanner(out)
}

// Used returns how many runs of a block have been used.
func (l *Ledger) Used(id string) (n int64) {
	l.open.RLock()
	defer l.open.RUnlock()
	raw, err := hex.DecodeString(id)
	if l.closed || err != nil {
		return 0
	}
	_ = l.db.View(func(tx *bbolt.Tx) error {
		e, err := entryOf(tx, raw)
		n = e.used
		return err
	})
	return n
}

// Revoke is the function Revoke, without an expiry.
func (l *Ledger) Revoke(id, reason string) error {
	return Revoke(l.dir.Name(), id, reason, time.Time{})
}
