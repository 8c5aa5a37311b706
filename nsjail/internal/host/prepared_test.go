package host

import "testing"

// sourcesOf returns sources with a path each.
func sourcesOf(paths map[SourceID]string) (list Sources) {
	for id, path := range paths {
		list.Put(id, &Source{Path: path})
	}
	return list
}

// What the keeper prepares is in a Host of its own; the one that was looked at stays as it is.
func TestWith(t *testing.T) {
	was := &Host{Shown: Shown{Scratch: "N", Sources: sourcesOf(map[SourceID]string{SourceOf(0): "/a", UpperOf(0): "N"})}}
	now := was.With(Prepared{Sources: sourcesOf(map[SourceID]string{UpperOf(0): "/made", SourceOf(1): "/volume"}), Scratch: "/scratch"})
	if now.Sources.Of(0) != was.Sources.Of(0) || now.Sources.At(UpperOf(0)).Path != "/made" || now.Sources.Of(1) == nil || now.Scratch != "/scratch" {
		t.Errorf("%+v", now.Shown)
	}
	if was.Sources.Of(1) != nil || was.Sources.At(UpperOf(0)).Path != "N" || was.Scratch != "N" {
		t.Errorf("the Host that was looked at has changed: %+v", was.Shown)
	}
	if was.With(Prepared{}) != was {
		t.Error("nothing is prepared, and the Host is another one")
	}
}
