package lang

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"brig/brigd/job"
	"brig/nsjail"
)

func TestRefusals(t *testing.T) {
	l := Find()
	need(t, l, "sh")
	for name, c := range map[string]struct {
		language, code string
		args           []string
		spec           nsjail.Spec
		want           string
	}{
		"no language":     {want: "language_unknown"},
		"unknown":         {language: "brainfuck", want: "language_unknown"},
		"hostile":         {language: "../../bin/sh\x00\x1b[2J" + strings.Repeat("x", 1<<20), want: "language_unknown"},
		"a path":          {language: "/bin/sh", want: "language_unknown"},
		"code":            {language: "sh", code: strings.Repeat("x", MaxCode+1), want: "code_too_large"},
		"NUL in the code": {language: "sh", code: "echo 1\n\x00", want: "code_invalid"},
		"NUL in args":     {language: "sh", args: []string{"", "a\x00b"}, want: "args_invalid"},
		"many args":       {language: "sh", args: make([]string, MaxArgs+1), want: "args_too_many"},
		"a large arg":     {language: "sh", args: []string{strings.Repeat("x", 128<<10)}, want: "args_too_large"},
		"large args": {language: "sh", args: slices.Repeat([]string{strings.Repeat("x", 100<<10)}, 11),
			want: "args_too_large"},
		"another root": {language: "sh", spec: nsjail.Spec{Rootfs: nsjail.Rootfs{Path: "/srv/image"}},
			want: "language_rootfs"},
		"an upper-case one": {language: " SH ", want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			j := &job.Job{Spec: c.spec}
			no := l.Prepare(j, c.language, c.code, c.args)
			if c.want == "" {
				if no != nil || j.Language != "sh" {
					t.Fatalf("%v, %q", no, j.Language)
				}
				return
			}
			if no == nil || no.Code != c.want || no.Layer != "request" || len(no.NextSteps) == 0 || len(no.Message) > 300 {
				t.Fatalf("%+v", no)
			}
			if strings.ContainsAny(no.Message, "\x00\x1b") {
				t.Errorf("%q", no.Message)
			}
			if j.Language != "" || j.Spec.Args != nil || j.Spec.Mounts != nil || j.Code != nil {
				t.Errorf("the Job was changed: %+v", j)
			}
		})
	}
	if no := l.Prepare(new(job.Job), "cobol", "", nil); !strings.Contains(no.NextSteps[0], " sh") {
		t.Errorf("%q does not say what there is", no.NextSteps)
	}
}

func TestAliases(t *testing.T) {
	l := Find()
	for alias, name := range map[string]string{"python3": "python", "py": "python", "js": "javascript",
		"node": "javascript",
		"cpp":  "c++", "C++": "c++", "golang": "go", "shell": "bash", "Bash": "bash", "nothing": "", "": ""} {
		if got := l.named(alias); name == "" && got != nil || name != "" && (got == nil || got.name != name) {
			t.Errorf("%q is %+v", alias, got)
		}
	}
	seen := map[string]string{}
	for _, r := range rows() {
		for _, n := range append(r.aliases, r.name) {
			if other := seen[n]; other != "" {
				t.Errorf("%q is %s and %s", n, other, r.name)
			}
			if seen[n] = r.name; n != strings.ToLower(n) {
				t.Errorf("%q is never found", n)
			}
		}
	}
}

func TestJobOfCode(t *testing.T) {
	l := &Languages{dir: codeDir}
	l.look()
	l.names["python"].programs = []program{{path: "/usr/bin/python3"}}
	l.names["c"].programs = []program{{path: "/usr/bin/cc"}}
	code := "print(1)\xff"
	j := &job.Job{Spec: nsjail.Spec{Env: []string{"A=1"}, Workdir: "/work/a", Mounts: make([]nsjail.Mount, 0, 8)}}
	if no := l.Prepare(j, "py", code, []string{"-x", "y z"}); no != nil {
		t.Fatal(no)
	}
	if j.Language != "python" || !bytes.Equal(j.Code, []byte(code)) {
		t.Errorf("%q %q", j.Language, j.Code)
	}
	if want := []string{"/usr/bin/python3", "-u", "-B", "/run/brig/main.py", "-x", "y z"}; !slices.Equal(j.Spec.Args,
		want) {
		t.Errorf("%q", j.Spec.Args)
	}
	if want := []string{"A=1", "PYTHONPATH=/work/a:/input"}; !slices.Equal(j.Spec.Env, want) {
		t.Errorf("%q", j.Spec.Env)
	}
	if want := (nsjail.Mount{Type: nsjail.MountData, Target: "/run/brig/main.py", Content: code,
		Mode: "444"}); len(j.Spec.Mounts) != 1 || j.Spec.Mounts[0] != want {
		t.Errorf("%+v", j.Spec.Mounts)
	}
	if p := j.Spec.Check(); p != nil {
		t.Errorf("%+v", p)
	}
	own := &job.Job{Spec: nsjail.Spec{Env: []string{"PYTHONPATH=/mine"}}}
	if no := l.Prepare(own, "python", "", nil); no != nil || !slices.Equal(own.Spec.Env, []string{"PYTHONPATH=/mine"}) {
		t.Errorf("%v %q", no, own.Spec.Env)
	}
	j = new(job.Job)
	if no := l.Prepare(j, "c", "$(id)", []string{"$(id)"}); no != nil {
		t.Fatal(no)
	}
	if want := []string{"/bin/sh", "-c", scriptC, "/bin/sh", "/usr/bin/cc", "/run/brig/main.c", goCacheAt,
		"$(id)"}; !slices.Equal(j.Spec.Args, want) {
		t.Errorf("%q", j.Spec.Args)
	}
}

// FuzzPrepare: whatever is asked for is refused with a next step, or is a Spec without a problem that carries the code
// in its mount only.
func FuzzPrepare(f *testing.F) {
	f.Add("python", "print(1)", "a", "/work")
	f.Add("C++", "int main() {}", "\x00", "/input")
	f.Add("go", "\xff\x00", strings.Repeat("x", 200<<10), "/a:b")
	f.Add("\x00", "", "", "")
	l := Find()
	f.Fuzz(func(t *testing.T, language, code, arg, workdir string) {
		j := &job.Job{Spec: nsjail.Spec{Workdir: workdir}}
		if no := l.Prepare(j, language, code, []string{arg}); no != nil {
			if len(no.NextSteps) == 0 || no.Message == "" || no.Code == "" {
				t.Errorf("%+v", no)
			}
			return
		}
		for _, p := range j.Spec.Check() {
			if p.Path != "workdir" && !strings.HasPrefix(p.Path, "env") {
				t.Errorf("%+v", p)
			}
		}
		m := j.Spec.Mounts[0]
		if m.Content != code || m.Source != "" || j.Spec.Args[len(j.Spec.Args)-1] != arg || m.Type != nsjail.MountData {
			t.Errorf("%+v", j.Spec)
		}
	})
}
