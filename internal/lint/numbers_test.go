package lint

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail"
	"brig/nsjail/explain"
	"brig/nsjail/spec"
	"brig/seccomp"
)

// TestNumbers: the numbers in the reference pages are those of the code.
func TestNumbers(t *testing.T) {
	text := read(t, "docs/reference/defaults.md")
	mib := func(b nsjail.Bytes) string { return fmt.Sprintf("%d MiB", int64(b)>>20) }
	rows := map[string]string{
		"wall clock":            time.Duration(spec.DefaultWall).String(),
		"processes and threads": fmt.Sprint(spec.DefaultProcesses),
		"`/tmp`, `/work`, `/output`, `/home/brig` and `/dev/shm` together, and each `--tmpfs`": mib(spec.DefaultTmpfsSize),
		"files in them":   fmt.Sprint(spec.DefaultTmpfsInodes),
		"a writable root": mib(spec.DefaultRootSize),
		"output kept, each stream, with `--json`": mib(spec.DefaultCapture),
		"the payload in its jail":                 fmt.Sprintf("%d:%d", spec.DefaultUID, spec.DefaultGID),
	}
	for name, l := range spec.DefaultRlimits {
		rows[name] = fmt.Sprintf("%d:%d", l.Soft, l.Hard)
	}
	for name, want := range rows {
		m := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(name) + ` \| ([^|]*) \|`).FindStringSubmatch(text)
		if m == nil || m[1] != want && !strings.HasPrefix(m[1], want+" ") {
			t.Errorf("defaults: the row %q is %q, want %s", name, m, want)
		}
	}
	for _, c := range []struct{ page, promise, file, pattern string }{
		{"machine", "Linux 5.12 or newer", "nsjail/internal/host/machine.go", `MinKernel = Kernel\{5, 12\}`},
		{"machine", "processes needs Linux 5.14", "nsjail/internal/plan/limits.go", `AtLeast\(5, 14\)`},
		{"defaults", "| mounts | 128 |", "nsjail/spec/check_mounts.go", `MaxMounts = 128\n`},
		{"defaults", "| one argument or variable | 128 KiB |", "nsjail/spec/check_args.go", `maxArgBytes = 128 << 10`},
		{"defaults", "| a path | 4095 bytes |", "nsjail/spec/problems.go", `maxPath = 4096`},
		{"defaults", "| a host name | 64 bytes |", "nsjail/spec/check_identity.go", `maxHostname = 64`},
		{"defaults", "| a file given by `--file` | 4 MiB |", "nsjail/spec/defaults.go", `MaxFileCopy = 4 << 20`},
		{"defaults", "| a seccomp profile | 1 MiB |", "seccomp/parse.go", `MaxSize = 1 << 20`},
		{"defaults", "16 MiB", "internal/program/blob.go", `MaxBlob = 16 << 20`},
		{"changes", "30 days, 100 sets and 8 GiB", "changes/store.go", `30 \* 24 \* time.Hour, Count: 100, Bytes: 8 << 30`},
		{"changes", "1 GiB an account", "brigd/tenants/tenants.go", `MaxChangesBytes = 1 << 30`},
	} {
		if !regexp.MustCompile(c.pattern).MatchString(read(t, c.file)) {
			t.Errorf("%s has no %s any more; change docs/reference/%s.md (%q) with it", c.file, c.pattern, c.page, c.promise)
		}
		if page := "docs/reference/" + c.page + ".md"; !strings.Contains(unwrapped(read(t, page)), c.promise) {
			t.Errorf("%s does not say %q", page, c.promise)
		}
	}
}

// TestFilterNumbers: the size of the default filter, in system calls and in instructions.
func TestFilterNumbers(t *testing.T) {
	bpf, err := seccomp.PresetFilter("default", seccomp.Target{Arch: "amd64"}, true)
	if err != nil {
		t.Skipf("not amd64: %v", err)
	}
	table, err := explain.FilterTable("default", true)
	must.Do(t, err)
	m := regexp.MustCompile(`(?m)^ALLOW \((\d+)\)`).FindStringSubmatch(table)
	if m == nil {
		t.Fatalf("no number of permitted calls in:\n%.300s", table)
	}
	calls, err := strconv.Atoi(m[1])
	must.Do(t, err)
	const page = "docs/reference/seccomp.md"
	p := regexp.MustCompile(`at most (\d+) system calls on x86-64, in at most (\d+) instructions`).FindStringSubmatch(unwrapped(read(t, page)))
	if p == nil {
		t.Fatal(page + " has no promise on the filter")
	}
	if got, want := fmt.Sprint(calls, " ", len(bpf)/8), p[1]+" "+p[2]; !atMost(calls, p[1]) || !atMost(len(bpf)/8, p[2]) {
		t.Errorf("the default filter has %s calls and instructions; %s promises at most %s", got, page, want)
	}
}

// unwrapped returns the text of a page without the line breaks within its paragraphs.
func unwrapped(page string) string { return strings.Join(strings.Fields(page), " ") }

// atMost compares with a number of a document.
func atMost(n int, promise string) bool {
	limit, err := strconv.Atoi(promise)
	return err == nil && n <= limit
}

// TestReportFields: the tables of the report and of usage have the fields of the type, and only them.
func TestReportFields(t *testing.T) {
	_, table, _ := strings.Cut(read(t, "docs/reference/report.md"), "## The report")
	table, _, _ = strings.Cut(table, "\n## ")
	table += read(t, "docs/reference/usage.md")
	for _, name := range jsonNames(reflect.TypeFor[nsjail.Result]()) {
		if !strings.Contains(table, "`"+name+"`") {
			t.Errorf("the report's table lacks %s", name)
		}
	}
	have := strings.Join(jsonNames(reflect.TypeFor[nsjail.Result]()), " ") + " changes commit caches" // which brig run itself adds
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(table, -1) {
		if !strings.Contains(have, m[1]) {
			t.Errorf("the report has no %s", m[1])
		}
	}
}

// jsonNames lists the names of a structure's fields and of those below it.
func jsonNames(typ reflect.Type) (names []string) {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct {
		return nil
	}
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(append(names, name), jsonNames(typ.Field(i).Type)...)
		}
	}
	return names
}

// TestStatic: what the Makefile builds needs no other file.
func TestStatic(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "brig")
	cmd := exec.Command("scripts/static.sh", "build", "-buildvcs=false", "-o", bin, "./cmd/brig")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	interpreter(t, bin)
}

// TestOldKernels: what docs/reference/machine.md has about kernels is what Resolve does on an invented machine.
func TestOldKernels(t *testing.T) {
	for _, c := range []struct {
		kernel   explain.Kernel
		optional []string
		op       string // of the error; "" for none
	}{
		{explain.Kernel{Major: 5, Minor: 11}, []string{"processes"}, "kernel"},
		{explain.Kernel{Major: 5, Minor: 12}, nil, "processes"},
		{explain.Kernel{Major: 5, Minor: 12}, []string{"processes"}, ""},
		{explain.Kernel{Major: 5, Minor: 14}, nil, ""},
	} {
		spec := nsjail.Spec{Args: []string{"true"}, Optional: c.optional}
		var host explain.Host
		host.Kernel, host.LastCap, host.Filter = c.kernel, 40, make([]byte, 8)
		host.UID, host.GID, host.PayloadUID, host.PayloadGID = 1000, 1000, 1000, 1000
		_, err := explain.Resolve(&spec, &host)
		var e *nsjail.Error
		errors.As(err, &e)
		if (err != nil) != (c.op != "") || e != nil && e.Op != c.op {
			t.Errorf("Linux %d.%d, optional %v: %v, want an error of %q", c.kernel.Major, c.kernel.Minor, c.optional, err, c.op)
		}
	}
}
