package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/sys/unix"

	"brig/brigd/audit"
	"brig/brigd/job"
	"brig/brigd/token"
	"brig/internal/test/must"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// Each operation on a sandbox from outside of a run is logged before it happens, with its caller.
func TestSandboxesAndFilesAreWrittenDown(t *testing.T) {
	g := newGuarded(t)
	c := g.caller(g.mint(token.Block{Agent: "bot"}))
	box := must.Get(g.CreateSandbox(context.Background(), c,
		&SandboxRequest{Files: map[string]File{"/input/given": {Data: []byte("in")}}}))(t)
	for _, r := range []io.Reader{strings.NewReader("print('PWNED')"),
		iotest.DataErrReader(strings.NewReader("print('PWNED')")),
		iotest.OneByteReader(strings.NewReader("print('PWNED')"))} {
		if i, err := g.PutFile(c, box.ID, "json.py", r, 0o755); err != nil || i.Mode != "0755" || i.Size != 14 {
			t.Fatal(err, i)
		}
	}
	if _, err := g.PutFile(c, box.ID, "/work/../etc/x", strings.NewReader(""), 0); err == nil {
		t.Error("a path with dots was taken")
	}
	if a := g.Run(context.Background(), c,
		&Request{Sandbox: box.ID, Cmd: []string{"/work/json.py"}, Files: map[string]File{"with": {Data: []byte("run")}}},
		nil); a.ID == "" {
		t.Error(a)
	}
	if err := g.DeleteFile(c, box.ID, "/work/json.py"); err != nil {
		t.Error(err)
	}
	if err := g.DeleteSandbox(c, box.ID); err != nil {
		t.Error(err)
	}
	sum := func(s string) string { d := sha256.Sum256([]byte(s)); return hex.EncodeToString(d[:]) }
	found := lines(t, g.log)
	var got []string
	for _, kind := range []string{audit.SandboxCreate, audit.FilePut, audit.FileDelete, audit.SandboxDelete} {
		for _, v := range found[kind] {
			if v["agent"] != "bot" || v["token"] != c.Grant.id() || v["sandbox"] != box.ID {
				t.Errorf("%v", v)
			}
			run := v["run"]
			if run != nil {
				run = "its run"
			}
			got = append(got, fmt.Sprint(kind, " ", v["path"], " ", v["digest_sha256"], " ", v["bytes"], " ", run))
		}
	}
	put := "file.put /work/json.py " + sum("print('PWNED')") + " 14 <nil>"
	want := []string{"sandbox.create <nil> <nil> <nil> <nil>", "file.put /input/given " + sum("in") + " 2 <nil>", put, put,
		put,
		"file.put /input/with " + sum("run") + " 3 its run", "file.delete /work/json.py <nil> <nil> <nil>",
		"sandbox.delete <nil> <nil> <nil> <nil>"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if r, err := (audit.VerifyOptions{}).Verify(g.log); err != nil {
		t.Error(r, err)
	}
}

// Nothing happens unrecorded: a log that cannot be written refuses each of them, and leaves all as it was.
func TestUnrecordedIsUndone(t *testing.T) {
	log := must.Get(audit.Open(audit.Options{Path: filepath.Join(t.TempDir(), "audit.jsonl")}))(t)
	e := newEngine(t, Options{Audit: log})
	box := must.Get(e.CreateSandbox(context.Background(), Caller{}, &SandboxRequest{}))(t)
	must.Get(e.PutFile(Caller{}, box.ID, "f", strings.NewReader("before"), 0))(t)
	must.Do(t, log.Close())
	_, put := e.PutFile(Caller{}, box.ID, "f", strings.NewReader("after"), 0)
	_, create := e.CreateSandbox(context.Background(), Caller{}, &SandboxRequest{})
	for what, err := range map[string]error{"put": put, "delete": e.DeleteFile(Caller{}, box.ID, "f"),
		"remove": e.DeleteSandbox(Caller{}, box.ID), "create": create} {
		if no := asRefusal(err, "", ""); no == nil || no.Code != "audit_unavailable" || strings.Contains(no.Message, "/") {
			t.Errorf("%s: %v", what, err)
		}
	}
	f, i, err := e.GetFile(Caller{}, box.ID, "f")
	if err != nil || i.Size != 6 {
		t.Fatal(err, i)
	}
	f.Close()
	if list := listSandboxes(e, Caller{}); len(list) != 1 {
		t.Errorf("%v", list)
	}
}

// A want that passes is no fault of the request, nor of what the machine is.
func TestMachineFull(t *testing.T) {
	for _, err := range []error{&nsjail.Error{Fault: spec.FaultHost, Op: "socketpair", Errno: unix.EMFILE},
		&nsjail.Error{Fault: spec.FaultHost, Op: "clone3", Errno: unix.EAGAIN}} {
		a := answer(&job.Job{}, &Request{}, nil, err)
		if a.Error == nil || a.Error.Code != "machine_full" || a.Status != "error" {
			t.Errorf("%v: %+v", err, a.Error)
		}
	}
	for _, lasting := range []*nsjail.Error{{Op: "memory", Errno: unix.EACCES},
		{Op: "net", Step: 7, Of: 100, Errno: unix.EAGAIN}, {Op: "stdio", Step: 7, Of: 100, Errno: unix.EMFILE}} {
		lasting.Fault = spec.FaultHost
		if a := answer(&job.Job{}, &Request{}, nil, lasting); a.Error.Code != "host_lacks" {
			t.Errorf("%v: %+v", lasting, a.Error)
		}
	}
}
