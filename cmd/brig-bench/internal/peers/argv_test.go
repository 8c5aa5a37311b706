package peers

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/golden"
	"brig/internal/test/must"
)

// invented is a host that no test machine has to be.
func invented(root bool) *Host {
	return &Host{Dir: "/tmp/brig-bench-1", Root: root, tree: tree{Dirs: []string{"/usr", "/etc/alternatives", "/etc/ssl/certs"},
		Links: [][]string{{"/bin", "usr/bin"}, {"/lib64", "usr/lib64"}}, Files: []string{"/etc/ld.so.cache"},
		Hidden: []string{"/proc/kcore"}, HiddenDirs: []string{"/proc/acpi"}, ReadOnly: []string{"/proc/sys"}}}
}

// jobs are a plain one and one that asks for everything.
var (
	plain = Job{Args: []string{"/bin/true"}}
	full  = Job{Args: []string{"/bin/cat", "-"}, Limited: true, Show: "/host/program", Dir: "/host/job"}
)

// line expands a command line for a job on the invented host, with invented files.
func line(text, program string, root bool, j Job) []string {
	v := invented(root).vars(program, j)
	for name, value := range map[string]string{"id": "brig-bench-1-1", "root": "/bundle/rootfs", "profile": "/filter.json",
		"calls": "read,write", "bundle": "/bundle", "state": "/state", "runc": "/usr/sbin/runc", "pid": "12",
		"hostuid": "64201", "hostgid": "64201"} {
		v.set(name, value)
	}
	return expand(text, v)
}

// TestCommandLines compares each tool's command lines with testdata; go test -update writes it.
func TestCommandLines(t *testing.T) {
	lines := map[string][]string{
		"engine":            line(engineLine, "", false, plain),
		"engine-full":       line(engineLine, "", true, full),
		"egress":            line(egressLine, "/bin/brig", true, full),
		"namespaces-direct": line("@arg $1", "", true, Job{Args: Job{Args: []string{Target}, Show: full.Show}.outside()}),
		"slirp4netns":       line(slirpLine, "/bin/s", true, plain),
	}
	for _, p := range table {
		for name, root := range map[string]bool{"-root": true, "-user": false} {
			program := "/usr/bin/" + p.program
			name = strings.NewReplacer(" ", "-", ",", "").Replace(p.name) + name
			lines[name] = line(p.line, program, root, plain)
			lines[name+"-full"] = line(p.line, program, root, full)
			lines[name+"-after"] = line(p.after, program, root, plain)
			lines[name+"-open"] = line(strings.Join(p.open, "\n")+"\n"+strings.Join(p.close, "\n"), program, root, plain)
		}
	}
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		if len(lines[name]) > 0 {
			fmt.Fprintf(&all, "-- %s --\n%s\n", name, strings.Join(lines[name], " "))
		}
	}
	golden.File(t, "testdata/lines.txt", all.String())
}

// A bare process finds by their paths on the host what a jail is shown, and nothing else.
func TestOutside(t *testing.T) {
	j := Job{Args: []string{Target, "/input", "/work/a", "/outputs", "input"}, Show: "/host/program", Dir: "/host/job"}
	want := []string{"/host/program", "/host/job/input", "/host/job/work/a", "/outputs", "input"}
	if got := j.outside(); !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// Values keep their blanks, and a list without elements has no words.
func TestExpand(t *testing.T) {
	v := vars{"pair": {{"a b", "c"}, {"d", "e"}}, "none": nil}
	v.set("x", "y z")
	got := expand("run $x:1 $x\n\t@pair --$2=$1\n@none no\n@absent no\n--", v)
	if want := []string{"run", "y z:1", "y z", "--c=a b", "--e=d", "--"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// TestConfig compares what OCI runtimes get with testdata, less the filter, which TestFilterSection reads.
func TestConfig(t *testing.T) {
	for name, c := range map[string]object{
		"config-root-full": config("/bundle/rootfs", invented(true).tree, identify(true, 0, 0), full),
		"config-user":      config("/bundle/rootfs", invented(false).tree, identify(false, 1234, 1235), plain),
	} {
		t.Run(name, func(t *testing.T) {
			delete(c["linux"].(object), "seccomp")
			text := must.Get(json.MarshalIndent(c, "", "\t"))(t)
			golden.File(t, "testdata/"+name+".json", string(text)+"\n")
		})
	}
}

func TestFilterSection(t *testing.T) {
	text := must.Get(json.Marshal(filterSection()))(t)
	var section struct {
		DefaultAction   string
		DefaultErrnoRet uint
		Architectures   []string
		Syscalls        []struct {
			Names  []string
			Action string
			Args   []struct {
				Index, Value, ValueTwo uint64
				Op                     string
			}
		}
	}
	must.Do(t, json.Unmarshal(text, &section))
	if section.DefaultAction != "SCMP_ACT_ERRNO" || section.DefaultErrnoRet != 1 || len(section.Architectures) != 0 {
		t.Errorf("default %s %d, architectures %q", section.DefaultAction, section.DefaultErrnoRet, section.Architectures)
	}
	families, namespaces := 0, false
	for _, s := range section.Syscalls {
		for _, n := range s.Names {
			if n == "socket" && s.Action == "SCMP_ACT_ALLOW" && len(s.Args) > 0 {
				families++
			}
			if n == "clone" && s.Action == "SCMP_ACT_ALLOW" {
				namespaces = len(s.Args) == 1 && s.Args[0].Value == 0x7e020000
			}
			if s.Action == "SCMP_ACT_ALLOW" && (n == "mount" || n == "bpf") {
				t.Errorf("%s is allowed", n)
			}
		}
	}
	if families != 8 || !namespaces { // of AF_INET and AF_INET6 each: TCP, UDP, ping
		t.Errorf("%d rules allow sockets, want 8; clone is ruled by flags: %v", families, namespaces)
	}
}

func TestAllowedNamesOnlyWhatIsKnown(t *testing.T) {
	got := allowedAmong("0 - read\n1 - write\n165 - mount\n")
	if strings.Join(got, " ") != "read write" {
		t.Errorf("allowed: %q", got)
	}
}
