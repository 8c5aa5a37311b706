package host

import "testing"

// What the keeper prepares is in a Host of its own; the one that was looked at stays as it is.
func TestWith(t *testing.T) {
	was := &Host{Shown: Shown{Scratch: "N", Sources: map[string]*Source{"a": {Path: "/a"}, "b": {Path: "N"}}}}
	now := was.With(Prepared{Sources: map[string]*Source{"b": {Path: "/made"}, "c": {Path: "/volume"}}, Scratch: "/scratch"})
	if now.Sources["a"] != was.Sources["a"] || now.Sources["b"].Path != "/made" || now.Sources["c"] == nil || now.Scratch != "/scratch" {
		t.Errorf("%+v", now.Shown)
	}
	if len(was.Sources) != 2 || was.Sources["b"].Path != "N" || was.Scratch != "N" {
		t.Errorf("the Host that was looked at has changed: %+v", was.Shown)
	}
	if was.With(Prepared{}) != was {
		t.Error("nothing is prepared, and the Host is another one")
	}
}
