package nsjail

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"brig/internal/attack"
	"brig/internal/test/asuser"
	"brig/internal/test/must"
	"brig/landlock"
	"brig/nsjail/spec"
)

// trial is an attack that is run in jails of this package.
type trial struct{ *attack.Attack }

func loadAttacks(t *testing.T) (list []*trial) {
	t.Helper()
	attacks := must.Get(attack.Load(os.DirFS(asuser.Testdata()), "escape"))(t)
	for _, a := range attacks {
		list = append(list, &trial{a})
	}
	return list
}

// skip skips an attack if brig does not claim to hold it for this caller or on this kernel.
func (a *trial) skip(t *testing.T) {
	t.Helper()
	if a.Lane != "" && a.Lane != lane() {
		t.Skipf("only as %s: %s", a.Lane, a.LaneReason)
	}
	if abi := landlock.ABI(); abi < a.Landlock {
		t.Skipf("it takes Landlock's ABI %d, and this kernel has %d", a.Landlock, abi)
	}
}

// spec is the jail that the attack runs in: the default one, changed by the header.
func (a *trial) spec(s *attack.Scene, weak bool) (*spec.Spec, error) {
	merged := map[string]json.RawMessage{}
	texts := a.Specs
	if weak {
		for _, o := range a.Offs {
			if o.Kind == "spec" && (o.Lane == "" || o.Lane == lane()) {
				texts = append(texts[:len(texts):len(texts)], o.Value)
			}
		}
	}
	for _, text := range texts {
		if err := json.Unmarshal([]byte(s.Expand(text)), &merged); err != nil {
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
	jail.Args = a.Command(s)
	if jail.Tier != "" { // it shows no file elsewhere
		dir := asuser.Testdata()
		jail.Args[1] = filepath.Join(dir, "escape", a.Name)
		jail.Env = append(jail.Env, "PYTHONPATH="+filepath.Join(dir, "payload"), "PYTHONDONTWRITEBYTECODE=1")
		jail.Mounts = append([]spec.Mount{{Type: spec.MountBind, Source: dir, Target: dir}}, jail.Mounts...)
		return jail, nil
	}
	jail.Mounts = append([]spec.Mount{
		{Type: spec.MountFile, Source: filepath.Join(asuser.Testdata(), "escape", a.Name), Target: attack.Dir + "/" + a.Name},
		{Type: spec.MountFile, Source: filepath.Join(asuser.Testdata(), "payload", "kernel.py"), Target: attack.Dir + "/kernel.py"},
	}, jail.Mounts...)
	return jail, nil
}
