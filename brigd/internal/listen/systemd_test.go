package listen

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"brig/internal/test/must"
)

func TestKeys(t *testing.T) {
	long := strings.Repeat("k", 32)
	sum := sha256.Sum256([]byte("another key, as long as it must be"))
	k := must.Get(ParseKeys("# who\ncoder " + long + "\n\n  second\tsha256:" + hex.EncodeToString(sum[:]) + "\r\n"))(t)
	for key, want := range map[string]string{long: "coder", "another key, as long as it must be": "second", "": "", long + "k": "", long[1:]: "", "sha256:" + hex.EncodeToString(sum[:]): ""} {
		if got, ok := k.Agent(key); got != want || ok != (want != "") {
			t.Errorf("%q is %q's, %v; want %q", key, got, ok, want)
		}
	}
	for _, bad := range []string{"", "# nothing", "coder short", "coder", "coder " + long + " more", "a/b " + long, "../x " + long, "-x " + long,
		strings.Repeat("a", 65) + " " + long, "a " + long + "\nb " + long, "a sha256:00", "a sha256:" + strings.Repeat("zz", 32),
		"default " + long, "uid-0 " + long, "coder " + long + "\nuid-x " + long + "2"} {
		if _, err := ParseKeys(bad); err == nil {
			t.Errorf("%q is taken", bad)
		} else if strings.Contains(err.Error(), long) {
			t.Errorf("the key stands in %q", err)
		}
	}
}

func FuzzKeys(f *testing.F) {
	for _, s := range []string{"a 01234567890123456789\n", "a sha256:" + strings.Repeat("ab", 32), "#\n\n \x00 \xff", "a b\nc d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k, err := ParseKeys(s)
		if err != nil {
			return
		}
		for _, a := range k.agents {
			if !GoodAgent(a) || Foreign(a) != nil {
				t.Errorf("agent %q", a)
			}
		}
		if a, ok := k.Agent(""); ok {
			t.Errorf("no key is %s's", a)
		}
	})
}

func TestNotify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	c := must.Get(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"}))(t)
	defer c.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	must.Do(t, Notify("READY=1"))
	b := make([]byte, 100)
	if n, err := c.Read(b); err != nil || string(b[:n]) != "READY=1" {
		t.Errorf("%q, %v", b[:n], err)
	}
	t.Setenv("NOTIFY_SOCKET", "relative")
	if err := Notify("READY=1"); err == nil {
		t.Error("a relative path is taken")
	}
	t.Setenv("NOTIFY_SOCKET", "")
	if err := Notify("READY=1"); err != nil {
		t.Error(err)
	}
}

// inheritVar has this binary use what it has inherited.
const inheritVar = "BRIG_TEST_INHERIT"

func TestUseInherited(t *testing.T) {
	if os.Getenv(inheritVar) == "" {
		t.Skip("it is started by TestInherited")
	}
	t.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()))

	list, err := Inherited(UnixOptions{})
	if err != nil {
		t.Fatal("INHERITED:", err)
	}
	if again, err := Inherited(UnixOptions{}); len(again) > 0 || err != nil {
		t.Errorf("twice: %v, %v", again, err)
	}
	for _, l := range list {
		c := must.Get(l.Accept())(t)
		must.Get(io.WriteString(c, l.Addr().Network()))(t)
		c.Close()
	}
}

func TestInherited(t *testing.T) {
	run := func(n string, files ...*os.File) *exec.Cmd {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestUseInherited$")
		cmd.Env = append(os.Environ(), inheritVar+"=1", "LISTEN_FDS="+n, "BRIG_TEST_DIR="+t.TempDir())
		cmd.ExtraFiles = files
		return cmd
	}
	file := func(l net.Listener) *os.File {
		t.Cleanup(func() { l.Close() })
		f := must.Get(l.(interface{ File() (*os.File, error) }).File())(t)
		t.Cleanup(func() { f.Close() })
		return f
	}
	path := filepath.Join(t.TempDir(), "s")
	u := must.Get(net.Listen("unix", path))(t)
	p := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	var out bytes.Buffer
	cmd := run("2", file(u), file(p))
	cmd.Stdout = &out
	must.Do(t, cmd.Start())
	for _, a := range []net.Addr{u.Addr(), p.Addr()} { // in the order in which they are served
		network := a.Network()
		c := must.Get(net.Dial(network, a.String()))(t)
		if got, err := io.ReadAll(c); err != nil || string(got) != network {
			t.Errorf("%s: %q, %v", network, got, err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
	null := must.Get(os.Open("/dev/null"))(t)
	defer null.Close()
	for n, want := range map[string]string{"1": "descriptor 3", "x": "LISTEN_FDS", "-1": "LISTEN_FDS", "1000": "LISTEN_FDS"} {
		if out, err := run(n, null).CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("LISTEN_FDS=%s: %v\n%s", n, err, out)
		}
	}
}
