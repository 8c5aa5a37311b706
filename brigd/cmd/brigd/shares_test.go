package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brig/internal/test/must"
)

// TestSharesByHTTP: what the operator shares is listed, mounted and counted; a path of the host is in no answer.
func TestSharesByHTTP(t *testing.T) {
	d := dir(t)
	for _, name := range []string{"/data/sub", "/scratch"} {
		must.Do(t, os.MkdirAll(d+name, 0o755))
	}
	file(t, d+"/data/sub/a", "one\n")
	settings := file(t, d+"/c.json", fmt.Sprintf(`{"jails": {"shares": [%q, %q]}}`, "data="+d+"/data:ro",
		"scratch="+d+"/scratch:rw,protect=kept"))
	p := begin(t, nil, "serve", "--listen", "unix:"+d+"/s", "--config", settings)
	if _, text := p.send("GET", "/v1/shares", ""); text !=
		`{"shares":[{"share":"data","mode":"ro"},{"share":"scratch","mode":"rw","protect":["kept"]}]}`+"\n" {
		t.Error(text)
	}
	mounts := []map[string]any{{"share": "data", "target": "/data", "path": "sub"},
		{"share": "scratch", "target": "/mnt/x", "protect": []string{"new", "a/b"}}}
	status, a := p.do("POST", "/v1/run", map[string]any{"cmd": []string{"cp", "-v", "/data/a", "/mnt/x/b"}, "mounts": mounts})
	if status != 200 || a["status"] != "ok" || len(a["mounts"].([]any)) != 2 {
		t.Errorf("%d %v", status, a)
	}
	if text, err := os.ReadFile(d + "/scratch/b"); string(text) != "one\n" {
		t.Errorf("%q %v", text, err)
	}
	attack := []string{"sh", "-c", "for f in kept new a/b; do mkdir -p /mnt/x/$f && echo made $f; done; mv /mnt/x/a /mnt/x/c && echo moved"}
	for list, want := range map[string]string{`["new", "a/b"]`: "", `[]`: "made new\nmade a/b\nmoved\n"} {
		mount := map[string]any{"share": "scratch", "target": "/mnt/x", "protect": json.RawMessage(list)}
		status, a := p.do("POST", "/v1/run", map[string]any{"cmd": attack, "mounts": []any{mount}})
		if status != 200 || a["stdout"] != want {
			t.Errorf("%s: %d %v", list, status, a)
		}
		must.Do(t, errors.Join(os.RemoveAll(d+"/scratch/new"), os.RemoveAll(d+"/scratch/c")))
		if list, err := os.ReadDir(d + "/scratch"); err != nil || len(list) != 1 {
			t.Errorf("the directory has %v, %v", list, err)
		}
	}
	for list, code := range map[string]string{`["../x"]`: "bad_path", `["@git"]`: "bad_path", `"new"`: "wrong_type", `["new", 1]`: "wrong_type"} {
		mount := map[string]any{"share": "scratch", "target": "/mnt/x", "protect": json.RawMessage(list)}
		status, no := p.do("POST", "/v1/run", map[string]any{"cmd": attack, "mounts": []any{mount}})
		if status != 400 || no["code"] != code || !strings.Contains(fmt.Sprint(no), "mounts[0].protect") {
			t.Errorf("%s: %d %v", list, status, no)
		}
	}
	at, box := p.sandbox(map[string]any{"mounts": mounts[:1]})
	b := p.want(200, "POST", at+"/exec", map[string]any{"cmd": []string{"cat", "/data/a"}})
	if len(box["mounts"].([]any)) != 1 || b["stdout"] != "one\n" {
		t.Errorf("%v %v", box, b)
	}
	if _, text := p.send("GET", "/metrics", ""); !strings.Contains(text,
		`sandbox_share_mounts_total{mode="ro",share="data"} 2`) ||
		!strings.Contains(text, `sandbox_share_mounts_total{mode="rw",share="scratch"} 3`) {
		t.Error("the metrics do not count the mounts")
	}
	for code, m := range map[string]map[string]string{"share_not_allowed": {"share": "x", "target": "/data"},
		"bad_target": {"share": "data", "target": "/etc"}, "bad_path": {"share": "data", "target": "/data", "path": ".."}} {
		status, no := p.do("POST", "/v1/run", map[string]any{"cmd": []string{"true"}, "mounts": []any{m}})
		if status < 400 || status >= 500 || no["code"] != code {
			t.Errorf("%s: %d %v", code, status, no)
		}
		if status, no = p.do("POST", "/v1/sandboxes", map[string]any{"mounts": []any{m}}); code != "bad_path" && no["code"] != code {
			t.Errorf("%s for a sandbox: %d %v", code, status, no)
		}
	}
	for _, answer := range []any{a, box, b} {
		if text, _ := json.Marshal(answer); strings.Contains(string(text), d) {
			t.Errorf("an answer has a path of the host: %s", text)
		}
	}
	for want, flag := range map[string]string{"is not LANGUAGE=PATH": "python", "there is no share": "python=/x/y,share=x",
		"does not work": "python=/usr/bin/none", "is not a language": "x=/y"} {
		refuses(t, nil, []string{"serve", "--listen", "unix:" + d + "/other", "--language", flag}, want)
	}
	for want, flags := range map[string][]string{
		"NAME=DIR:MODE":      {"data"},
		"not a mode":         {"data=" + d + ":rwx"},
		"not a share's name": {"Data=" + d + ":ro"},
		"no such file":       {"data=" + d + "/none:ro"},
		"two of this name":   {"a=" + d + ":ro", "a=" + d + ":ro"},
		"through which":      {"a=" + d + ":rw", "b=" + d + "/data:ro"},
	} {
		args := []string{"serve", "--listen", "unix:" + d + "/other"}
		for _, f := range flags {
			args = append(args, "--share", f)
		}
		refuses(t, nil, args, want)
	}
}

// TestChangesByHTTP: a run's changes of a share come in its answer, can be shown and applied, and are counted; and a tree
// goes into a sandbox and comes back.
func TestChangesByHTTP(t *testing.T) {
	fd := must.Get(unix.MemfdCreate("upper", unix.MFD_CLOEXEC))(t)
	defer unix.Close(fd)
	if err := unix.Fsetxattr(fd, "user.brig", []byte("y"), 0); err != nil {
		t.Skipf("tmpfs has no extended attributes of users before Linux 6.6: %v", err)
	}
	d := dir(t)
	must.Do(t, os.MkdirAll(d+"/repo", 0o755))
	file(t, d+"/repo/a", "one\n")
	p := begin(t, nil, "serve", "--listen", "unix:"+d+"/s", "--share", "repo="+d+"/repo:cow,size=1m", "--allow-apply",
		"--changes-dir", d+"/sets")
	mounts := []map[string]string{{"share": "repo", "target": "/work"}}
	status, a := p.do("POST", "/v1/run", map[string]any{"cmd": []string{"sh", "-c", "echo two >a"}, "mounts": mounts})
	list, _ := a["changes"].([]any)
	if status != 200 || len(list) != 1 {
		t.Fatalf("%d %v", status, a)
	}
	id, _ := list[0].(map[string]any)["id"].(string)
	if _, text := p.send("GET", "/v1/changes", ""); !strings.Contains(text, id) || strings.Contains(text, d) {
		t.Error(text)
	}
	w, text := p.send("GET", "/v1/changes/"+id+"/diff?path=a", "")
	if w.StatusCode != 200 || !strings.Contains(text, "-one\n+two\n") || strings.Contains(text, d) {
		t.Errorf("%d %s", w.StatusCode, text)
	}
	if w, text = p.send("POST", "/v1/changes/"+id+"/apply", ""); w.StatusCode != 200 {
		t.Errorf("%d %s", w.StatusCode, text)
	}
	if b, err := os.ReadFile(d + "/repo/a"); string(b) != "two\n" {
		t.Errorf("%q %v", b, err)
	}
	for _, c := range [][2]string{{"GET", "/diff"}, {"POST", "/apply"}, {"DELETE", ""}} {
		if w, text = p.send(c[0], "/v1/changes/"+id+c[1], ""); w.StatusCode != 404 || !strings.Contains(text, "changes_unknown") {
			t.Errorf("%v: %d %s", c, w.StatusCode, text)
		}
	}
	box, _ := p.sandbox(map[string]any{})
	at := box + "/tree?path=/work/x"
	var tree bytes.Buffer
	out := tar.NewWriter(&tree)
	must.Do(t, out.WriteHeader(&tar.Header{Name: "tool", Mode: 0o4755, Size: 2}))
	if _, err := out.Write([]byte("#!")); err != nil || out.Close() != nil {
		t.Fatal(err)
	}
	if w, text = p.send("PUT", at, tree.String()); w.StatusCode != 200 || text != `{"files":1,"bytes":2}`+"\n" {
		t.Errorf("%d %s", w.StatusCode, text)
	}
	w, text = p.send("GET", at, "")
	h, err := tar.NewReader(strings.NewReader(text)).Next()
	if err != nil || w.StatusCode != 200 || h.Name != "tool" || h.Mode != 0o755 || h.Size != 2 {
		t.Errorf("%d %+v %v", w.StatusCode, h, err)
	}
	for want, c := range map[string][3]string{"bad_archive": {"PUT", at, "no archive at all, and not short"},
		"not_found": {"GET", at + "/none", ""}, "bad_path": {"GET", at + "/../..", ""}} {
		if w, text = p.send(c[0], c[1], c[2]); w.StatusCode < 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", want, w.StatusCode, text)
		}
	}
	refuses(t, nil, []string{"serve", "--allow-apply"}, "is about shares in mode cow")
}
