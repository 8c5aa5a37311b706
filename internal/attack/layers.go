package attack

import "strings"

// layers are the fences, outermost first, and the first words of the names of the attacks on each.
var layers = []struct{ name, words string }{
	{"files of the host", "file root etc dev sys shm cwd"},
	{"shared directories", "input work"},
	{"copy on write", "cow"},
	{"protected paths", "protect"},
	{"planted links", "plant image"},
	{"environment, descriptors", "env fd"},
	{"capabilities, ids", "cap"},
	{"namespaces, mounts", "ns mount"},
	{"procfs", "proc"},
	{"processes", "init ptrace signal daemon"},
	{"network", "net"},
	{"ipc, keys", "ipc key"},
	{"terminal", "tty"},
	{"system calls", "abi kernel"},
	{"landlock", "landlock"},
	{"process tier", "process"},
	{"resources, report", "host limit report"},
}

// Layer returns the fence that an attack of this name is on, and its place in the order of fences.
func Layer(name string) (string, int) {
	first, _, _ := strings.Cut(strings.TrimSuffix(name, ".py"), "-")
	for i, l := range layers {
		if strings.Contains(" "+l.words+" ", " "+first+" ") {
			return l.name, i
		}
	}
	return first, len(layers)
}
