package peers

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// invented is a host's tree that no test machine has to have.
var invented = tree{Dirs: []string{"/usr", "/etc/alternatives", "/etc/ssl/certs"}, Links: [][2]string{{"/bin", "usr/bin"}, {"/lib64", "usr/lib64"}},
	Files: []string{"/etc/ld.so.cache"}, Hidden: []string{"/proc/acpi", "/proc/kcore"}, ReadOnly: []string{"/proc/sys"},
	HiddenDirs: map[string]bool{"/proc/acpi": true}}

// jobs are a plain one and one that asks for everything.
var (
	plain = Job{Args: []string{"/bin/true"}}
	full  = Job{Args: []string{"/bin/cat", "-"}, Limits: Limits{Memory: 64 << 20, CPUs: 0.5, Processes: 64},
		Binds: []Bind{{Source: "/host/program", Target: "/program"}, {Source: "/host/work", Target: "/data", Writable: true}}}
)

// TestCommandLines compares each tool's command line with testdata, a word a line; go test -update writes it.
func TestCommandLines(t *testing.T) {
	for name, args := range map[string][]string{
		"brig":              brigArgs("/bin/brig", plain),
		"brig-full":         brigArgs("/bin/brig", full),
		"bubblewrap":        bubblewrapArgs("/usr/bin/bwrap", "/bundle/rootfs", invented, true, plain),
		"bubblewrap-full":   bubblewrapArgs("/usr/bin/bwrap", "/bundle/rootfs", invented, true, full),
		"bubblewrap-fewer":  bubblewrapArgs("/usr/bin/bwrap", "/bundle/rootfs", invented, false, plain),
		"firejail-root":     firejailArgs("/usr/bin/firejail", "/home/x", true, []string{"read", "write"}, plain),
		"firejail-user":     firejailArgs("/usr/bin/firejail", "/home/x", false, []string{"read", "write"}, plain),
		"nsjail-full":       nsjailArgs("/usr/bin/nsjail", 64201, 64201, invented, full),
		"systemd-root-full": systemdArgs("/usr/bin/systemd-run", "brig-bench-1-1", true, full),
		"systemd-user":      systemdArgs("/usr/bin/systemd-run", "brig-bench-1-1", false, plain),
		"engine":            engineArgs("brig-bench-1-1", "", "/filter.json", invented, plain),
		"engine-full":       engineArgs("brig-bench-1-1", "/brig-bench-1", "/filter.json", invented, full),
	} {
		t.Run(name, func(t *testing.T) { golden(t, name+".txt", strings.Join(args, "\n")+"\n") })
	}
}

// TestConfig compares what OCI runtimes get with testdata, less the filter, which TestFilterSection reads.
func TestConfig(t *testing.T) {
	for name, c := range map[string]object{
		"config-root-full": config("/bundle/rootfs", invented, strangers(), full),
		"config-user":      config("/bundle/rootfs", invented, single(1234, 1235), plain),
	} {
		t.Run(name, func(t *testing.T) {
			delete(c["linux"].(object), "seccomp")
			text, err := json.MarshalIndent(c, "", "\t")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".json", string(text)+"\n")
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with -update", err)
	}
	if got != string(want) {
		t.Errorf("%s is stale; got:\n%s", name, got)
	}
}

func TestFilterSection(t *testing.T) {
	text, err := json.Marshal(filterSection())
	if err != nil {
		t.Fatal(err)
	}
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
	if err := json.Unmarshal(text, &section); err != nil {
		t.Fatal(err)
	}
	if section.DefaultAction != "SCMP_ACT_ERRNO" || section.DefaultErrnoRet != 1 || len(section.Architectures) != 1 || section.Architectures[0] == "" {
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
	if families != 4 || !namespaces {
		t.Errorf("%d rules allow sockets, want 4; clone is ruled by flags: %v", families, namespaces)
	}
}

func TestAllowedNamesOnlyWhatIsKnown(t *testing.T) {
	got := allowed("0 - read\n1 - write\n165 - mount\n")
	if strings.Join(got, " ") != "read write" {
		t.Errorf("allowed: %q", got)
	}
}
