package tokencmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/brigd/token"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// cli runs brigd token.
func cli(t *testing.T, code int, in string, args ...string) (out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	if got := Run(args, strings.NewReader(in), &o, &e); got != code {
		t.Fatalf("%q: exit code %d, want %d\n%s%s", args, got, code, o.String(), e.String())
	}
	return o.String(), e.String()
}

func TestATokensLife(t *testing.T) {
	dir := t.TempDir()
	key, state := dir+"/issuer", dir+"/state"
	l := must.Get(token.OpenLedger(state))(t) // as brigd serve has it, all the while
	defer l.Close()
	out, _ := cli(t, 0, "", "keygen", "--out", key)
	if !strings.Contains(out, "issuer.key") {
		t.Error(out)
	}
	cli(t, 125, "", "keygen", "--out", key) // never overwritten
	minted, _ := cli(t, 0, "", "mint", "--key", key+".key", "--agent", "ci", "--runs", "9", "--policy", "minimal", "--note", "for \"ci\"")
	file := filepath.Join(dir, "policy.json")
	must.Do(t, os.WriteFile(file, []byte(`{"name": "only", "languages": ["python"]}`), 0o600))
	narrow, _ := cli(t, 0, minted, "attenuate", "--expires", "10m", "--policy", file, "--seal")
	cli(t, 1, narrow, "attenuate", "--runs", "1")
	_, errs := cli(t, 1, minted, "attenuate", "--agent", "other")
	if !strings.Contains(errs, "agent") {
		t.Error(errs)
	}
	out, _ = cli(t, 0, narrow, "inspect", "--json")
	var s shown
	if err := json.Unmarshal([]byte(out), &s); err != nil || s.Agent != "ci" || !s.Sealed || len(s.Blocks) != 2 || s.Blocks[0].Runs != 9 || len(s.Blocks[1].Policy) == 0 {
		t.Errorf("%s %v", out, err)
	}
	out, _ = cli(t, 0, narrow, "inspect")
	if !strings.Contains(out, s.ID) || !strings.Contains(out, `"languages":["python"]`) || strings.Contains(out, strings.TrimSpace(narrow)) {
		t.Error(out)
	}
	check := []string{"verify", "--token-key", key + ".pub", "--state-dir", state}
	for _, tok := range []string{minted, narrow, strings.TrimSpace(narrow), strings.TrimSpace(minted) + "\r\n"} {
		if out, _ = cli(t, 0, tok, check...); !strings.Contains(out, "valid:") || !strings.Contains(out, "agent ci") {
			t.Error(out)
		}
	}
	cli(t, 0, narrow, "revoke", "--state-dir", state, "--reason", "test")
	cli(t, 1, narrow, check...)
	cli(t, 0, minted, check...)
	cli(t, 0, "", "revoke", "--state-dir", state, s.Blocks[0].ID)
	_, errs = cli(t, 1, minted, check...)
	if !strings.Contains(errs, "revoked") || strings.Contains(errs, strings.TrimSpace(minted)) {
		t.Error(errs)
	}
}

func TestWhatIsRefused(t *testing.T) {
	dir := t.TempDir()
	cli(t, 0, "", "keygen", "--out", dir+"/a")
	cli(t, 0, "", "keygen", "--out", dir+"/b")
	tok, _ := cli(t, 0, "", "mint", "--key", dir+"/a.key", "--any-agent", "--expires", "never")
	must.Do(t, os.WriteFile(dir+"/wrong.json", []byte(`{"comands":[]}`), 0o600))
	mint := func(more ...string) []string { return append([]string{"mint", "--key", dir + "/a.key"}, more...) }
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{125, "no command", nil},
		{125, "did you mean mint", []string{"mnt"}},
		{125, "--out", []string{"keygen"}},
		{125, "--any-agent", mint()},
		{125, "--any-agent", mint("--agent", "a", "--any-agent")},
		{125, "mode 0644", []string{"mint", "--key", dir + "/a.pub", "--any-agent"}},
		{125, "--expires", mint("--any-agent", "--expires", "soon")},
		{125, "over already", mint("--any-agent", "--expires", "-1s")},
		{125, "runs", mint("--any-agent", "--runs", "0")},
		{125, "agent", mint("--agent", "a\nb")},
		{125, "kept for users of the Unix socket", mint("--agent", "default")},
		{125, "kept for users of the Unix socket", mint("--agent", "uid-1000")},
		{125, "kept for users of the Unix socket", []string{"attenuate", "--agent", "uid-0"}},
		{125, "brigd token keygen --out NAME", []string{"mint", "--key", dir + "/none", "--any-agent"}},
		{125, "brigd token keygen --out NAME", []string{"verify", "--token-key", dir + "/none"}},
		{125, "comands", mint("--any-agent", "--policy", dir+"/wrong.json")},
		{125, "built-in", mint("--any-agent", "--policy", "nowhere")},
		{125, "mint: write brigd token mint --key FILE", mint("--any-agent", tok)},
		{125, "--token-key", []string{"verify"}},
		{1, "not trusted", []string{"verify", "--token-key", dir + "/b.pub"}},
		{125, "mode 0755", []string{"verify", "--token-key", dir + "/a.pub", "--state-dir", dir}},
		{125, "--state-dir", []string{"revoke"}},
		{125, "no such file", []string{"inspect", "--token", dir + "/none"}},
		{125, "flag", []string{"inspect", "--bogus"}},
	} {
		_, errs := cli(t, c.code, tok, c.args...)
		if !strings.Contains(errs, c.says) || strings.Contains(errs, strings.TrimSpace(tok)) && len(c.args) > 0 && c.args[len(c.args)-1] != tok {
			t.Errorf("%q: %s, want %q", c.args, errs, c.says)
		}
	}
	for _, in := range []string{"", "x", tok + tok, tok + "\n", " " + tok, strings.Repeat("brig1.", 9000)} {
		_, errs := cli(t, 1, in, "inspect")
		if !strings.Contains(errs, "brig1.") {
			t.Error(errs)
		}
	}
	for _, args := range [][]string{{"--help"}, {"mint", "--help"}, {"help"}} {
		if out, _ := cli(t, 0, "", args...); !strings.Contains(out, "Usage: brigd token") {
			t.Error(out)
		}
	}
}

// What is no file is not waited for.
func TestNoFIFOIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	fifo := dir + "/fifo"
	must.Do(t, unix.Mkfifo(fifo, 0o600))
	cli(t, 0, "", "keygen", "--out", dir+"/a")
	for _, args := range [][]string{{"inspect", "--token", fifo}, {"mint", "--key", dir + "/a.key", "--any-agent", "--policy", fifo}} {
		if _, errs := cli(t, 125, "", args...); !strings.Contains(errs, "no regular file; name one") {
			t.Errorf("%q: %s", args, errs)
		}
	}
}
