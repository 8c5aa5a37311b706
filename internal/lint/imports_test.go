package lint

import (
	"encoding/json"
	"errors"
	"go/ast"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	root    = "../.."
	program = "brig/internal/program"
	tricks  = "brig/internal/tricks"
	specs   = "brig/nsjail/spec"
	host    = "brig/nsjail/internal/host"
	ops     = "brig/nsjail/internal/ops"
	planner = "brig/nsjail/internal/plan"
	ordered = "brig/nsjail/internal/ordered"
	keeper  = "brig/nsjail/internal/run"
	starter = "brig/nsjail/internal/launcher"
	warm    = "brig/nsjail/internal/warm"
	ghost   = "brig/nsjail/internal/ghost"
	userns  = "brig/nsjail/internal/userns"
	relay   = "brig/nsjail/internal/relay"
	doctor  = "brig/nsjail/doctor"
	isolate = "brig/cmd/brig/internal/isolate"
	convert = "brig/cmd/brig/internal/convert"
	bwrap   = "brig/cmd/brig/internal/bwrap"
	brigs   = "brig/cmd/brig/internal/"
	bench   = "brig/cmd/brig-bench/internal/"
	daemon  = "brig/brigd/internal/"
	jobs    = "brig/brigd/job"
	shown   = "brig/nsjail/explain"
	steps   = "brig/nsjail/steps"
)

// ground are the packages that every other may import.
var ground = []string{"brig/internal/owned", "brig/internal/store", "brig/internal/strictjson", "brig/internal/sys", "brig/internal/words"}

// wrappers each take an Executor and return one, or prepare a Job; they know nsjail and Jobs, and not each other.
var wrappers = []string{"brig/brigd/workspace", "brig/brigd/keep", "brig/brigd/lang", "brig/brigd/policy", "brig/brigd/token", "brig/brigd/audit", "brig/brigd/share"}

// ours lists which packages of the two modules a package may import; imports run down, never up or across. A package that
// is not in the table is a room without a place in the house.
var ours = map[string][]string{
	program: {},

	"brig/brigd/workspace/inotify": {},

	"brig/internal/lint":         {},
	"brig/internal/attack":       {},
	"brig/internal/cli":          {},
	"brig/internal/strictjson":   {"brig/internal/words"},
	"brig/internal/sys":          {},
	"brig/internal/terminal":     {},
	"brig/internal/owned":        {"brig/internal/sys"},
	"brig/internal/words":        {},
	"brig/internal/store":        {"brig/internal/owned", "brig/internal/sys"},
	"brig/internal/repository":   {"brig/internal/gitdata"},
	"brig/internal/gitdata":      {},
	"brig/cache":                 {specs},
	brigs + "cacheflags":         {"brig/cache", "brig/internal/cli", "brig/nsjail", specs},
	"brig/nsjail/internal/desk":  {},
	"brig/nsjail/internal/disk":  {},
	"brig/gitview":               {"brig/internal/gitdata", "brig/internal/repository", "brig/nsjail", specs},
	tricks:                       {},
	"brig/image":                 {"brig/layer"},
	"brig/internal/rig":          {"brig/internal/attack"},
	"brig/internal/test/asuser":  {},
	"brig/internal/test/certs":   {"brig/internal/test/must"},
	"brig/internal/test/count":   {},
	"brig/internal/test/egress":  {},
	"brig/internal/test/golden":  {},
	"brig/internal/test/house":   {},
	"brig/internal/test/long":    {"brig/internal/test/asuser"},
	"brig/internal/test/must":    {},
	"brig/internal/test/osroot":  {"brig/internal/test/must"},
	"brig/internal/test/pty":     {"brig/internal/test/must"},
	"brig/cgroup":                {program},
	"brig/netns":                 {program},
	"brig/netns/egress":          {"brig/netns/egress/policy", "brig/netns/egress/wire"},
	"brig/netns/egress/policy":   {},
	"brig/netns/egress/wire":     {"brig/netns/egress/policy"},
	"brig/changes":               {"brig/layer", "brig/internal/gitdata"},
	"brig/layer":                 {},
	"brig/landlock":              {program},
	"brig/rootfs":                {program},
	"brig/seccomp":               {program},
	starter:                      {program, specs},
	"brig/nsjail/internal":       {},
	"brig/nsjail/internal/walk":  {},
	specs:                        {program, "brig/internal/repository", "brig/cgroup", "brig/netns/egress/policy", "brig/seccomp"},
	host:                         {specs, "brig/internal/repository", userns, "brig/nsjail/internal/walk", "brig/landlock", "brig/rootfs", starter, "brig/cgroup", "brig/seccomp"},
	ops:                          {program, specs, host, starter, "brig/netns"},
	planner:                      {program, tricks, specs, host, ops, starter, "brig/cgroup", "brig/landlock", "brig/netns", "brig/netns/egress/policy", "brig/rootfs", "brig/seccomp"},
	ordered:                      {program, specs, host, ops, planner, starter, "brig/netns", "brig/rootfs", steps},
	warm:                         {program, specs, host, planner, doctor, starter},
	keeper:                       {"brig/nsjail/internal/desk", "brig/nsjail/internal/disk", specs, starter},
	ghost:                        {specs},
	doctor:                       {specs, host, "brig/landlock", "brig/cgroup", "brig/netns/egress/policy", "brig/seccomp"},
	"brig/denial":                {"brig/netns/egress", "brig/netns/egress/policy", "brig/seccomp"},
	userns:                       {},
	relay:                        {specs, starter, "brig/netns", "brig/netns/egress"},
	"brig/nsjail":                {"brig/nsjail/internal/disk", "brig/denial", program, specs, host, ops, planner, ordered, warm, keeper, ghost, relay, doctor, starter, "brig/cgroup", "brig/netns/egress", "brig/netns/egress/policy", "brig/rootfs", "brig/seccomp", steps},
	"brig/brigd/keep":            {},
	"brig/brigd/tenants":         {"brig/changes"},
	"brig/brigd/freezer":         {"brig/nsjail", jobs},
	"brig/brigd/lease":           {"brig/nsjail", "brig/brigd/token", jobs},
	"brig/nsjail/process":        {starter},
	shown:                        {specs, host, planner},
	steps:                        {specs},
	jobs:                         {"brig/nsjail"},
	"brig/brigd/workspace":       {"brig/nsjail", "brig/layer", "brig/brigd/workspace/glob", "brig/brigd/workspace/grep", "brig/brigd/workspace/inotify", jobs},
	"brig/brigd/workspace/glob":  {},
	"brig/brigd/workspace/grep":  {},
	"brig/image/asroot":          {"brig/image", "brig/nsjail", specs},
	"brig/brigd/lang":            {"brig/nsjail", jobs, specs},
	"brig/internal/text":         {},
	"brig/brigd/share":           {"brig/nsjail", "brig/brigd/policy", jobs, specs},
	"brig/brigd/policy":          {"brig/nsjail", daemon + "jailpath", "brig/netns/egress/policy", jobs, specs, "brig/seccomp"},
	"brig/brigd/token":           {jobs},
	"brig/brigd/audit":           {"brig/denial", "brig/nsjail", jobs},
	"brig/brigd/engine":          append([]string{"brig/internal/text", "brig/gitview", "brig/image", "brig/image/asroot", "brig/nsjail", "brig/changes", "brig/netns/egress", "brig/netns/egress/policy", jobs, "brig/denial", specs, shown, "brig/brigd/freezer", "brig/brigd/lease", "brig/brigd/tenants", "brig/cgroup", daemon + "diffs", daemon + "feed", daemon + "idle", daemon + "netstat", daemon + "ring"}, wrappers...),
	"brig/learn":                 {"brig/nsjail", "brig/denial", specs},
	"brig/learn/trace":           {"brig/learn"},
	"brig/cmd/brig":              {brigs + "changescmd", brigs + "console", brigs + "convertcmd", brigs + "daemon", brigs + "dialect", brigs + "doctorcmd", brigs + "explaincmd", brigs + "gccmd", brigs + "learncmd", brigs + "rootimage", brigs + "runcmd", brigs + "verifycmd", brigs + "wish", isolate, bwrap, "brig/internal/cli", specs},
	brigs + "attach":             {brigs + "console", "brig/internal/cli", "brig/internal/terminal", "brig/nsjail", "brig/nsjail/process"},
	brigs + "convertcmd":         {brigs + "console", brigs + "daemon", brigs + "wish", isolate, bwrap, convert, convert + "/docker", convert + "/compose", convert + "/nsjail", "brig/internal/cli", "brig/image", "brig/nsjail", specs},
	brigs + "daemon":             {brigs + "console", "brig/internal/cli"},
	brigs + "dialect":            {brigs + "wish", "brig/internal/cli", specs},
	brigs + "explaincmd":         {brigs + "console", brigs + "rootimage", brigs + "wish", "brig/gitview", "brig/internal/cli", "brig/netns/egress/policy", specs, shown},
	brigs + "keep":               {brigs + "changescmd", brigs + "console", brigs + "daemon", brigs + "processors", brigs + "report", brigs + "verdict", brigs + "wish", "brig/changes", "brig/image", "brig/layer", "brig/nsjail", specs},
	brigs + "learncmd":           {brigs + "console", brigs + "keep", brigs + "outfile", brigs + "rootimage", brigs + "verdict", brigs + "wish", "brig/denial", "brig/internal/cli", "brig/learn", "brig/learn/trace", "brig/nsjail", specs, shown},
	brigs + "processors":         {},
	brigs + "report":             {"brig/cache", brigs + "console", brigs + "outfile", brigs + "wish", "brig/changes", "brig/denial", "brig/gitview", "brig/internal/cli", "brig/internal/text", "brig/nsjail", specs},
	brigs + "rootimage":          {brigs + "console", brigs + "daemon", brigs + "wish", "brig/image", "brig/image/asroot", "brig/nsjail"},
	brigs + "runcmd":             {brigs + "attach", brigs + "console", brigs + "keep", brigs + "outfile", brigs + "processors", brigs + "report", brigs + "rootimage", brigs + "scope", brigs + "verdict", brigs + "wish", "brig/gitview", "brig/internal/cli", "brig/netns/egress", "brig/nsjail", "brig/nsjail/process", specs},
	brigs + "scope":              {},
	brigs + "verdict":            {"brig/denial", "brig/internal/cli", "brig/nsjail", specs},
	brigs + "verifycmd":          {brigs + "console", brigs + "daemon", brigs + "outfile", brigs + "rootimage", brigs + "scope", brigs + "wish", "brig/internal/cli"},
	brigs + "wish":               {brigs + "cacheflags", convert, convert + "/docker", "brig/image", "brig/internal/cli", "brig/netns/egress/policy", "brig/nsjail", specs, "brig/seccomp"},
	brigs + "console":            {"brig/internal/cli"},
	brigs + "outfile":            {"brig/nsjail"},
	brigs + "changescmd":         {brigs + "console", "brig/internal/cli", "brig/changes", "brig/nsjail", specs},
	brigs + "doctorcmd":          {brigs + "console", "brig/internal/cli", "brig/nsjail", doctor},
	brigs + "gccmd":              {"brig/cache", specs, brigs + "console", brigs + "changescmd", "brig/internal/cli", "brig/nsjail"},
	isolate + "/boxes":           {},
	isolate:                      {isolate + "/boxes", "brig/gitview", "brig/nsjail", "brig/internal/cli", convert, specs, shown, "brig/nsjail/process"},
	convert:                      {"brig/nsjail"},
	convert + "/compose":         {convert, convert + "/docker", "brig/nsjail"},
	convert + "/nsjail":          {convert, "brig/nsjail"},
	convert + "/docker":          {convert, "brig/nsjail", "brig/internal/cli"},
	bwrap:                        {convert, "brig/nsjail", "brig/internal/cli", "brig/netns/egress/policy", specs, steps},
	"brig/brigd/cmd/brigd":       append([]string{"brig/internal/cli", "brig/nsjail", "brig/brigd/engine", "brig/netns/egress", daemon + "admit", daemon + "api", daemon + "auditcmd", daemon + "batch", daemon + "boxcmd", daemon + "config", daemon + "files", daemon + "front", daemon + "images", daemon + "links", daemon + "listen", daemon + "live", daemon + "mcp", daemon + "metrics", daemon + "policycmd", daemon + "queue", daemon + "queue/peers", daemon + "queue/server", daemon + "queue/submit", daemon + "queue/worker", daemon + "remote", daemon + "tokencmd", daemon + "tools/yamljson", daemon + "trace", daemon + "verify", jobs, specs}, wrappers...),
	daemon + "admit":             {jobs},
	daemon + "api":               {"brig/nsjail", "brig/brigd/engine", daemon + "feed", daemon + "ring", daemon + "front", daemon + "links", daemon + "live", daemon + "portal", daemon + "schema", jobs, "brig/cgroup", "brig/denial", specs},
	daemon + "batch":             {"brig/nsjail", "brig/brigd/engine", daemon + "client", daemon + "front", daemon + "verbs", jobs},
	daemon + "boxcmd":            {"brig/nsjail", "brig/brigd/engine", daemon + "api", daemon + "client", daemon + "front", daemon + "portal", daemon + "verbs", jobs, "brig/denial", "brig/internal/terminal", "brig/internal/text", specs},
	daemon + "client":            {"brig/nsjail", "brig/brigd/engine", daemon + "listen", jobs},
	daemon + "auditcmd":          {"brig/brigd/audit", "brig/brigd/token", daemon + "verbs"},
	daemon + "diffs":             {daemon + "admit", "brig/changes", jobs},
	daemon + "config":            {"brig/internal/cli", "brig/nsjail", "brig/brigd/audit", "brig/brigd/engine", "brig/brigd/share", "brig/brigd/workspace", daemon + "admit", daemon + "files", daemon + "links", daemon + "listen", specs},
	daemon + "fakes":             {"brig/brigd/engine", daemon + "front", daemon + "live", jobs},
	daemon + "files":             {},
	daemon + "front":             {"brig/brigd/engine", daemon + "admit", daemon + "links", daemon + "live", daemon + "schema", daemon + "trace", jobs},
	daemon + "jailpath":          {"brig/nsjail", specs},
	daemon + "feed":              {},
	daemon + "idle":              {"brig/internal/sys"},
	daemon + "picture":           {},
	daemon + "ring":              {},
	daemon + "netstat":           {},
	daemon + "portal":            {daemon + "front", daemon + "links"},
	daemon + "images":            {"brig/image", "brig/layer", daemon + "verbs", specs},
	daemon + "lint":              {},
	daemon + "links":             {"brig/brigd/engine", jobs},
	daemon + "listen":            {daemon + "files"},
	daemon + "live":              {"brig/nsjail", jobs, "brig/cgroup"},
	daemon + "mcp":               {"brig/nsjail", "brig/brigd/engine", "brig/internal/text", daemon + "front", daemon + "picture", daemon + "schema", daemon + "tools", jobs, "brig/denial"},
	daemon + "metrics":           {"brig/nsjail", "brig/brigd/policy", "brig/netns/egress", jobs, specs},
	daemon + "policycmd":         {"brig/brigd/policy", daemon + "files", daemon + "verbs", jobs, specs},
	daemon + "remote":            {"brig/nsjail", "brig/brigd/engine", "brig/brigd/workspace", daemon + "admit", daemon + "front", daemon + "live", jobs},
	daemon + "queue":             {"brig/brigd/engine", "brig/brigd/token", daemon + "queue/gauge", daemon + "queue/lane", daemon + "queue/record", daemon + "queue/retry", daemon + "queue/server", daemon + "queue/wire"},
	daemon + "queue/dead":        {daemon + "front", daemon + "queue", daemon + "queue/record", daemon + "queue/retry", daemon + "queue/wire", jobs},
	daemon + "queue/gauge":       {daemon + "queue/retry"},
	daemon + "queue/lane":        {},
	daemon + "queue/memory":      {daemon + "queue", daemon + "queue/record"},
	daemon + "queue/peers":       {daemon + "queue", daemon + "queue/retry", daemon + "queue/wire", jobs},
	daemon + "queue/record":      {"brig/brigd/engine", daemon + "front", daemon + "queue/retry", jobs},
	daemon + "queue/retry":       {jobs},
	daemon + "queue/server":      {},
	daemon + "queue/submit":      {"brig/nsjail", "brig/brigd/engine", daemon + "front", daemon + "queue", daemon + "queue/dead", daemon + "queue/lane", daemon + "queue/record", daemon + "queue/retry", daemon + "queue/wire", jobs},
	daemon + "queue/wire":        {},
	daemon + "queue/worker":      {"brig/nsjail", "brig/brigd/engine", daemon + "front", daemon + "queue", daemon + "queue/dead", daemon + "queue/lane", daemon + "queue/record", daemon + "queue/retry", daemon + "queue/wire", jobs},
	"brig/brigd/cmd/brigd-queue": {"brig/internal/cli"},
	daemon + "schema":            {"brig/nsjail", "brig/brigd/engine"},
	daemon + "verbs":             {},
	daemon + "verify":            {"brig/internal/attack", "brig/internal/rig", "brig/netns/egress/policy", "brig/nsjail", "brig/testdata", specs, shown},
	daemon + "tokencmd":          {"brig/brigd/policy", "brig/brigd/token", daemon + "files", daemon + "listen", daemon + "verbs", jobs},
	daemon + "tools":             {"brig/brigd/engine", "brig/netns/egress/policy", daemon + "files", daemon + "schema", jobs},
	daemon + "tools/yamljson":    {daemon + "files"},
	daemon + "trace":             {jobs},
	"brig/cmd/brig-bench":        {bench + "load", bench + "machine", bench + "measure", bench + "peers", bench + "report", bench + "result"},
	bench + "boxes":              {"brig/nsjail", bench + "load"},
	bench + "load":               {bench + "peers"},
	bench + "machine":            {"brig/cgroup", bench + "result"},
	bench + "measure":            {bench + "boxes", bench + "load", bench + "peers", bench + "projects", bench + "result", bench + "stats"},
	bench + "peers":              {"brig/nsjail", "brig/seccomp", bench + "result", specs, shown},
	bench + "projects":           {},
	bench + "report":             {bench + "result"},
	bench + "result":             {},
	bench + "stats":              {bench + "result"},
}

// outer is what programs that use the library may import: the library, and what its results and errors lead to.
var outer = []string{"brig/nsjail", specs, shown, doctor, "brig/denial", "brig/netns/egress", "brig/netns/egress/policy"}

// doors lists which package alone may import a library; the longest path that fits decides. golang.org/x/sys is
// everybody's: it is the kernel's own words.
var doors = map[string]string{
	"github.com/containerd/cgroups":          "brig/cgroup",
	"github.com/seccomp/libseccomp-golang":   "brig/seccomp",
	"github.com/vishvananda/netlink":         "brig/netns",
	"github.com/rogpeppe/go-internal":        "tests",
	"github.com/rogpeppe/go-internal/diff":   "brig/changes",
	"golang.org/x/tools":                     "tests",
	"golang.org/x/tools/go/packages":         "brig/internal/test/house",
	"github.com/prometheus":                  daemon + "metrics",
	"github.com/modelcontextprotocol/go-sdk": daemon + "mcp",
	"github.com/google/jsonschema-go":        daemon + "schema",
	"go.yaml.in/yaml/v3":                     daemon + "tools",
	"golang.org/x/time":                      daemon + "admit",
	"go.opentelemetry.io":                    daemon + "trace",
	"go.etcd.io/bbolt":                       "brig/brigd/token",
	"github.com/getkin/kin-openapi":          "tests",
	"golang.org/x/net/idna":                  "brig/netns/egress/policy",
	"github.com/google/go-containerregistry": daemon + "images",
	"github.com/klauspost/compress":          daemon + "images",
	"github.com/nats-io/nats.go":             daemon + "queue",
	"github.com/nats-io/nats-server/v2":      "brig/brigd/cmd/brigd-queue",
	"github.com/nats-io/jwt/v2":              "tests",
	"github.com/nats-io/nkeys":               "tests",
	"golang.org/x/sys":                       "everybody",
}

// heavy is what cmd/brig and nsjail must not reach, however indirectly: each costs every start or widens what must be
// trusted. Package net, for egress, costs a start some 0.04 ms; netlink brings log. archive/tar brings os/user, which
// nobody else may import: together they cost two allocations.
var heavy = []string{"net/http", "crypto/tls", "crypto/x509", "text/template", "html/template", "regexp", "encoding/gob", "encoding/xml",
	"log/slog", "testing", "plugin", "expvar",
	"github.com/prometheus", "google.golang.org", "github.com/golang/protobuf", "github.com/cilium/ebpf", "github.com/godbus/dbus",
	"github.com/coreos", "go.etcd.io/bbolt", "github.com/sirupsen", "github.com/google/go-containerregistry", "github.com/klauspost/compress", "github.com/nats-io", "github.com/containerd/cgroups/v3/cgroup"}

// pure are the rooms that decide and do nothing else: of the standard library they may import only these packages.
var pure = map[string][]string{
	"brig/netns/egress/policy": {"bytes", "cmp", "encoding/json", "errors", "io", "iter", "math", "net/netip", "path", "slices",
		"strconv", "strings", "sync", "text/tabwriter", "time", "unicode", "unicode/utf8", "golang.org/x/net/idna"},
	"brig/brigd/workspace/glob": {"errors", "fmt", "path", "strings"},
	"brig/brigd/workspace/grep": {"bytes", "errors", "fmt", "io", "regexp", "regexp/syntax", "unicode/utf8"},
	"brig/learn":                {"cmp", "net/netip", "path", "slices", "strconv", "strings"},
}

// pkg is go list's description of a package.
type pkg struct {
	ImportPath, Dir, Name, Doc         string
	Standard                           bool
	GoFiles, CgoFiles, IgnoredGoFiles  []string
	Imports, TestImports, XTestImports []string
}

// inModules makes a command in the root that sees both modules.
func inModules(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	work, err := filepath.Abs(root + "/scripts/go.work")
	if err != nil {
		panic(err)
	}
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOWORK="+work)
	return cmd
}

func list(t *testing.T, args ...string) (pkgs []pkg) {
	t.Helper()
	cmd := inModules("go", append([]string{"list", "-buildvcs=false", "-json"}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		errors.As(err, &exit)
		t.Fatalf("go list: %v\n%s", err, exit.Stderr)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func TestImportTable(t *testing.T) {
	for _, p := range list(t, "./...", "./brigd/...") {
		allowed, known := ours[p.ImportPath]
		if strings.HasPrefix(p.ImportPath, "brig/examples/") {
			allowed, known = outer, true
		}
		if !known {
			t.Errorf("%s is not in the import table", p.ImportPath)
			continue
		}
		for _, i := range p.Imports {
			if i == "brig" || strings.HasPrefix(i, "brig/") {
				if !slices.Contains(allowed, i) && (!slices.Contains(ground, i) || slices.Contains(ground, p.ImportPath)) {
					t.Errorf("%s imports %s", p.ImportPath, i)
				}
				continue
			}
			door(t, p.ImportPath, i, false)
			if list := pure[p.ImportPath]; list != nil && !slices.Contains(list, i) {
				t.Errorf("%s, which is pure, imports %s", p.ImportPath, i)
			}
		}
		for _, i := range append(p.TestImports, p.XTestImports...) {
			door(t, p.ImportPath, i, true)
		}
	}
}

// door checks an import of somebody else's package.
func door(t *testing.T, from, what string, test bool) {
	t.Helper()
	if first, _, _ := strings.Cut(what, "/"); !strings.Contains(first, ".") {
		return // the standard library, or ours
	}
	library := ""
	for l := range doors {
		if (what == l || strings.HasPrefix(what, l+"/")) && len(l) > len(library) {
			library = l
		}
	}
	if keeper := doors[library]; library != "" {
		if keeper != "everybody" && keeper != from && !strings.HasPrefix(from, keeper+"/") && (keeper != "tests" || !test) {
			t.Errorf("%s imports %s, whose door is %s", from, what, keeper)
		}
		return
	}
	t.Errorf("%s imports %s, which has no door", from, what)
}

// TestPlanIsPure: what internal/plan imports cannot read the machine, and of x/sys/unix it uses no function that makes
// a system call.
func TestPlanIsPure(t *testing.T) {
	for _, p := range list(t, "./nsjail/internal/plan") {
		for _, banned := range []string{"os", "os/exec", "io/fs", "io/ioutil", "path/filepath", "net", "syscall", "unsafe"} {
			if slices.Contains(p.Imports, banned) {
				t.Errorf("%s imports %s", p.ImportPath, banned)
			}
		}
	}
	for _, s := range sources(t) {
		if !strings.HasPrefix(s.path, "nsjail/internal/plan/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); ok {
				pkg, ok := f.X.(*ast.Ident)
				if ok && pkg.Name == "unix" && f.Sel.Name != "CmsgSpace" && f.Sel.Name != "UnixRights" { // they calculate
					t.Errorf("%s calls unix.%s", s.fset.Position(call.Pos()), f.Sel.Name)
				}
			}
			return true
		})
	}
}

func TestReachesNothingHeavy(t *testing.T) {
	for _, p := range list(t, "-deps", "./cmd/brig", "./nsjail") {
		if slices.Contains(p.Imports, "os/user") && p.ImportPath != "archive/tar" {
			t.Errorf("%s imports os/user", p.ImportPath)
		}
		for _, h := range heavy {
			if p.ImportPath == h || strings.Contains(h, ".") && strings.HasPrefix(p.ImportPath, h+"/") {
				t.Errorf("cmd/brig or nsjail reaches %s", p.ImportPath)
			}
		}
	}
}
