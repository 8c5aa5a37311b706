package nsjail

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/nsjail/internal/spec"
)

// attack is a program of testdata/escape; testdata/escape/README.md describes its header.
type attack struct {
	name, claim      string
	args, setups     []string
	specs            []string
	plans            []off // changes of the plan for both runs
	offs             []off
	noOff            string // why no mitigation can be switched off
	lane, laneReason string
	mayRefuse        bool
}

// off is one way to weaken the jail.
type off struct{ lane, kind, value string }

func loadAttacks(t *testing.T, dir string) (list []*attack) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() == "README.md" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		a, err := parseAttack(f.Name(), string(text))
		if err != nil {
			t.Fatalf("%s: %v", f.Name(), err)
		}
		list = append(list, a)
	}
	return list
}

// parseAttack reads the comment that an attack begins with.
func parseAttack(name, text string) (*attack, error) {
	a := &attack{name: name}
	for i, line := range strings.Split(text, "\n") {
		line, ok := strings.CutPrefix(line, "# ")
		if !ok {
			break
		}
		if i == 0 {
			a.claim = line
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok || strings.Contains(key, " ") {
			continue // prose
		}
		if err := a.field(key, strings.TrimSpace(value)); err != nil {
			return nil, err
		}
	}
	switch {
	case len(a.claim) < 20 || !strings.HasSuffix(a.claim, "."):
		return nil, fmt.Errorf("the first line %q is not a claim: write a sentence", a.claim)
	case len(a.offs) == 0 && a.noOff == "":
		return nil, fmt.Errorf("no off: write what switches the mitigation off, or none and the reason")
	}
	return a, nil
}

func (a *attack) field(key, value string) error {
	switch key {
	case "args":
		a.args = strings.Fields(value)
	case "spec":
		a.specs = append(a.specs, value)
	case "setup":
		if setups[value] == nil {
			return fmt.Errorf("there is no setup %q", value)
		}
		a.setups = append(a.setups, value)
	case "root", "user":
		a.lane, a.laneReason = key, value
	case "refusal":
		a.mayRefuse = true
	case "plan":
		o, err := parseOff(value)
		a.plans = append(a.plans, o)
		return err
	case "off":
		if reason, ok := strings.CutPrefix(value, "none, "); ok {
			a.noOff = reason
			return nil
		}
		o, err := parseOff(value)
		a.offs = append(a.offs, o)
		return err
	default:
		return fmt.Errorf("%q is not a field of the header", key)
	}
	return nil
}

func parseOff(text string) (o off, err error) {
	for _, l := range []string{"root", "user"} {
		if rest, ok := strings.CutPrefix(text, l+" "); ok {
			o.lane, text = l, rest
		}
	}
	var ok bool
	if o.kind, o.value, ok = strings.Cut(text, "="); !ok {
		return o, fmt.Errorf("%q is not KIND=VALUE", text)
	}
	return o, nil
}

// mitigation is what is switched off, for a reader.
func (a *attack) mitigation() string {
	if a.noOff != "" {
		return "none: " + a.noOff
	}
	var parts []string
	for _, o := range a.offs {
		s := o.kind + "=" + o.value
		if o.lane != "" {
			s = o.lane + ": " + s
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, "; ")
}

// spec is the jail that the attack runs in: the default one, changed by the header.
func (a *attack) spec(s *scene, weak bool) (*spec.Spec, error) {
	merged := map[string]json.RawMessage{}
	texts := a.specs
	if weak {
		for _, o := range a.offs {
			if o.kind == "spec" && (o.lane == "" || o.lane == lane()) {
				texts = append(texts[:len(texts):len(texts)], o.value)
			}
		}
	}
	for _, text := range texts {
		if err := json.Unmarshal([]byte(s.expand(text)), &merged); err != nil {
			return nil, fmt.Errorf("spec %s: %w", text, err)
		}
	}
	data, err := json.Marshal(merged)
	if err != nil {
		return nil, err
	}
	jail, err := spec.ParseSpec(data)
	if err != nil {
		return nil, err
	}
	runner := map[string]string{".py": "python3", ".sh": "sh", ".pl": "perl"}[filepath.Ext(a.name)]
	jail.Args = []string{runner, "/escape/" + a.name}
	for _, arg := range a.args {
		jail.Args = append(jail.Args, s.expand(arg))
	}
	jail.Mounts = append([]spec.Mount{
		{Type: spec.MountFile, Source: filepath.Join(asuser.Testdata(), "escape", a.name), Target: "/escape/" + a.name},
		{Type: spec.MountFile, Source: filepath.Join(asuser.Testdata(), "payload", "kernel.py"), Target: "/escape/kernel.py"},
	}, jail.Mounts...)
	return jail, nil
}
