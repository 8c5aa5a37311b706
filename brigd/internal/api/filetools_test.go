package api

import (
	"strings"
	"testing"

	"brig/brigd/engine"
)

// newBox makes a sandbox, and returns its path.
func (g *rig) newBox(headers ...string) string {
	var box engine.SandboxInfo
	g.do(201, "POST", "/v1/sandboxes", `{}`, headers...).into(g.T, &box)
	return "/v1/sandboxes/" + box.ID
}

func TestFileTools(t *testing.T) {
	g := newRig(t, Options{Engine: newFake()})
	at := g.newBox()
	g.do(200, "PUT", at+"/files/work/a", "one two two")
	var info engine.FileInfo
	g.do(200, "GET", at+"/stat?path=/work/a", "").into(t, &info)
	if info.Path != "/work/a" || info.Size != 11 {
		t.Errorf("%+v", info)
	}
	g.refused(404, "not_found", "GET", at+"/stat?path=/work/none", "")
	g.do(200, "POST", at+"/mkdir?path=/work/d&mode=700", "").into(t, &info)
	if info.Type != "dir" || info.Mode != "0700" {
		t.Errorf("%+v", info)
	}
	for mode, want := range map[string]string{"0": "0000", "000": "0000", "640": "0640", "0777": "0777"} {
		if g.do(200, "POST", at+"/chmod?path=/work/a&mode="+mode, "").into(t, &info); info.Mode != want {
			t.Errorf("%s: %+v", mode, info)
		}
	}
	for _, query := range []string{"", "&mode=", "&mode=x", "&mode=-1", "&mode=1777", "&mode=8"} {
		g.refused(400, "invalid_parameter", "POST", at+"/chmod?path=/work/a"+query, "")
	}
	g.refused(400, "invalid_parameter", "POST", at+"/mkdir?path=/work/a&mode=0", "")

	g.do(200, "PUT", at+"/files/work/b", "other")
	g.refused(409, "exists", "POST", at+"/move?path=/work/a&to=/work/b", "")
	g.refused(409, "exists", "POST", at+"/move?path=/work/a&to=/work/b&overwrite=0", "")
	g.do(200, "POST", at+"/move?path=/work/a&to=/work/b&overwrite=1", "").into(t, &info)
	if r := g.do(200, "GET", at+"/files/work/b", ""); string(r.text) != "one two two" || info.Path != "/work/b" {
		t.Errorf("%s, %+v", r.text, info)
	}
	g.do(200, "POST", at+"/move?path=/work/b&to=/work/%FFa%0A", "")
	g.do(200, "POST", at+"/move?path=/work/%FFa%0A&to=/work/a", "")

	var edited Edited
	g.do(200, "POST", at+"/edit?path=/work/a", `{"old":"one","new":"é"}`).into(t, &edited)
	if edited.Replaced != 1 || edited.File.Path != "/work/a" {
		t.Errorf("%+v", edited)
	}
	g.refused(409, "text_not_unique", "POST", at+"/edit?path=/work/a", `{"old":"two","new":"x"}`)
	g.do(200, "POST", at+"/edit?path=/work/a", `{"old":"two","all":true}`).into(t, &edited)
	if r := g.do(200, "GET", at+"/files/work/a", ""); string(r.text) != "é  " || edited.Replaced != 2 {
		t.Errorf("%q, %+v", r.text, edited)
	}
	g.refused(400, "unknown_field", "POST", at+"/edit?path=/work/a", `{"old":"two","path":"x"}`)
	g.refused(415, "unsupported_media_type", "POST", at+"/edit?path=/work/a", "")
	g.refused(405, "method_not_allowed", "GET", at+"/move?path=/work/a&to=/work/b", "")
}

// The tools reach no other agent's sandbox, and a browser's page none.
func TestFileToolsOfOthers(t *testing.T) {
	g := newRig(t, Options{Engine: newFake()})
	at := g.newBox("X-Agent-Id", "alice")
	g.do(200, "PUT", at+"/files/work/a", "x", "X-Agent-Id", "alice")
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/stat?path=/work/a", ""}, {"GET", "/glob?pattern=**", ""}, {"GET", "/grep?pattern=x", ""}, {"POST", "/mkdir?path=/work/d", ""}, {"POST", "/move?path=/work/a&to=/work/b", ""},
		{"POST", "/chmod?path=/work/a&mode=600", ""}, {"POST", "/edit?path=/work/a", `{"old":"x","new":"y"}`},
	} {
		g.refused(404, "not_found", c.method, at+c.path, c.body, "X-Agent-Id", "bob")
		for _, h := range [][]string{{"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}} {
			g.refused(403, "origin_not_allowed", c.method, at+c.path, c.body, append(h, "X-Agent-Id", "alice")...)
		}
	}
	if r := g.do(200, "GET", at+"/files?path=/work", "", "X-Agent-Id", "alice"); !strings.Contains(string(r.text), `"/work/a"`) {
		t.Errorf("%s", r.text)
	}
}

func TestFileSearch(t *testing.T) {
	g := newRig(t, Options{Engine: newFake()})
	at := g.newBox()
	for _, name := range []string{"a.go", "b.go", "c.py"} {
		g.do(200, "PUT", at+"/files/work/"+name, "needle")
	}
	var files FileList
	if g.do(200, "GET", at+"/glob?pattern=/work/*.go&path=/", "").into(t, &files); len(files.Files) != 2 || files.More {
		t.Errorf("%+v", files)
	}
	if g.do(200, "GET", at+"/glob?pattern=/work/*.go&max=1", "").into(t, &files); len(files.Files) != 1 || !files.More {
		t.Errorf("%+v", files)
	}
	if g.do(200, "GET", at+"/glob?pattern=none", "").into(t, &files); files.Files == nil || len(files.Files) != 0 {
		t.Errorf("%+v", files)
	}
	var found engine.Found
	if g.do(200, "GET", at+"/grep?pattern=n.e&max=0&ignore_case=1&glob=*", "").into(t, &found); len(found.Lines) != 3 {
		t.Errorf("%+v", found)
	}
	if g.do(200, "GET", at+"/grep?pattern=none", "").into(t, &found); found.Lines == nil || len(found.Lines) != 0 {
		t.Errorf("%+v", found)
	}
	g.refused(400, "bad_pattern", "GET", at+"/grep?pattern=(", "")
	for _, max := range []string{"-1", "x", "1e3", "99999999999"} {
		g.refused(400, "invalid_parameter", "GET", at+"/grep?pattern=x&max="+max, "")
		g.refused(400, "invalid_parameter", "GET", at+"/glob?pattern=x&max="+max, "")
	}
}
