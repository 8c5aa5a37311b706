package lint

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// others are the string literals with an option of some other program, or of none, in files outside of the edges: how
// many a file has, and why it has them. A message that refers to an option of brig's has a words.Text instead, and an
// edge writes the option.
var others = map[string]struct {
	n   int
	why string
}{
	"brigd/lang/warm.go":       {1, "an argument of node"},
	"brigd/policy/programs.go": {2, "examples of the options of any command that a policy allows"},
	"brigd/policy/lint.go":     {1, "options of find and tar"},

	"cgroup/create.go":                 {1, "a command for a shell: systemd-run"},
	"changes/patch.go":                 {1, "a line of git's format"},
	"denial/calls.go":                  {1, "an option of browsers"},
	"gitview/report.go":                {1, "a command for a shell: git fsck"},
	"internal/repository/settings.go":  {1, "a command for a shell: git config"},
	"netns/egress/wire/refusal.go":     {1, "a field of the refusal that payloads read, as it always was"},
	"nsjail/doctor/delegate.go":        {1, "the script for root names the command that has made it"},
	"nsjail/doctor/groups.go":          {3, "commands for a shell: docker, systemd-run"},
	"nsjail/doctor/kernel.go":          {1, "a command for a shell: docker"},
	"nsjail/doctor/outer.go":           {3, "commands for a shell: docker, podman"},
	"nsjail/doctor/remedy.go":          {1, "a command for a shell: docker"},
	"nsjail/doctor/proc.go":            {1, "a command for a shell: bwrap"},
	"nsjail/doctor/user.go":            {3, "commands for a shell: wsl, docker, unshare"},
	"nsjail/internal/host/caller.go":   {2, "a command for a shell: setpriv"},
	"nsjail/internal/host/delegate.go": {1, "a command for a shell, for root: it is piped into sudo"},
	"nsjail/internal/host/system.go":   {3, "commands for a shell: docker, podman"},
	"nsjail/internal/plan/group.go":    {2, "commands for a shell: systemd-run"},
	"nsjail/internal/plan/sources.go":  {1, "a command for a shell: docker"},
}

// edges are where the words of a command line belong: the programs, and the library of their command lines.
var edges = []string{"cmd/", "brigd/cmd/", "brigd/internal/", "internal/cli/"}

var optionWord = regexp.MustCompile(`(^|[^-\w])--[a-z]`)

// TestOptions: no string literal outside of the edges has an option of brig's.
func TestOptions(t *testing.T) {
	found := map[string]int{}
	for _, s := range sources(t) {
		if edge(s.path) {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			l, ok := node.(*ast.BasicLit)
			if !ok || l.Kind != token.STRING || !optionWord.MatchString(l.Value) {
				return true
			}
			if found[s.path]++; found[s.path] > others[s.path].n {
				t.Errorf("%s:%d: %s has an option, and an edge writes those: refer to the field (package words)", s.path,
					s.fset.Position(l.Pos()).Line, l.Value)
			}
			return true
		})
	}
	for path, o := range others {
		if found[path] < o.n {
			t.Errorf("%s has %d options of others, and the table has %d (%s): lower it", path, found[path], o.n, o.why)
		}
	}
}

func edge(path string) bool {
	for _, e := range edges {
		if strings.HasPrefix(filepath.ToSlash(path), e) {
			return true
		}
	}
	return strings.HasPrefix(path, "scripts/") || strings.HasPrefix(path, "examples/")
}
