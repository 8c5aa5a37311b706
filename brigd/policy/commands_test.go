package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/brigd/job"
	"brig/internal/test/must"
	"brig/internal/test/osroot"
	"brig/nsjail"
)

func TestCommandsByTheFileThatIsExecuted(t *testing.T) {
	root := osroot.New(t)
	host := t.TempDir()
	for name, to := range map[string]string{"python3": filepath.Join(root, "usr/bin/python3.11"), "git": "/bin/sh"} {
		must.Do(t, os.Symlink(to, filepath.Join(host, name)))
	}
	p := parsed(t, fmt.Sprintf(`{"name":"p","commands":["python3","/usr/bin/git","ls","plain","secretive","out","nowhere"],
		"paths":{"roots":[%q],"read":["/"],"write":[%q],"targets":["/usr","/opt","/t"]},"environment":{"set":["PATH"],"pass":["PATH"]}}`, root, host))
	with := func(change func(*nsjail.Spec)) func(*nsjail.Spec) { return change }
	mount := func(m ...nsjail.Mount) func(*nsjail.Spec) {
		return func(s *nsjail.Spec) { s.Mounts = m }
	}
	env := func(e ...string) func(*nsjail.Spec) { return func(s *nsjail.Spec) { s.Env = e } }
	for i, c := range []struct {
		name   string
		change func(*nsjail.Spec)
		code   string // "" is allowed
	}{
		{"python3", nil, ""},
		{"/usr/bin/python3", nil, ""},
		{"/bin/python3", nil, ""},
		{"//usr/bin/../bin/python3", nil, ""},
		{"../usr/bin/python3", with(func(s *nsjail.Spec) { s.Workdir = "/etc" }), ""},
		{"./python3", with(func(s *nsjail.Spec) { s.Workdir = "/usr/bin" }), ""},
		{"git", nil, ""},
		{"ls", nil, ""},
		{"python", nil, ""}, // there is none, and the jail goes on to python3
		{"python", mount(nsjail.Mount{Type: nsjail.MountBind, Source: host, Target: "/usr/local/bin"}),
			"command_not_allowed"},
		{"python", mount(nsjail.Mount{Type: nsjail.MountData, Target: "/usr/local/bin/python", Content: "x", Mode: "555"}),
			"command_not_allowed"},
		{"pip", nil, "command_not_allowed"},

		{"./python3", nil, "command_not_allowed"}, // /work is written to
		{"python3", env("PATH=/work:/usr/bin"), "command_not_allowed"},
		{"python3", env("PATH=/work/../usr/bin"), ""},
		{"python3", env("PATH=/usr/bin", "PATH=/tmp:/usr/bin"), "command_not_allowed"},
		{"python3", env("PATH=/usr/bin:/work"), ""},
		{"python3", env("PATH=relative:.:/usr/bin"), ""},
		{"python3", env("PATH="), "command_not_found"},
		{"python3", with(func(s *nsjail.Spec) { s.PassEnv = []string{"PATH"} }), "command_not_allowed"},
		{"git", env("PATH=/opt/tools:/usr/bin"), "command_not_allowed"}, // another file of the same name
		{"/opt/tools/git", nil, "command_not_allowed"},
		{"python3.11", nil, "command_not_allowed"}, // the same file by a name that is not listed
		{"sh", nil, "command_not_allowed"},         // the same file as ls: a program that is many
		{"busybox", nil, "command_not_allowed"},
		{"/usr/bin/sh", nil, "command_not_allowed"},
		{"Python3", nil, "command_not_allowed"},
		{"PYTHON3", nil, "command_not_allowed"},
		{"python3 ", nil, "command_not_allowed"},
		{"python3/", nil, "command_not_allowed"},
		{"/usr/bin/python3/", nil, "command_not_allowed"},
		{"/usr/bin/python3/.", nil, "command_not_allowed"},
		{"/usr/bin/python3/../python3", nil, "command_not_allowed"},
		{"python3\x00x", nil, "invalid_request"},
		{"", nil, "invalid_request"},
		{"/", nil, "command_not_allowed"},
		{".", nil, "command_not_allowed"},
		{"usr/bin/python3", nil, "command_not_allowed"},
		{"/proc/self/root/usr/bin/python3", nil, "command_not_allowed"},
		{"/dev/fd/3", nil, "command_not_allowed"},
		{"/usr/bin/loop", nil, "command_not_allowed"},
		{"plain", nil, "command_not_found"},   // nobody can execute it
		{"out", nil, ""},                      // a link out of the image leads to its own /bin/sh
		{"nowhere", nil, "command_not_found"}, // a link to nothing
		{"secretive", nil, ""},
		// the first may not be executable to the payload
		{"secretive", env("PATH=/usr/bin:/opt/tools"), "command_not_allowed"},

		// What lies at the path is not the image's any more.
		{"/usr/bin/python3", mount(nsjail.Mount{Type: nsjail.MountData, Target: "/usr/bin/python3.11", Content: "#!/bin/sh\n",
			Mode: "555"}), "command_not_allowed"},
		{"python3", mount(nsjail.Mount{Type: nsjail.MountTmpfs, Target: "/usr/bin"}), "command_not_allowed"},
		{"python3", mount(nsjail.Mount{Type: nsjail.MountData, Target: "/bin/python3", Content: "x"}), "command_not_allowed"},
		{"python3", mount(nsjail.Mount{Type: nsjail.MountSymlink, Target: "/t", Source: "/usr/bin"},
			nsjail.Mount{Type: nsjail.MountData, Target: "/t/python3.11", Content: "x"}), "command_not_allowed"},
		{"python3", mount(nsjail.Mount{Type: nsjail.MountVolume, Source: "a/work", Target: "/work", Writable: true},
			nsjail.Mount{Type: nsjail.MountData, Target: "/work/l/python3", Content: "x"}), "command_not_allowed"},
		{"python3", mount(nsjail.Mount{Type: nsjail.MountVolume, Source: "a/work", Target: "/input"},
			nsjail.Mount{Type: nsjail.MountData, Target: "/input/l/python3", Content: "x"}), "command_not_allowed"},
		{"python3", mount(nsjail.Mount{Type: nsjail.MountVolume, Source: "a/input", Target: "/input"},
			nsjail.Mount{Type: nsjail.MountData, Target: "/input/data", Content: "x"}), ""},
		{"/opt/tools/python3", mount(nsjail.Mount{Type: nsjail.MountBind, Source: host, Target: "/opt/tools",
			Writable: true}), "command_not_allowed"},
		// the very file
		{"/opt/tools/git", mount(nsjail.Mount{Type: nsjail.MountBind, Source: filepath.Join(root, "usr/bin"),
			Target: "/opt/tools"}), ""},
		{"python3", mount(nsjail.Mount{Type: nsjail.MountBind, Source: host, Target: "/usr/local/bin"}),
			"command_not_allowed"},
		{"python3", mount(nsjail.Mount{Type: nsjail.MountTmpfs, Target: "/work"}), ""},
	} {
		s := nsjail.Spec{Args: []string{c.name}, Rootfs: nsjail.Rootfs{Path: root}}
		if c.change != nil {
			c.change(&s)
		}
		j := decided(t, p, s)
		code := ""
		if j.Verdict.Refusal != nil {
			code = j.Verdict.Refusal.Code
		}
		if code != c.code {
			t.Errorf("%d %q: %q, want %q: %v", i, c.name, code, c.code, j.Verdict.Refusal)
		}
	}
}

func TestTheMinimalRootShowsTheHostsUsr(t *testing.T) {
	p := parsed(t, `{"commands":["ls","python3","awk"]}`)
	for name, ok := range map[string]bool{"ls": true, "/bin/ls": true, "/usr/bin/ls": true, "/usr/bin/../bin/ls": true,
		"/etc/../bin/ls": true, "/tmp/ls": false,
		"/opt/ls": false, "/root/ls": false, "/home/ls": false, "cat": false, "/proc/1/root/bin/ls": false, "sh": false} {
		if j := decided(t, p, nsjail.Spec{Args: []string{name}}); (j.Verdict.Refusal == nil) != ok {
			t.Errorf("%s: %v", name, j.Verdict.Refusal)
		}
	}
	if _, err := os.Stat("/usr/bin/awk"); err == nil { // by way of /etc/alternatives on Debian
		if j := decided(t, p, nsjail.Spec{Args: []string{"awk"}}); j.Verdict.Refusal != nil {
			t.Error("awk:", j.Verdict.Refusal)
		}
	}
}

func TestARefusalNamesTheWayOn(t *testing.T) {
	root := osroot.New(t)
	p := parsed(t, fmt.Sprintf(`{"name":"p","commands":["python3","git"],"languages":["python"],"paths":{"roots":[%q]}}`,
		root))
	j := decided(t, p, nsjail.Spec{Args: []string{"python3.11"}, Rootfs: nsjail.Rootfs{Path: root}})
	r := j.Verdict.Refusal
	if r == nil || r.Rule != "p: commands" ||
		!strings.Contains(strings.Join(r.NextSteps, " "),
			`the allowed "python3": call it by that name. Use one of the allowed commands: python3, git. Or send code in one of the allowed languages: python.`) {
		t.Errorf("%+v", r)
	}
	j = &job.Job{Language: "perl", Spec: nsjail.Spec{Args: []string{"perl"}}}
	parsed(t, `{"languages":["python","bash"]}`).Decide(j)
	if r := j.Verdict.Refusal; r == nil || r.Code != "language_not_allowed" ||
		r.NextSteps[0] != "Use one of the allowed languages: python, bash." {
		t.Errorf("%+v", r)
	}
	j = &job.Job{Language: "python", Code: []byte("1"),
		Spec: nsjail.Spec{Args: []string{"/opt/anything"}, Env: []string{"PYTHONPATH=/work:/input"}}}
	if parsed(t, `{"languages":["python"]}`).Decide(j); j.Verdict.Refusal != nil {
		t.Error(j.Verdict.Refusal)
	}
}

func TestArguments(t *testing.T) {
	root := osroot.New(t)
	for i, c := range []struct{ entry, args, ok string }{
		{`"git"`, "anything --at all", "yes"},
		{`{"command":"git","allow":[["status","..."],["log","-n","?"],["show","*.txt"],[]]}`, "status", "yes"},
		{`{"command":"git","allow":[["status","..."],["log","-n","?"],["show","*.txt"],[]]}`, "status -s x", "yes"},
		{`{"command":"git","allow":[["status","..."],["log","-n","?"],["show","*.txt"],[]]}`, "log -n 5", "yes"},
		{`{"command":"git","allow":[["status","..."],["log","-n","?"],["show","*.txt"],[]]}`, "log -n 55", "no"},
		{`{"command":"git","allow":[["status","..."],["log","-n","?"],["show","*.txt"],[]]}`, "show a/b.txt", "yes"},
		{`{"command":"git","allow":[["status","..."],["log","-n","?"],["show","*.txt"],[]]}`, "show a.txt b", "no"},
		{`{"command":"git","allow":[["status","..."],["log","-n","?"],["show","*.txt"],[]]}`, "", "yes"},
		{`{"command":"git","allow":[["status","..."]]}`, "-c x=y status", "no"},
		{`{"command":"git","allow":[["status","..."]]}`, "statusx", "no"},
		{`{"command":"git","allow":[["...","end"]]}`, "a b end", "yes"},
		{`{"command":"git","allow":[["...","end"]]}`, "a end b", "no"},
		{`{"command":"git","allow":[["a\\*b"]]}`, "a*b", "yes"},
		{`{"command":"git","allow":[["a\\*b"]]}`, "axb", "no"},
		{`{"command":"git","allow":[["\\..."]]}`, "...", "yes"},
		{`{"command":"git","allow":[["\\..."]]}`, "x", "no"},
		{`{"command":"git","allow":[["a*b*c"]]}`, "aXbYbZc", "yes"},
		{`{"command":"git","deny":[["push","..."]]}`, "push", "no"},
		{`{"command":"git","deny":[["push","..."]]}`, "pull", "yes"},
		{`{"command":"git","deny":[["...","--output","..."]]}`, "log --output x", "no"},
		{`{"command":"git","deny":[["...","--output","..."]]}`, "log --output=x", "no"},
		{`{"command":"git","deny":[["...","--output","..."]]}`, "log --outp=x", "no"},
		{`{"command":"git","deny_flags":["--output","-c","-exec"]}`, "log --output=x", "no"},
		{`{"command":"git","deny_flags":["--output","-c","-exec"]}`, "log --out x", "no"},
		{`{"command":"git","deny_flags":["--output","-c","-exec"]}`, "log -output x", "no"},
		{`{"command":"git","deny_flags":["--output","-c","-exec"]}`, "-c x", "no"},
		{`{"command":"git","deny_flags":["--output","-c","-exec"]}`, "-cx", "no"},
		{`{"command":"git","deny_flags":["--output","-c","-exec"]}`, "-pc x", "no"},
		{`{"command":"git","deny_flags":["--output","-c","-exec"]}`, "-- -c x", "no"},
		{`{"command":"git","deny_flags":["--output","-c","-exec"]}`, ". -exec sh", "no"},
		{`{"command":"git","deny_flags":["--output","-c","-exec"]}`, "--exec=sh", "no"},
		{`{"command":"git","deny_flags":["--output","-c","-exec"]}`, "log --outside", "yes"},
		{`{"command":"git","deny_flags":["--output","-c","-exec"]}`, "log c output", "yes"},
		{`{"command":"git","deny_flags":["--output","-c","-exec"]}`, "-", "yes"},
		{`{"command":"git","flags":["-l","-a","--all","--color="]}`, "-la x --all", "yes"},
		{`{"command":"git","flags":["-l","-a","--all","--color="]}`, "-lx", "no"},
		{`{"command":"git","flags":["-l","-a","--all","--color="]}`, "--color=auto", "yes"},
		{`{"command":"git","flags":["-l","-a","--all","--color="]}`, "--color", "no"},
		{`{"command":"git","flags":["-l","-a","--all","--color="]}`, "--all=x", "no"},
		{`{"command":"git","flags":["-l","-a","--all","--color="]}`, "--al", "no"},
		{`{"command":"git","flags":["-l","-a","--all","--color="]}`, "-- --bad", "no"},
		{`{"command":"git","flags":[]}`, "-x", "no"},
		{`{"command":"git","flags":[]}`, "x - --", "yes"},
		{`{"command":"git","allow":[["a"]]},{"command":"git","allow":[["b"]]}`, "b", "yes"},
		{`"git",{"command":"git","deny":[["b"]]}`, "b", "no"},
		{`"*",{"command":"git","deny":[["b"]]}`, "b", "no"},
		{`"*",{"command":"git","deny":[["b"]]}`, "c", "yes"},
		{`"*",{"command":"/opt/tools/git","deny":[["b"]]}`, "b", "no"},
	} {
		p := parsed(t, fmt.Sprintf(`{"commands":[%s],"paths":{"roots":[%q]}}`, c.entry, root))
		args := append([]string{"git"}, strings.Fields(c.args)...)
		j := decided(t, p, nsjail.Spec{Args: args, Rootfs: nsjail.Rootfs{Path: root}})
		r := j.Verdict.Refusal
		if (r == nil) != (c.ok == "yes") || r != nil && r.Code != "arguments_not_allowed" {
			t.Errorf("%d %s: git %s: %v", i, c.entry, c.args, r)
		}
	}
}

// Whatever the item and the argument are, the answer comes in bounded time and a star alone takes everything.
func FuzzFits(f *testing.F) {
	f.Add("a*b?c\\*", "axxbyc*")
	f.Add(strings.Repeat("a*", 100)+"b", strings.Repeat("a", 4000))
	f.Fuzz(func(t *testing.T, item, arg string) {
		if len(item) > 512 || len(arg) > 8192 {
			return
		}
		got := fits(item, arg)
		if !strings.ContainsAny(item, `*?\`) && got != (item == arg) {
			t.Errorf("%q fits %q: %v", item, arg, got)
		}
		if got && !fits("*"+item, "x"+arg) || !fits("*", arg) || item != "" && !strings.ContainsAny(item, `*?\`) &&
			fits(item, arg+"x") && item == arg {
			t.Errorf("%q %q", item, arg)
		}
	})
}

// What can be written to through a bind is no allowed command, whoever allows the bind.
func TestAWritableBindHoldsNoCommands(t *testing.T) {
	root := osroot.New(t)
	for write, ok := range map[bool]bool{false: true, true: false} {
		m := nsjail.Mount{Type: nsjail.MountBind, Source: filepath.Join(root, "usr/bin"), Target: "/opt/tools",
			Writable: write}
		s := nsjail.Spec{Args: []string{"/opt/tools/git"}, Rootfs: nsjail.Rootfs{Path: root}, Mounts: []nsjail.Mount{m}}
		if j := decided(t, parsed(t, `{"extends":"any","commands":["git"]}`), s); (j.Verdict.Refusal == nil) != ok {
			t.Errorf("writable %v: %v", write, j.Verdict.Refusal)
		}
	}
}

// A file where runs may write on the host is not an allowed command: a run may have replaced it.
func TestAProgramThatRunsMayReplaceIsNotAllowed(t *testing.T) {
	root := osroot.New(t)
	for write, ok := range map[string]bool{"/nothing": true, root: false, root + "/usr": false,
		filepath.Dir(root): false} {
		p := parsed(t, fmt.Sprintf(`{"commands":["git"],"paths":{"roots":[%q],"write":[%q]}}`, root, write))
		if j := decided(t, p, nsjail.Spec{Args: []string{"git"},
			Rootfs: nsjail.Rootfs{Path: root}}); (j.Verdict.Refusal == nil) != ok {
			t.Errorf("%s: %v", write, j.Verdict.Refusal)
		}
	}
	for write, ok := range map[string]bool{"/usr/local/share": true, "/usr": false, "/": false} {
		if j := decided(t, parsed(t, fmt.Sprintf(`{"commands":["ls"],"paths":{"write":[%q]}}`, write)),
			nsjail.Spec{Args: []string{"ls"}}); (j.Verdict.Refusal == nil) != ok {
			t.Errorf("%s: %v", write, j.Verdict.Refusal)
		}
	}
}

// What an entry denies of python3 is denied under the name by which the jail finds it, too.
func TestDeniedByTheOtherName(t *testing.T) {
	root := osroot.New(t)
	p := parsed(t, fmt.Sprintf(`{"commands":["*",{"command":"python3","deny":[["-c","..."]]}],"paths":{"roots":[%q]}}`,
		root))
	for args, ok := range map[string]bool{"python -c x": false, "python3 -c x": false, "python x": true} {
		s := nsjail.Spec{Args: strings.Fields(args), Rootfs: nsjail.Rootfs{Path: root}}
		if j := decided(t, p, s); (j.Verdict.Refusal == nil) != ok {
			t.Errorf("%s: %v", args, j.Verdict.Refusal)
		}
	}
}

// More of /etc is shown only where a policy lets it be read.
func TestEtcIsRead(t *testing.T) {
	for policy, ok := range map[string]bool{`{"commands":["ls"]}`: false,
		`{"commands":["ls"],"paths":{"read":["/etc/groff"]}}`: true,
		`{"commands":["ls"],"paths":{"read":["/etc/gro"]}}`:   false} {
		if j := decided(t, parsed(t, policy),
			nsjail.Spec{Args: []string{"ls"}, Etc: []string{"groff"}}); (j.Verdict.Refusal == nil) != ok {
			t.Errorf("%s: %v", policy, j.Verdict.Refusal)
		}
	}
}
