package wish

import (
	"slices"
	"testing"

	"brig/nsjail"
)

// The input for a part of a Spec is that of the nearest thing around it.
func TestWhere(t *testing.T) {
	o := Origin{input: map[string]string{"mounts[1]": "--bind", "args": "command", "limits.io": "--device-read-bps"}}
	for path, want := range map[string]string{
		"mounts[1].target":  "--bind",
		"mounts[10].target": "mounts[10].target",
		"mounts":            "mounts",
		"args":              "command",
		"args[0]":           "command name",
		"args[2]":           "argument 2",
		"limits.io[3].read": "--device-read-bps",
		"limits":            "limits",
		"":                  "",
	} {
		if got := o.Where(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
	o.file = "job.json"
	if got, want := o.Where("user"), `--spec "job.json": user`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A reason that names another part of the Spec names the input for it.
func TestNamePlaces(t *testing.T) {
	o := Origin{input: map[string]string{"mounts[1]": "--bind", "mounts[1].size": "--no", "limits.io[0]": "--device-read-bps", "args": "command"}}
	for reason, want := range map[string]string{
		"it hides mounts[1]":              "it hides --bind",
		"mounts[1] and limits.io[0]":      "--bind and --device-read-bps",
		"mounts[2] and args are the same": "mounts[2] and args are the same",
	} {
		if got := o.namePlaces(reason); got != want {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
	}
}

// Rules that are inserted before others move the inputs of these.
func TestMove(t *testing.T) {
	o := Origin{input: map[string]string{"l[0]": "a", "l[1]": "b"}}
	o.move("l", 2, 1)
	if o.Of("l[0]") != "" || o.Of("l[1]") != "a" || o.Of("l[2]") != "b" {
		t.Errorf("%v", o.input)
	}
}

// A flag replaces a mount of the file at the same target, and never one of another flag.
func TestMountOfAFlag(t *testing.T) {
	d := NewDraft("run", nil)
	d.sheet.spec.Mounts, d.sheet.filed = []nsjail.Mount{{Target: "/a"}, {Target: "/b"}}, 2
	for _, target := range []string{"/b", "/c", "/b"} {
		d.Mount("--dir", nsjail.Mount{Type: nsjail.MountDir, Target: target})
	}
	var got []string
	for i, m := range d.Wish().Spec.Mounts {
		got = append(got, m.Target+" "+d.Wish().From.Of(place("mounts", i)))
	}
	if want := []string{"/a ", "/b --dir", "/c --dir", "/b --dir"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Only a run can be asked for what no other command does.
func TestOfRun(t *testing.T) {
	for want, w := range map[string]Wish{
		"":              {Output: Output{ReportFD: -1, JSON: true}},
		"--report":      {Output: Output{ReportFD: -1, Report: "r"}, ApplyIfOK: true},
		"--report-fd":   {Output: Output{ReportFD: 3}},
		"--net-log":     {Output: Output{ReportFD: -1, NetLog: "-"}},
		"--commit":      {Output: Output{ReportFD: -1}, Image: Image{Commit: "a"}},
		"--apply-if-ok": {Output: Output{ReportFD: -1}, ApplyIfOK: true},
	} {
		if got := w.OfRun(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestInherit: what a --spec was made from is named, but for what the flags beside it have changed.
func TestInherit(t *testing.T) {
	outer := Origin{input: map[string]string{"mounts[0]": "--input", "workdir": "--workdir"}, file: "job.json"}
	inner := Origin{input: map[string]string{"mounts[0]": "--cow"}, file: "/proc/self/fd/3"}
	for _, text := range []string{"", "1", "{}", "[]"} {
		inner.Inherit(text)
	}
	if got := inner.Where("workdir"); got != `--spec "/proc/self/fd/3": workdir` {
		t.Error(got)
	}
	inner.Inherit(outer.Text(1000))
	for path, want := range map[string]string{"mounts[0].source": "--cow", "workdir": "--workdir",
		"net": `--spec "job.json": net`} {
		if got := inner.Where(path); got != want {
			t.Errorf("%s: %s; want %s", path, got, want)
		}
	}
	if got := outer.Text(10); got != "" {
		t.Errorf("%q is longer than asked for", got)
	}
}
