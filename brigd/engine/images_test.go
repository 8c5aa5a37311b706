package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/brigd/policy"
	"brig/brigd/token"
	"brig/internal/test/must"
)

// imageStore makes a store with the image tool:1, whose root has sh, cat and a program that passes for python, and an
// image bare:1 without any.
func imageStore(t *testing.T) string {
	t.Helper()
	store := t.TempDir()
	for i, c := range []struct{ name, config string }{
		{"tool:1", `{"Env": ["COLOUR=blue", "PATH=/opt/bin:/bin", "LD_DEBUG_OUTPUT=x"], "Entrypoint": ["/bin/sh"], "Cmd": ["-c", "echo own"], "WorkingDir": "/opt"}`},
		{"bare:1", `{}`},
	} {
		hex := strings.Repeat(string(rune('a'+i)), 64)
		dir := filepath.Join(store, "images", hex)
		for name, text := range map[string]string{"image.json": `{"files": 1, "layers": [], "config": ` + c.config + `}`,
			"tree/etc/passwd": "root:x:0:0::/root:/bin/sh\n", "tree/opt/bin/python3": "#!/bin/sh\nfor f; do :; done\necho 9.9.9 $(cat $f)\necho 42\n"} {
			p := filepath.Join(dir, name)
			must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o755)))
		}
		names := filepath.Join(store, "names")
		if err := errors.Join(os.MkdirAll(names, 0o755), os.Symlink("../images/"+hex, filepath.Join(names, "docker.io%library%"+c.name))); err != nil {
			t.Fatal(err)
		}
		if c.name == "tool:1" {
			install(t, filepath.Join(dir, "tree"), "sh", "cat", "id")
		}
	}
	return store
}

// install copies programs of this machine, with the libraries that ldd(1) names.
func install(t *testing.T, tree string, programs ...string) {
	t.Helper()
	put := func(from, to string) {
		b, err := os.ReadFile(from)
		must.Do(t, errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, b, 0o755)))
	}
	for _, name := range programs {
		out := must.Get(exec.Command("ldd", "/bin/"+name).Output())(t)
		put("/bin/"+name, filepath.Join(tree, "bin", name))
		for _, word := range strings.Fields(string(out)) {
			if strings.HasPrefix(word, "/") {
				put(word, filepath.Join(tree, word))
			}
		}
	}
}

// TestImages: a run has the root that it names, with the image's variables and user, and the languages that are there.
func TestImages(t *testing.T) {
	e := newEngine(t, Options{ImageStore: imageStore(t), Images: []string{"tool:1", "bare:1"},
		Policies: []*policy.Policy{parsed(t, `{"languages": ["*"], "commands": ["/bin/cat", "*"], "images": ["tool:1", "bare:1"], "environment": {"set": ["MINE"]}}`)}})
	ctx := context.Background()
	for name, c := range map[string]struct {
		r    Request
		want string
	}{
		"a command":       {Request{Cmd: []string{"sh", "-c", "echo $COLOUR $MINE $PWD $HOME $(id -u); cat /opt/bin/python3 | cat >/dev/null"}, Env: map[string]string{"MINE": "m"}}, "blue m /work /tmp 0\n"},
		"its own command": {Request{}, "own\n"},
		"another place":   {Request{Cmd: []string{"sh", "-c", "echo $PWD"}, Cwd: "/opt"}, "/opt\n"},
		"code":            {Request{Language: "python", Code: "hello"}, "9.9.9 hello\n42\n"},
		"another name":    {Request{Cmd: []string{"cat", "/etc/passwd"}, Image: "docker.io/library/tool:1"}, "root:x:0:0::/root:/bin/sh\n"},
	} {
		if c.r.Image == "" {
			c.r.Image = "tool:1"
		}
		a := e.Run(ctx, Caller{}, &c.r, nil)
		if a.Stdout != c.want || a.Status != "ok" || a.Image != "tool:1@sha256:"+strings.Repeat("a", 64) {
			t.Errorf("%s: %+v %+v", name, a, a.Error)
		}
	}
	list, err := json.Marshal(e.Images(Caller{}))
	want := fmt.Sprintf(`[{"image":"bare:1","digest":"sha256:%s","languages":[]},{"image":"tool:1","digest":"sha256:%s",`+
		`"languages":["python","sh"]}]`, strings.Repeat("b", 64), strings.Repeat("a", 64))
	if err != nil || string(list) != want {
		t.Errorf("%s, %v", list, err)
	}
	for want, r := range map[string]*Request{
		"image_not_allowed": {Cmd: []string{"cat"}, Image: "other:1"},
		"nothing_to_run":    {Image: "bare:1"},
		"language_missing":  {Image: "tool:1", Language: "ruby", Code: "1"},
		"code_and_cmd":      {Image: "tool:1", Language: "python", Cmd: []string{"cat"}},
		// the image's own variables are allowed; the request's are still asked for
		"variable_not_allowed": {Image: "tool:1", Cmd: []string{"cat"}, Env: map[string]string{"COLOUR": "red"}},
	} {
		a := e.Run(ctx, Caller{}, r, nil)
		if a.Error == nil || a.Error.Code != want {
			t.Errorf("%s: %+v %+v", want, a, a.Error)
		}
	}
	a := e.Run(ctx, Caller{}, &Request{Cmd: []string{"cat"}, Image: "../../x"}, nil)
	if a.Error == nil || a.Error.Message != `"../../x" is no image that you may use` || !slices.Contains(a.Error.NextSteps, "use one of these, or leave it out: bare:1, tool:1") {
		t.Errorf("%+v", a.Error)
	}
}

// TestImagesOfPolicies: without a word of the operator's there is no image, and policies and tokens name those that
// their callers may use, and learn of no others.
func TestImagesOfPolicies(t *testing.T) {
	store := imageStore(t)
	r := &Request{Cmd: []string{"sh", "-c", "id -u"}, Image: "tool:1"}
	e := newEngine(t, Options{})
	if a := e.Run(context.Background(), Caller{}, r, nil); a.Error == nil || a.Error.Code != "image_not_allowed" || a.Error.NextSteps[0] != "leave image out: there is none" {
		t.Errorf("%+v", a.Error)
	}
	for text, ok := range map[string]bool{`{"commands": ["*"]}`: false, `{"commands": ["*"], "images": ["*"]}`: true,
		`{"commands": ["*"], "images": ["bare:1"]}`: false, `{"open": true}`: true, `{"open": true, "images": []}`: false,
		`{"commands": ["*"], "paths": {"roots": ["/"]}}`: false} {
		e := newEngine(t, Options{ImageStore: store, Images: []string{"tool:1"}, Policies: []*policy.Policy{parsed(t, text)}})
		if a := e.Run(context.Background(), Caller{}, r, nil); (a.Error == nil) != ok || a.Error != nil && a.Error.Code != "image_not_allowed" {
			t.Errorf("%s: %+v %+v", text, a, a.Error)
		}
	}
	g := newGuardedWith(t, Options{ImageStore: store, Images: []string{"tool:1", "bare:1"}})
	whole := g.mint(token.Block{Agent: "bot"})
	narrow := g.narrow(whole, token.Block{Policy: json.RawMessage(`{"open": true, "images": ["bare:1"]}`)})
	if a := g.Run(context.Background(), g.caller(whole), r, nil); a.Error != nil || a.Stdout != "0\n" {
		t.Errorf("%+v %+v", a, a.Error)
	}
	if a := g.Run(context.Background(), g.caller(narrow), r, nil); a.Error == nil || strings.Contains(fmt.Sprint(a.Error.NextSteps), "tool") {
		t.Errorf("%+v", a.Error)
	}
	if list := g.Images(g.caller(narrow)); len(list) != 1 || list[0].Name != "bare:1" {
		t.Errorf("%+v", list)
	}
	found := false
	for _, v := range lines(t, g.log)["run.start"] {
		found = found || v["image"] == "tool:1@sha256:"+strings.Repeat("a", 64)
	}
	if !found {
		t.Error("the audit log does not say which image was the root")
	}
}

// TestImagesThatAreNot: brigd does not begin with an image that is missing, named twice, or whose configuration is
// hostile.
func TestImagesThatAreNot(t *testing.T) {
	store := imageStore(t)
	hostile := filepath.Join(store, "images", strings.Repeat("b", 64), "image.json")
	must.Do(t, os.WriteFile(hostile, []byte(`{"config": {"Env": ["A\nB=`+strings.Repeat("x", 1<<20)+`"]}}`), 0o644))
	for want, images := range map[string][]string{
		`no such image: none:1; run brigd image pull "none:1"`:             {"none:1"},
		`the image "library/tool:1" is named twice`:                        {"tool:1", "library/tool:1"},
		"the image bare:1@sha256:" + strings.Repeat("b", 64) + ": Env has": {"bare:1"},
		`the image name "../x"`:                                            {"../x"},
	} {
		e, err := New(Options{ImageStore: store, Images: images})
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("%v: %v", images, err)
		}
		if err == nil {
			e.Close()
		}
	}
}
