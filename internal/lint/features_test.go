package lint

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"brig/internal/test/must"
)

// row is a line of a table of docs/features.md: what is asked for, what brig has, and what tests it.
type row struct{ asked, brig, test string }

// kinds are the words that say what a name in backquotes after them is a field of, until the next such word.
var kinds = map[string][]string{
	"Spec": {"nsjail.Spec"}, "report": {"nsjail.Result"}, "refusal": {"brigd/job.Refusal"}, "egress": {"netns/egress/policy.Policy"},
	"rule": {"netns/egress/policy.Rule"}, "record": {"netns/egress.Event"}, "summary": {"netns/egress.Summary"},
	"request": {"brigd/engine.Request"}, "answer": {"brigd/engine.Response"}, "sandbox": {"brigd/engine.SandboxRequest", "brigd/engine.SandboxInfo"},
	"entry": {"brigd/workspace.Entry"}, "policy": {"brigd/policy.Policy"}, "command": {"brigd/policy.Command"}, "token": {"brigd/token.Block"},
	"audit": {"brigd/audit.Event"},
}

// fixed are the words before a name that stands in a file, and how it stands there.
var fixed = map[string][2]string{
	"tool": {"brigd/internal/tools/schema.json", `"%s":`}, "status": {"nsjail/result.go", `Status = "%s"`}, "net": {"nsjail/spec/spec.go", `Net = "%s"`},
	"preset": {"seccomp/presets.go", `"%s"`}, "profile": {"brigd/policy/profiles", `"name": "%s"`},
}

var (
	word     = regexp.MustCompile("`([^`]+)`|[A-Za-z]+")
	aCall    = regexp.MustCompile(`^(?:[A-Za-z]+\.)+([A-Z][A-Za-z]+)(?:\(\))?$`)
	aRoute   = regexp.MustCompile(`^(GET|POST|PUT|DELETE) (/[^ ?]+)$`)
	testCall = regexp.MustCompile("^`([a-z-]+)[.]((?:Test|Fuzz)[A-Za-z0-9_]*)`$")
)

// featureRows reads the tables. A line that has not three cells, and a table with other headings, is an error.
func featureRows(t *testing.T, text string) (list []row) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") {
			continue
		}
		c := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range c {
			c[i] = strings.TrimSpace(c[i])
		}
		if len(c) != 3 || c[0] == "asked" && strings.Join(c[1:], " ") != "brig test" {
			t.Errorf("not a row of three cells, or other headings: %s", line)
		} else if c[0] != "asked" {
			list = append(list, row{c[0], c[1], c[2]})
		}
	}
	return list
}

// problems returns what is wrong with a row. A test is in a package of the name before it, and so is what a call of the
// row names; only what brig has not may have no test.
func (r row) problems(t *testing.T) (list []string) {
	for _, cell := range []string{r.asked, r.brig, r.test} {
		if strings.Trim(cell, " -–—?.") == "" {
			list = append(list, "a cell is empty")
		}
	}
	code := ""
	for part := range strings.SplitSeq(r.test, ", ") {
		if r.test == "none" && strings.HasPrefix(r.brig, "no: ") {
			break
		}
		m := testCall.FindStringSubmatch(part)
		if m == nil {
			list = append(list, "no package and test: "+part)
			continue
		}
		dirs := slices.DeleteFunc(roomsOf(t, m[1]), func(dir string) bool {
			return !strings.Contains(below(t, dir+" tests"), "\nfunc "+m[2]+"(")
		})
		if len(dirs) == 0 {
			list = append(list, "no package "+m[1]+" has "+m[2])
		}
		for _, dir := range dirs {
			code += below(t, dir)
		}
	}
	kind := ""
	for _, m := range word.FindAllStringSubmatch(r.brig, -1) {
		if m[1] == "" {
			if _, ok := fixed[m[0]]; ok || kinds[m[0]] != nil {
				kind = m[0]
			}
		} else if !known(t, kind, m[1], code) {
			list = append(list, "there is no `"+m[1]+"`, or it is no field of a "+kind)
		}
	}
	return list
}

// roomsOf returns the directories with tests whose name is this one.
func roomsOf(t *testing.T, name string) (dirs []string) {
	each(t, "_test.go", func(path string, _ []byte) {
		if filepath.Base(filepath.Dir(path)) != name {
			return
		}
		if dir := must.Get(filepath.Rel(root, filepath.Dir(path)))(t); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	})
	return dirs
}

// known reports whether a name in backquotes is what it looks like: a command line, a route, a metric, a call or a
// field.
func known(t *testing.T, kind, name, code string) bool {
	t.Helper()
	path := strings.Split(name, ".")
	if strings.HasPrefix(name, "brigd ") || strings.HasPrefix(name, "brig ") || strings.HasPrefix(name, "--") {
		return knownFlags(t, name)
	} else if m := aRoute.FindStringSubmatch(name); m != nil {
		routes := strings.ReplaceAll(below(t, "brigd/internal/api/routes.go"), "path: file", `path: "/v1/sandboxes/{id}/files/{path}"`)
		return strings.Contains(routes, `method: "`+m[1]+`", path: "`+m[2]+`"`)
	} else if regexp.MustCompile(`^(?:sandbox|active|brigd)_[a-z_]+$`).MatchString(name) {
		return strings.Contains(below(t, "brigd/internal/metrics"), `"`+name+`"`)
	} else if m := aCall.FindStringSubmatch(name); m != nil {
		return regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type )` + m[1] + `\b`).MatchString(code)
	} else if f, ok := fixed[kind]; ok {
		return !slices.ContainsFunc(path, func(key string) bool { return !strings.Contains(below(t, f[0]), fmt.Sprintf(f[1], key)) })
	}
	return slices.ContainsFunc(kinds[kind], func(name string) bool { return hasField(declared(t, name), path) })
}

// knownFlags checks a command line: brigd's words against its source, brig's against its help, or brigd's for what it
// performs.
func knownFlags(t *testing.T, line string) bool {
	t.Helper()
	source, help := below(t, "brigd/cmd/brigd")+below(t, "brigd/internal"), below(t, "cmd/brig/testdata")
	program, rest, _ := strings.Cut(line, " ")
	if strings.HasPrefix(line, "--") {
		program, rest = "brig", "run "+line
	}
	if program == "brigd" {
		help = ""
	}
	commands, _, _ := strings.Cut(rest, "--")
	for _, c := range strings.Fields(commands) {
		if !strings.Contains(help, "\n  "+c+" ") && !strings.Contains(source, `"`+c+`"`) {
			return false
		}
	}
	return !slices.ContainsFunc(regexp.MustCompile(`--[a-z][a-z-]*[a-z]`).FindAllString(rest, -1), func(f string) bool {
		return !strings.Contains(help, " "+f) && !strings.Contains(source, `"`+f[2:]+`"`)
	})
}

var compiled = sync.OnceValue(func() func(path string) (*types.Package, error) {
	return importer.ForCompiler(token.NewFileSet(), "gc", exports).Import
})

// exports opens what the compiler has exported of a package of kinds, or of one that these import.
func exports(path string) (io.ReadCloser, error) {
	files, err := exported()
	if err != nil {
		return nil, err
	}
	return os.Open(files[path])
}

// exported returns the file with each package's exports.
var exported = sync.OnceValues(func() (map[string]string, error) {
	args := []string{"list", "-deps", "-export", "-f", "{{.ImportPath}} {{.Export}}"}
	for _, types := range kinds {
		for _, name := range types {
			args = append(args, "brig/"+name[:strings.LastIndexByte(name, '.')])
		}
	}
	out, err := inModules("go", args...).Output()
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return files, err
})

// declared returns the type that a package of ours declares: "room.Name".
func declared(t *testing.T, name string) types.Type {
	t.Helper()
	dot := strings.LastIndexByte(name, '.')
	p := must.Get(compiled()("brig/" + name[:dot]))(t)
	o := p.Scope().Lookup(name[dot+1:])
	if o == nil {
		t.Fatalf("there is no %s", name)
	}
	return o.Type()
}

// hasField follows JSON names, and the names of fields that have none; a map has every key.
func hasField(typ types.Type, path []string) bool {
	switch typ := typ.Underlying().(type) {
	case *types.Pointer:
		return hasField(typ.Elem(), path)
	case *types.Slice:
		return hasField(typ.Elem(), path)
	case *types.Map:
		return len(path) == 0 || hasField(typ.Elem(), path[1:])
	case *types.Struct:
		for i := 0; i < typ.NumFields() && len(path) > 0; i++ {
			f := typ.Field(i)
			name, _, _ := strings.Cut(reflect.StructTag(typ.Tag(i)).Get("json"), ",")
			if name == path[0] || name == "" && strings.EqualFold(f.Name(), strings.ReplaceAll(path[0], "_", "")) {
				return hasField(f.Type(), path[1:])
			}
		}
	}
	return len(path) == 0
}

var belowOnce = map[string]string{}

// below is the text of a file, or of all files below a directory that are no tests; of "DIR tests", that of the tests
// in DIR.
func below(t *testing.T, path string) string {
	t.Helper()
	if belowOnce[path] == "" {
		each(t, "", func(p string, content []byte) {
			rel, err := filepath.Rel(root, p)
			dir, tests := strings.CutSuffix(path, " tests")
			if is := strings.HasSuffix(p, "_test.go"); err == nil && is == tests && (rel == path || filepath.Dir(rel) == dir || !is && strings.HasPrefix(rel, path+"/")) {
				belowOnce[path] += "\n" + string(content)
			}
		})
	}
	return belowOnce[path]
}

// asked are the words by which the articles call what they ask for: each stands in the first cell of a row.
var asked = strings.Fields(`
	gantz.yaml name description parameters type required sandbox:true script.command script.args {{code}} image network:restricted readonly_root execute(code) stdout stderr returncode return_code
	exit_code success output text error wait(timeout) logs() uuid reproduce start-up allowed_hosts allowed_ports blocked_ranges allow_host is_allowed to_iptables create_network apply_policy --internal
	subnet podSelector policyTypes ingress ipBlock except kube-dns allow_outbound blocked_hosts max_connections check_connection open_connection close_connection network_disabled network_mode
	network_interfaces proxy_port log_request get_request_summary by_method by_status recent total_requests bandwidth network_required HTTPS setup() base_dir add_input get_output is_path_allowed
	cleanup() to_docker_mounts get_path read_file write_file list_directory delete_file max_size_mb SecurityError ResourceExhaustedError allowed_paths readonly_paths read_only tmpfs --rm auto_remove
	ephemeral immutable max_cpu_time max_memory max_file_size max_processes max_open_files RLIMIT_AS timeout timed_out 124 SIGALRM terminate() cpus cpu_quota cpuset_cpus pids-limit mem_limit
	reservations I/O systemd-run MemoryMax asyncio.timeout() vcpu_count memory_size_mib cpu_count tmpfs_size multiprocessing seccomp_profile defaultAction architectures syscalls SCMP_CMP_NE execve
	ptrace mount no-new-privileges cap_drop user: adduser apparmor SELinux LABEL WORKDIR ENTRYPOINT Dockerfile compose environment AWS_SECRET API_KEY PASSWORD TOKEN environment_variables
	os.environ.copy() PATH sandbox_executions_total sandbox_execution_seconds sandbox_violations_total active_sandboxes record_execution record_violation sandbox_started sandbox_stopped logger
	audit_log timestamp agent_code_hash output_size ALLOWED_COMMANDS ALLOWED_FILES BLOCKED_PATTERNS validate_command escalate agent_inputs isinstance guardrails sanitization capability ACLs
	authentication authorization least-privilege max_memory_mb max_cpu_percent max_execution_time_seconds allowed_network allowed_filesystem_paths allowed_commands create_agent_environment agent_id
	execute_in_sandbox cleanup_agent working_directory exhaustion unauthorized exfiltration persistence escalation injection supply malicious bugs privacy /etc/shadow Firecracker KVM SGX
	RestrictedPython Kubernetes Pod`)

// TestFeatures: each row of docs/features.md is whole, what it names is there, and nothing that is asked for has no
// row.
func TestFeatures(t *testing.T) {
	text := read(t, "docs/features.md")
	list, words := featureRows(t, text), " "
	if len(list) < 150 {
		t.Errorf("only %d rows: the table or the test is broken", len(list))
	}
	if len(text) > 20<<10 {
		t.Errorf("docs/features.md has %d bytes: a row is what is asked for, a name and a test", len(text))
	}
	for _, r := range list {
		for _, p := range r.problems(t) {
			t.Errorf("%s: %s", r.asked, p)
		}
		words += strings.NewReplacer("`", " ", ",", " ", ";", " ", "sandbox: true", "sandbox:true", "network: restricted", "network:restricted").Replace(r.asked) + " "
	}
	words = strings.Join(strings.FieldsFunc(words, func(r rune) bool { return strings.ContainsRune(" \"{}[]=", r) }), " ")
	for _, w := range asked {
		if !regexp.MustCompile(`(^|[ (/])` + regexp.QuoteMeta(strings.Trim(w, "{}")) + `($|[ ():])`).MatchString(words) {
			t.Errorf("no row is about %s", w)
		}
	}
}

// TestFeatureRowsCanFail: a row that is wrong in one place is found out.
func TestFeatureRowsCanFail(t *testing.T) {
	good := row{"`timeout`", "`--timeout`; request `timeout`; Spec `limits.wall`; `engine.Engine.Run()`", "`engine.TestRun`"}
	if p := good.problems(t); len(p) > 0 {
		t.Fatal(p)
	}
	for _, brig := range []string{"`--timeuot`", "`brig ruin --timeout`", "`brigd serve --timeuot`", "`brigd token melt`", "request `timeuot`", "Spec `limits.wall.clock`", "Spec `timeout`",
		"`timeout`", "`engine.Engine.Walk()`", "`POST /v1/walk`", "`sandbox_walks_total`", "tool `sandbox.privileged`", "preset `walk`", "status `walked`", " "} {
		if bad := (row{good.asked, brig, good.test}); len(bad.problems(t)) == 0 {
			t.Errorf("nobody notices %s", brig)
		}
	}
	for _, bad := range []row{
		{" ", good.brig, good.test}, {good.asked, good.brig, strings.Replace(good.test, "TestRun", "TestRuns", 1)},
		{good.asked, good.brig, strings.Replace(good.test, "engine", "text", 1)}, {good.asked, good.brig, "nsjail"},
		{good.asked, good.brig, "none"}, {good.asked, good.brig, "TestRun"}, {good.asked, good.brig, ""}} {
		if len(bad.problems(t)) == 0 {
			t.Errorf("nobody notices %q", bad)
		}
	}
}
