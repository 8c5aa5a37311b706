package seccomp

import (
	"embed"
	"runtime"
)

// builtFiles holds the filters that are compiled when brig is built: built/NAME_GOARCH.bpf.
//
//go:generate go test -run BuiltFiltersAreFresh$ -update .
//go:embed built/*.bpf
var builtFiles embed.FS

// built returns such a filter. A filter that is not among them is compiled now: any of another architecture than amd64,
// and that of the preset debug, which depends on the kernel.
func built(name string, table func() (*Table, error)) ([]byte, error) {
	if bpf, err := builtFiles.ReadFile(builtFile(name)); err == nil {
		return bpf, nil
	}
	t, err := table()
	if err != nil {
		return nil, err
	}
	return t.Compile()
}

func builtFile(name string) string { return "built/" + name + "_" + runtime.GOARCH + ".bpf" }

// PresetFilter returns the filter of a preset for a process without capabilities. init reports whether process 1 of the
// jail is brig's init.
func PresetFilter(name string, t Target, init bool) ([]byte, error) {
	return built(withInit(name, init), func() (*Table, error) {
		p, err := Preset(name)
		if err != nil {
			return nil, err
		}
		return p.WithInit(init).Resolve(t)
	})
}

// GuardFilter returns the filter of guardTable.
func GuardFilter(files, init bool) ([]byte, error) {
	name := "guard"
	if files {
		name = "guard_files"
	}
	return built(withInit(name, init), func() (*Table, error) { return guardTable(files, init) })
}

func withInit(name string, init bool) string {
	if init {
		return name
	}
	return name + "_noinit"
}

// ProcessFilter returns the filter of processTable.
func ProcessFilter(network, owns bool) ([]byte, error) {
	name := "process"
	if network {
		name += "_net"
	}
	if owns {
		name += "_owner"
	}
	return built(name, func() (*Table, error) { return processTable(network, owns) })
}

// OpenFilter returns the filter of openTable.
func OpenFilter() ([]byte, error) { return built("open", openTable) }
