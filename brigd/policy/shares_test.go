package policy

import (
	"os"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// TestShares: a share is mounted only if the policy names it, whatever paths it allows, with at most its mode, and only
// at an allowed target.
func TestShares(t *testing.T) {
	dir := t.TempDir()
	f := must.Get(os.Open(dir))(t)
	defer f.Close()
	mount := func(name string, writable bool) nsjail.Spec {
		return nsjail.Spec{Args: []string{"true"}, Mounts: []nsjail.Mount{{Type: nsjail.MountBind, Source: dir, Target: "/data/x",
			Writable: writable, Held: &spec.Held{Name: name, File: f}}}}
	}
	for text, want := range map[string]struct{ ro, rw, other bool }{
		`{"commands": ["*"]}`:                               {false, false, false},
		`{"commands": ["*"], "paths": {"write": ["/"]}}`:    {false, false, false},
		`{"commands": ["*"], "shares": []}`:                 {false, false, false},
		`{"commands": ["*"], "shares": ["data"]}`:           {true, true, false},
		`{"commands": ["*"], "shares": ["data:ro"]}`:        {true, false, false},
		`{"commands": ["*"], "shares": ["data:ro", "*"]}`:   {true, true, true},
		`{"commands": ["*"], "shares": ["*:ro"]}`:           {true, false, true},
		`{"open": true}`:                                    {true, true, true},
		`{"open": true, "paths": {"read": []}}`:             {true, true, true},
		`{"open": true, "shares": []}`:                      {false, false, false},
		`{"open": true, "shares": ["data:ro", "other:rw"]}`: {true, false, true},
	} {
		p := parsed(t, text)
		for _, c := range []struct {
			spec nsjail.Spec
			ok   bool
		}{{mount("data", false), want.ro}, {mount("data", true), want.rw}, {mount("other", false), want.other}} {
			j := decided(t, p, c.spec)
			if no := j.Verdict.Refusal; (no == nil) != c.ok || no != nil && no.Code != "share_not_allowed" {
				t.Errorf("%s: %s writable %v: %v", text, c.spec.Mounts[0].Held.Name, c.spec.Mounts[0].Writable, no)
			}
		}
	}
	s := mount("data", false)
	s.Mounts[0].Target = "/usr/lib"
	if no := decided(t, parsed(t, `{"commands": ["*"], "shares": ["*"]}`), s).Verdict.Refusal; no == nil {
		t.Error("a share took the place of /usr/lib")
	}
	for _, bad := range []string{`["data:"]`, `["data:x"]`, `[":ro"]`, `["Data"]`, `["a b"]`, `["data:ro:rw"]`} {
		if _, err := Parse([]byte(`{"shares": ` + bad + `}`)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// A command in a share is judged by the file that is held, and not by what has been put at its path since.
func TestCommandInAShare(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Mkdir(dir+"/held", 0o755))
	must.Do(t, os.WriteFile(dir+"/held/tool", []byte("#!/bin/sh\n"), 0o755))
	f := must.Get(os.Open(dir + "/held"))(t)
	defer f.Close()
	s := nsjail.Spec{Args: []string{"/data/tool"}, Mounts: []nsjail.Mount{{Type: nsjail.MountBind, Source: dir + "/held",
		Target: "/data", Held: &spec.Held{Name: "data", File: f}}}}
	p := parsed(t, `{"commands": ["/data/tool"], "shares": ["data"]}`)
	if no := decided(t, p, s).Verdict.Refusal; no != nil {
		t.Error(no)
	}
	must.Do(t, os.Rename(dir+"/held", dir+"/gone"))
	if no := decided(t, p, s).Verdict.Refusal; no != nil {
		t.Error("after the directory has moved:", no)
	}
}
