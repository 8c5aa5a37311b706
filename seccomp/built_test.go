package seccomp

import (
	"bytes"
	"os"
	"path"
	"runtime"
	"slices"
	"testing"

	"brig/internal/test/golden"
	"brig/internal/test/must"
)

// Each file holds what is compiled now, whatever kernel it is for, and there is no other file.
func TestBuiltFiltersAreFresh(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skipf("no filter is built for %s", runtime.GOARCH)
	}
	tables := map[string]func() (*Table, error){"open": openTable,
		"guard":              func() (*Table, error) { return guardTable(false, true) },
		"guard_files":        func() (*Table, error) { return guardTable(true, true) },
		"guard_noinit":       func() (*Table, error) { return guardTable(false, false) },
		"guard_files_noinit": func() (*Table, error) { return guardTable(true, false) },
		"process":            func() (*Table, error) { return processTable(false, false) },
		"process_net":        func() (*Table, error) { return processTable(true, false) },
		"process_owner":      func() (*Table, error) { return processTable(false, true) },
		"process_net_owner":  func() (*Table, error) { return processTable(true, true) },
	}
	var names []string
	for _, preset := range Presets() {
		if preset == "debug" {
			continue
		}
		table := func(init bool) (*Table, error) {
			p, err := Preset(preset)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(p.Syscalls, func(s Syscall) bool {
				return s.Includes != nil && s.Includes.MinKernel != "" || s.Excludes != nil && s.Excludes.MinKernel != ""
			}) || len(p.Flags) > 0 {
				t.Errorf("%s depends on the kernel, or wants flags: it cannot be compiled when brig is built", preset)
			}
			return p.WithInit(init).Resolve(Target{Arch: runtime.GOARCH})
		}
		tables[preset] = func() (*Table, error) { return table(true) }
		tables[preset+"_noinit"] = func() (*Table, error) { return table(false) }
	}
	for name, make := range tables {
		names = append(names, path.Base(builtFile(name)))
		table := must.Get(make())(t)
		fresh := must.Get(table.Compile())(t)
		if golden.Update() {
			must.Do(t, os.WriteFile(builtFile(name), fresh, 0o644))
		} else if have, err := built(name, nil); err != nil || !bytes.Equal(have, fresh) {
			t.Errorf("%s is not what its table compiles to; run go generate", builtFile(name))
		}
	}
	files := must.Get(os.ReadDir("built"))(t)
	for _, f := range files {
		if !slices.Contains(names, f.Name()) {
			t.Errorf("nothing asks for built/%s; remove it", f.Name())
		}
	}
}

// debug has no file, and is compiled for the kernel.
func TestPresetThatDependsOnTheKernel(t *testing.T) {
	filter := func(minor int) []byte {
		return must.Get(PresetFilter("debug", Target{Arch: runtime.GOARCH, KernelMajor: 5, KernelMinor: minor}, true))(t)
	}
	if bytes.Equal(filter(15), filter(16)) {
		t.Error("debug is the same for Linux 5.15 and 5.16")
	}
	if _, err := PresetFilter("nosuch", native(), true); err == nil {
		t.Error("a preset that does not exist has a filter")
	}
}
