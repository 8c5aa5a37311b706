package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brig/brigd/token"
	"brig/brigd/workspace"
	"brig/internal/test/must"
)

// inSandbox runs a script in a sandbox.
func inSandbox(t *testing.T, e *Engine, c Caller, id, script string) string {
	t.Helper()
	a := e.Run(context.Background(), c, &Request{Sandbox: id, Cmd: []string{"/bin/sh", "-c", script}}, nil)
	if a.Error != nil {
		t.Fatalf("%+v", a.Error)
	}
	return a.Stdout + a.Stderr
}

func newSandbox(t *testing.T, e *Engine, c Caller, r SandboxRequest) *SandboxInfo {
	t.Helper()
	return must.Get(e.CreateSandbox(context.Background(), c, &r))(t)
}

// hostile is a tree such as a payload may leave: what a snapshot keeps, and what it must not follow or keep.
const hostile = `cd /work; mkdir -p d/e "$(printf 'new\nline')"; echo text >d/e/f; ln d/e/f hard; ln -s /etc/passwd link
ln -s / root; mkfifo fifo; printf x >"$(printf '\377')"; chmod 000 d/e; echo s >set; chmod 755 set; truncate -s 1M sparse
echo w >.wh.x; : >.wh..wh..opq; chmod 500 d; python3 - <<'P'
import os, socket
try: os.setxattr('/work/set', 'user.word', b'v')
except OSError: pass
socket.socket(socket.AF_UNIX).bind('/work/socket')
open('/output/../work/..dots', 'w').write('dots')
P`

const look = `cd /work; chmod 700 d; chmod 700 d/e; cat d/e/f hard; readlink link root; test -d root/nothing && echo out
stat -c '%A %s %h' set sparse hard; ls -A | od -An -c | tr -d ' \n'; cat ..dots`

func TestSnapshot(t *testing.T) {
	for _, where := range []string{"memory", "store", "pool"} {
		t.Run(where, func(t *testing.T) {
			var o Options
			switch where {
			case "store":
				o.Store = filepath.Join(t.TempDir(), "store")
			case "pool":
				o.Pool = &pool{}
			}
			e := newEngine(t, o)
			me, other := Caller{Agent: "me"}, Caller{Agent: "other"}
			box := newSandbox(t, e, me, SandboxRequest{Disk: 4 << 20, Inodes: 500})
			inSandbox(t, e, me, box.ID, hostile)
			s := must.Get(e.Snapshot(me, box.ID))(t)
			if s.State != "idle" || s.Disk != 4<<20 || s.Inodes != 500 || s.Sandbox != box.ID || s.Bytes < 1<<20 ||
				!strings.Contains(s.LeftOut, "2 × reserved name") || !strings.Contains(s.LeftOut, "FIFO") || !strings.Contains(s.LeftOut, "socket") {
				t.Errorf("%+v", s)
			}
			inSandbox(t, e, me, box.ID, "echo later >/work/later; rm /work/hard")
			fork := newSandbox(t, e, me, SandboxRequest{From: s.ID})
			if fork.Disk != box.Disk || fork.Inodes != box.Inodes {
				t.Errorf("%+v", fork)
			}
			const want = "text\ntext\n/etc/passwd\n/\n-rwxr-xr-x 2 1\n-rw-r--r-- 1048576 1\n-rw-r--r-- 5 2\n"
			got := inSandbox(t, e, me, fork.ID, look)
			if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "dots") || strings.Contains(got, "later") ||
				strings.Contains(got, "fifo") {
				t.Errorf("%q; want %q", got, want)
			}
			inSandbox(t, e, me, fork.ID, "rm -rf /work/*") // neither the snapshot nor the other sandbox has changed
			again := newSandbox(t, e, me, SandboxRequest{From: s.ID, Files: map[string]File{"given": {Data: []byte("in")}}})
			if got := inSandbox(t, e, me, again.ID, "cat /input/given /work/hard"); got != "intext\n" {
				t.Errorf("%q", got)
			}
			if got := inSandbox(t, e, me, box.ID, "cat /work/later; touch /input/x"); !strings.HasPrefix(got, "later\ntouch: ") {
				t.Errorf("%q", got)
			}
			for name, err := range map[string]error{
				"another's": e.DeleteSnapshot(other, s.ID),
				"from another's": func() error {
					_, err := e.CreateSandbox(context.Background(), other, &SandboxRequest{From: s.ID})
					return err
				}(),
				"of another's": func() error { _, err := e.Snapshot(other, box.ID); return err }(),
				"no id":        e.DeleteSnapshot(me, "sn_none"),
			} {
				if codeOf(err) != "not_found" {
					t.Errorf("%s: %v", name, err)
				}
			}
			if _, err := e.CreateSandbox(context.Background(), me, &SandboxRequest{From: s.ID, Disk: 1 << 12}); codeOf(err) != "disk_full" {
				t.Errorf("a smaller sandbox: %v", err)
			}
			if list := listSnapshots(e, me); len(list) != 1 || list[0].ID != s.ID || list[0].Bytes != s.Bytes || len(listSnapshots(e, other)) > 0 {
				t.Errorf("%+v", list)
			}
			if err := e.DeleteSnapshot(me, s.ID); err != nil || len(listSnapshots(e, me)) > 0 {
				t.Error(err)
			}
			if n := e.SandboxCount(); n != 3 {
				t.Errorf("%d sandboxes", n)
			}
		})
	}
}

// A snapshot counts towards the quota of its sandbox's owner.
func TestSnapshotQuota(t *testing.T) {
	e := newEngine(t, Options{Sandboxes: workspace.StoreOptions{MaxPerAgent: 3, MaxBytesPerAgent: 32 << 20, DefaultSize: 8 << 20}})
	me := Caller{Agent: "me"}
	box := newSandbox(t, e, me, SandboxRequest{Inodes: 100})
	inSandbox(t, e, me, box.ID, "head -c 6000000 /dev/urandom >/work/f")
	var ids []string
	for range 2 {
		s := must.Get(e.Snapshot(me, box.ID))(t)
		ids = append(ids, s.ID)
	}
	if _, err := e.Snapshot(me, box.ID); codeOf(err) != workspace.CodeTooMany {
		t.Errorf("%v", err)
	}
	must.Do(t, e.DeleteSnapshot(me, ids[0]))
	if _, err := e.CreateSandbox(context.Background(), me, &SandboxRequest{Disk: 24 << 20, Inodes: 100}); codeOf(err) != workspace.CodeTooBig {
		t.Errorf("%v", err)
	}
	newSandbox(t, e, me, SandboxRequest{Inodes: 100})
}

// The holes of sparse files count towards the quota before they are written to memory or to the store.
func TestSnapshotOfHoles(t *testing.T) {
	e := newEngine(t, Options{Sandboxes: workspace.StoreOptions{MaxBytes: 40 << 20, DefaultSize: 24 << 20}})
	me := Caller{Agent: "me"}
	box := newSandbox(t, e, me, SandboxRequest{Inodes: 100})
	inSandbox(t, e, me, box.ID, "truncate -s 20M /work/holes")
	if s, err := e.Snapshot(me, box.ID); codeOf(err) != workspace.CodeTooBig {
		t.Errorf("%+v, %v", s, err)
	}
	inSandbox(t, e, me, box.ID, "truncate -s 2M /work/holes")
	for range 2 { // the first one has left nothing counted
		if s, err := e.Snapshot(me, box.ID); err != nil || s.Bytes < 2<<20 {
			t.Errorf("%+v, %v", s, err)
		}
	}
}

// While a sandbox is packed, no other snapshot or save of it begins: it would thaw the runs and restore the file modes
// too early.
func TestSnapshotsAtOnce(t *testing.T) {
	e := newEngine(t, Options{Store: filepath.Join(t.TempDir(), "store"), SaveEvery: time.Hour})
	me := Caller{Agent: "me"}
	box := newSandbox(t, e, me, SandboxRequest{})
	b, no := e.boxes.find(me, box.ID)
	if no != nil {
		t.Fatal(no)
	}
	b.Packing.Lock()
	done := make(chan error, 2)
	go func() {
		_, err := e.Snapshot(me, box.ID)
		done <- err
	}()
	go func() {
		e.shelf.save(b)
		done <- nil
	}()
	select {
	case err := <-done:
		t.Fatal("it did not wait:", err)
	case <-time.After(50 * time.Millisecond):
	}
	b.Packing.Unlock()
	if err := errors.Join(<-done, <-done); err != nil {
		t.Error(err)
	}
}

// A snapshot during a run has all files as of one moment if the jail can be frozen. Otherwise its state is "live".
func TestSnapshotDuringARun(t *testing.T) {
	for name, memory := range map[string]Size{"live": 0, "frozen": 64 << 20} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, Options{})
			me := Caller{Agent: "me"}
			box := newSandbox(t, e, me, SandboxRequest{})
			// each number is written to a, and then to z: at one moment z is a, or one less. Packing takes longer than a round
			const script = "import os\nfor n in range(500): open('/work/m%d' % n, 'w').write('x' * 9000)\nfor n in range(1 << 40):\n" +
				"  for f in 'a', 'z':\n    open('/work/.' + f, 'w').write(str(n))\n    os.rename('/work/.' + f, '/work/' + f)\n" +
				"  if n == 10: print('ready', flush=True)\n"
			ctx, cancel := context.WithCancel(t.Context())
			ready, ended := make(chan *Response, 1), make(chan *Response, 1)
			go func() {
				a := e.Run(ctx, me, &Request{Sandbox: box.ID, Cmd: []string{"python3", "-c", script}, Memory: memory}, func(v Event) {
					if strings.Contains(v.Data, "ready") {
						ready <- nil
					}
				})
				ended <- a
				ready <- a
			}()
			defer func() { cancel(); <-ended }()
			if a := <-ready; a != nil {
				if a.Error != nil && strings.Contains(a.Error.Message, "cgroup") || name == "frozen" {
					t.Skipf("no control group can be made here: %+v", a.Error)
				}
				t.Fatalf("%+v", a)
			}
			s, err := e.Snapshot(me, box.ID)
			if err != nil || s.State != name {
				t.Fatalf("%+v, %v", s, err)
			}
			fork := newSandbox(t, e, me, SandboxRequest{From: s.ID})
			if name == "live" { // a file that is renamed while its directory is read can be missed
				return
			}
			var a, z int
			if _, err := fmt.Sscan(inSandbox(t, e, me, fork.ID, "cat /work/a; echo; cat /work/z"), &a, &z); err != nil {
				t.Error(err)
			}
			if z != a && z != a-1 {
				t.Errorf("a is %d and z is %d", a, z)
			}
		})
	}
}

// restart ends an engine, as a kill does if it is not closed, and starts another one on a copy of its store.
func restart(t *testing.T, e *Engine, o Options, kill bool) *Engine {
	t.Helper()
	if kill {
		to := filepath.Join(t.TempDir(), "copy")
		must.Do(t, errors.Join(os.CopyFS(to, os.DirFS(o.Store)), os.Chmod(to, 0o700)))
		o.Store = to
	} else if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return newEngine(t, o)
}

// awaitSaved waits until a sandbox is saved as it is now, as a client does.
func awaitSaved(t *testing.T, e *Engine, c Caller, id string) {
	t.Helper()
	now := time.Now()
	for saved := false; !saved; time.Sleep(time.Millisecond) {
		i, err := e.Sandbox(c, id)
		if err != nil || i.NotSaved != "" || i.SaveEvery != Seconds(20*time.Millisecond) {
			t.Fatalf("%+v, %v", i, err)
		}
		saved = i.Saved != nil && i.Saved.After(now)
	}
}

func TestSandboxStore(t *testing.T) {
	for _, kill := range []bool{false, true} {
		t.Run(fmt.Sprint("kill ", kill), func(t *testing.T) {
			o := Options{Store: filepath.Join(t.TempDir(), "store"), SaveEvery: 20 * time.Millisecond,
				StoreFailed: func(id, what string, err error) { t.Errorf("%s %s: %v", id, what, err) }}
			e := must.Get(New(o))(t)
			if first := e; kill {
				t.Cleanup(func() { first.Close() })
			}
			me := Caller{Agent: "me"}
			box := newSandbox(t, e, me, SandboxRequest{Disk: 4 << 20, Inodes: 500, TTL: Seconds(time.Hour)})
			gone := newSandbox(t, e, me, SandboxRequest{})
			inSandbox(t, e, me, box.ID, hostile)
			snap := must.Get(e.Snapshot(me, box.ID))(t)
			must.Get(e.PutFile(me, box.ID, "/work/put", strings.NewReader("put"), 0))(t)
			awaitSaved(t, e, me, box.ID)
			awaitSaved(t, e, me, box.ID) // who asks late learns of it too: nothing has changed meanwhile
			must.Do(t, e.DeleteSandbox(me, gone.ID))
			if !kill { // the last save is that of Close
				inSandbox(t, e, me, box.ID, "echo last >/work/last")
			}
			before := must.Get(e.Sandbox(me, box.ID))(t)
			e = restart(t, e, o, kill)
			list := listSandboxes(e, me)
			if len(list) != 1 || len(listSandboxes(e, Caller{Agent: "other"})) > 0 {
				t.Fatalf("%+v", list)
			}
			now := list[0]
			if now.ID != box.ID || !now.Created.Equal(before.Created) || now.Disk != before.Disk || now.Inodes != before.Inodes ||
				now.Expires.Sub(before.Expires).Abs() > time.Second {
				t.Errorf("%+v; was %+v", now, before)
			}
			if got := inSandbox(t, e, me, box.ID, look+"; cat put"); !strings.HasPrefix(got, "text\ntext\n/etc/passwd\n") || !strings.HasSuffix(got, "put") {
				t.Errorf("%q", got)
			}
			if got := inSandbox(t, e, me, box.ID, "cat /work/last"); !kill && got != "last\n" {
				t.Errorf("%q", got)
			}
			fork := newSandbox(t, e, me, SandboxRequest{From: snap.ID})
			if got := inSandbox(t, e, me, fork.ID, "cat /work/hard"); got != "text\n" {
				t.Errorf("%q", got)
			}
			if err := errors.Join(e.DeleteSandbox(me, box.ID), e.DeleteSandbox(me, fork.ID), e.DeleteSnapshot(me, snap.ID)); err != nil {
				t.Error(err)
			}
			if names, err := e.shelf.dir.Names(); len(names) > 0 || err != nil {
				t.Errorf("left: %q, %v", names, err)
			}
		})
	}
}

// What is damaged is told and left alone; the others are restored.
func TestDamagedStore(t *testing.T) {
	var told []string
	o := Options{Store: filepath.Join(t.TempDir(), "store"),
		StoreFailed: func(id, what string, err error) { told = append(told, id+" "+what+": "+err.Error()) }}
	e := must.Get(New(o))(t)
	me := Caller{Agent: "me"}
	good, bad := newSandbox(t, e, me, SandboxRequest{}), newSandbox(t, e, me, SandboxRequest{})
	short := newSandbox(t, e, me, SandboxRequest{TTL: Seconds(time.Second)})
	must.Do(t, e.Close())
	f := must.Get(os.OpenFile(filepath.Join(o.Store, bad.ID), os.O_RDWR, 0))(t)
	must.Get(io.WriteString(f, "x"))(t)
	f.Close()
	text := must.Get(os.ReadFile(filepath.Join(o.Store, good.ID)))(t)
	must.Do(t, os.WriteFile(filepath.Join(o.Store, "sb_copy"), text, 0o600))
	time.Sleep(time.Until(short.Created.Add(time.Second)))
	e = restart(t, e, o, true)
	if list := listSandboxes(e, me); len(list) != 1 || list[0].ID != good.ID {
		t.Errorf("%+v", list)
	}
	all := strings.Join(told, "\n")
	if len(told) != 3 || !strings.Contains(all, bad.ID+" is not restored: ") || !strings.Contains(all, "damaged") ||
		!strings.Contains(all, "sb_copy is not restored: the file is that of") || !strings.Contains(all, short.ID+" is not restored: it has expired") {
		t.Errorf("%s", all)
	}
	o.Store = "/proc/none/store"
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "the sandbox store") {
		t.Error(err)
	}
}

// What a token has made is restored for it alone, and not if it was revoked or cannot be checked.
func TestStoreOfTokens(t *testing.T) {
	g := newGuardedWith(t, Options{Store: filepath.Join(t.TempDir(), "store"), SaveEvery: 20 * time.Millisecond})
	bot, gone := g.mint(token.Block{Agent: "bot"}), g.mint(token.Block{Agent: "bot"})
	kept, lost := g.sandbox(g.caller(bot)), g.sandbox(g.caller(gone))
	for tok, id := range map[*token.Token]string{bot: kept, gone: lost} {
		must.Get(g.PutFile(g.caller(tok), id, "f", strings.NewReader("x"), 0))(t)
		awaitSaved(t, g.Engine, g.caller(tok), id)
		must.Get(g.Snapshot(g.caller(tok), id))(t)
	}
	narrow := g.caller(g.narrow(bot, token.Block{Note: "narrower"}))
	o := g.opts
	var told []string
	o.StoreFailed = func(id, what string, err error) { told = append(told, id+" "+what+": "+err.Error()) }
	without := o
	without.Ledger, without.TokenKeys = nil, nil
	if e := restart(t, g.Engine, without, true); len(listSandboxes(e, Caller{})) > 0 || len(told) != 4 || !strings.Contains(told[0], "token_key") {
		t.Errorf("without a key: %q", told)
	}
	sandbox, snapshots := g.caller(gone), listSnapshots(g.Engine, g.caller(bot))
	must.Do(t, token.Revoke(g.state, gone.ID(), "", time.Time{}))
	told = nil
	e := restart(t, g.Engine, o, true)
	if list := listSandboxes(e, Caller{}); len(list) != 1 || list[0].ID != kept || len(told) != 2 {
		t.Errorf("%+v, %q", list, told)
	}
	if list := listSnapshots(e, g.caller(bot)); len(list) != 1 || list[0].ID != snapshots[0].ID || len(listSnapshots(e, sandbox)) > 0 {
		t.Errorf("%+v", list)
	}
	for what, err := range map[string]error{
		"a sandbox": func() error { _, err := e.Sandbox(narrow, kept); return err }(),
		"a snapshot": func() error {
			_, err := e.CreateSandbox(context.Background(), narrow, &SandboxRequest{From: snapshots[0].ID})
			return err
		}(),
	} {
		if codeOf(err) != "not_found" {
			t.Errorf("a narrower token and %s: %v", what, err)
		}
	}
	must.Do(t, token.Revoke(g.state, bot.ID(), "", time.Time{}))
	e.leases.Look(time.Now())
	if names, err := e.shelf.dir.Names(); len(names) > 0 || err != nil || len(listSnapshots(e, Caller{})) > 0 {
		t.Errorf("after its revocation: %q, %v", names, err)
	}
}

// What is saved of a sandbox that has no lease yet, or none any more, still ends with its token.
func TestSavedWithoutALease(t *testing.T) {
	g := newGuardedWith(t, Options{Store: filepath.Join(t.TempDir(), "store"), SaveEvery: time.Hour})
	end := time.Now().Add(time.Hour).Truncate(time.Second)
	c := g.caller(g.mint(token.Block{Agent: "bot", Expires: end}))
	id := g.sandbox(c)
	g.leases.Drop(id)
	box, no := g.boxes.find(c, id)
	if no != nil {
		t.Fatal(no)
	}
	g.shelf.save(box)
	s := must.Get(g.Snapshot(c, id))(t)
	for _, name := range []string{id, s.ID} {
		f := must.Get(g.shelf.dir.Load(name))(t)
		var r kept
		if err := errors.Join(json.Unmarshal(f.Meta, &r), f.Close()); err != nil || !r.Until.Equal(end) {
			t.Errorf("%s: until %v, %v", name, r.Until, err)
		}
	}
}

// What callers learn of a save that has failed does not say where the store is; a full disk has its own code.
func TestNotKept(t *testing.T) {
	for _, c := range []struct {
		err               error
		code, says, never string
	}{
		{fmt.Errorf("input: %w", &os.PathError{Op: "write", Path: "/secret/sb_x", Err: unix.ENOSPC}), "disk_full", "the sandbox store: no space", "/secret"},
		{errors.Join(&os.PathError{Op: "open", Path: "/secret/.new-sb_x", Err: unix.EIO}), "snapshot_failed", "input/output error", "/secret"},
		{errors.New("work/f: it cannot be read"), "snapshot_failed", "work/f", "store"},
		{refuse("quota", "out_of_sandbox_space", "", "no room"), "out_of_sandbox_space", "no room", "store"},
	} {
		no := notKept(c.err)
		if no.Code != c.code || !strings.Contains(no.Message, c.says) || strings.Contains(no.Message, c.never) {
			t.Errorf("%v: %+v", c.err, no)
		}
	}
}
