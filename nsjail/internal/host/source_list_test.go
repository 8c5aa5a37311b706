package host

import (
	"encoding/json"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// A source has its place by its mount: what the mount shows, and the directory for its changes.
func TestSources(t *testing.T) {
	var list Sources
	if !list.IsZero() || list.Of(spec.Root) != nil || list.Of(3) != nil {
		t.Errorf("%+v", list)
	}
	in := []SourceID{SourceOf(spec.Root), UpperOf(spec.Root), UpperOf(1), SourceOf(2)}
	for _, id := range []SourceID{in[3], in[1], in[2], in[0]} {
		list.Put(id, &Source{Path: id.String()})
	}
	at := 0
	for id, src := range list.All() {
		if id != in[at] || src.Path != id.String() || list.At(id) != src {
			t.Errorf("%v: %+v", id, src)
		}
		at++
	}
	if at != len(in) || list.IsZero() || list.Of(0) != nil || list.Of(1) != nil || list.At(UpperOf(2)) != nil || list.Of(9) != nil {
		t.Errorf("%d of %+v", at, list)
	}
	for range list.All() { // a loop may end early
		break
	}
}

// The JSON form has a member for each source, and what is read is added.
func TestSourcesJSON(t *testing.T) {
	var h struct {
		Sources Sources `json:"sources,omitzero"`
	}
	if b := must.Get(json.Marshal(&h))(t); string(b) != "{}" {
		t.Errorf("%s", b)
	}
	h.Sources.Put(SourceOf(1), &Source{Path: "/a"})
	must.Do(t, json.Unmarshal([]byte(`{"sources":{"rootfs":{"path":"/r"},"mounts[0].upper":{"path":"/u"}}}`), &h))
	if h.Sources.Of(1) == nil || h.Sources.Of(spec.Root).Path != "/r" || h.Sources.At(UpperOf(0)).Path != "/u" {
		t.Errorf("%+v", h.Sources)
	}
	want := `{"sources":{"mounts[0].upper":{"path":"/u","dir":false,"uid":0,"gid":0,"Fd":0,"Volume":"","Below":""},`
	if b := must.Get(json.Marshal(&h))(t); !strings.HasPrefix(string(b), want) {
		t.Errorf("%s", b)
	}
	for _, text := range []string{`{"rootfs":{"pth":"/"}}`, `{"root":{}}`, `[]`} {
		if err := h.Sources.UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

// An ID is written as errors name it, and read back.
func TestSourceID(t *testing.T) {
	for id, want := range map[SourceID][2]string{
		SourceOf(spec.Root): {"rootfs", "rootfs"}, UpperOf(spec.Root): {"rootfs.upper", "rootfs"},
		SourceOf(0): {"mounts[0].source", "mounts[0]"}, UpperOf(12): {"mounts[12].upper", "mounts[12]"},
	} {
		if id.String() != want[0] || id.Entry() != want[1] {
			t.Errorf("%+v: %s, %s", id, id, id.Entry())
		}
		var back SourceID
		if err := json.Unmarshal(must.Get(json.Marshal(id))(t), &back); err != nil || back != id {
			t.Errorf("%s: %+v, %v", id, back, err)
		}
	}
	for _, text := range []string{"", "k", "rootfs.source", "mounts[0]", "mounts[x].source", "mounts[-1].source", "mounts[-2].source", "mounts[1].lower"} {
		var id SourceID
		if err := id.UnmarshalText([]byte(text)); err == nil || id != (SourceID{}) {
			t.Errorf("%q is %+v", text, id)
		}
	}
}
