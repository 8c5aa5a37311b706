package policy

import (
	"fmt"
	"math"
	"testing"

	"brig/brigd/job"
	egress "brig/netns/egress/policy"
	"brig/nsjail"
	"brig/nsjail/spec"
)

func TestNetworkRules(t *testing.T) {
	p := parsed(t, `{"commands":["*"],"network":{"modes":["none","loopback","egress"],"publish":["8000-8010"],"egress":{
		"allow":["[2001:4860::/32]:443","example.org:443","*.example.com","http://api.test.example:80","tcp://db.example:5432-5440","192.0.2.0/24:443","0.0.0.0/0:8443","udp://192.0.2.1:123",
			{"host":"rest.example","mode":"http","methods":["GET"],"paths":["/v1"]},{"host":"v.example","ports":[443]},{"host":"v.example","ports":[80]}],
		"deny":["bad.example.com"],"max_connections":10,"bandwidth":"1m","idle_timeout":"30s"}}}`)
	for rule, ok := range map[string]bool{
		"example.org:443": true, "EXAMPLE.org:443": true, "example.org.:443": true, "tls://example.org:443": true,
		"a.example.com":       true,
		"*.b.example.com:443": true, "*.example.com:80": true, "tcp://db.example:5433": true, "tls://db.example:5432": true,
		"192.0.2.7:443":      true,
		"192.0.2.128/25:443": true, "198.51.101.9:8443": true, "udp://192.0.2.1:123": true, "http://a.example.com": true,
		"v.example": true,

		"example.com:443": false, "*.example.org:443": false, "example.org": false, /* also port 80 */
		"example.org:443-444": false, "tcp://example.org:443": false,
		"http://example.org:443": false, "evilexample.com": false, "*.com": false, "*": false, "a.example.com:8443": false,
		"a.example.com.evil.org":  false,
		"tcp://a.example.com:443": false, "db.example:5432-5441": false, "tcp://db.example:*": false,
		"192.0.2.0/23:443": false, "192.0.3.1:443": false,
		"192.0.2.7:80": false, "udp://192.0.2.1:124": false, "udp://192.0.2.2:123": false, "0.0.0.0/0:443": false,
		"10.0.0.1:8443":   false,
		"10.0.0.0/8:8443": false, "169.254.1.1:8443": false, "192.168.0.0/16:8443": false, "0.0.0.0/0:8443": true,
		"128.0.0.0/1:8443": true, "[2001:db8::1]:8443": false, "[::/0]:8443": false,
		"[2001:4860:4860::8888]:443": true, "[2001:4860::/32]:443": true, "[2001:4860::/31]:443": false,
		"[2001:4861::1]:443": false, "[2001:4860::1]:80": false, "[::ffff:192.0.2.7]:443": false,
		"tcp://192.0.2.7:443": true, "udp://192.0.2.7:443": false, "rest.example:80": false,
	} {
		r, err := egress.ParseRule(rule)
		if err != nil && !ok {
			continue // what is no rule needs no policy
		}
		if err != nil {
			t.Fatal(rule, err)
		}
		j := decided(t, p, nsjail.Spec{Args: []string{"id"}, Net: nsjail.NetEgress,
			Egress: &egress.Policy{Allow: []egress.Rule{r}}})
		if (j.Verdict.Refusal == nil) != ok {
			t.Errorf("%s: %v", rule, j.Verdict.Refusal)
		}
	}
	http := func(r egress.Rule) egress.Rule { r.Host, r.Mode = "rest.example", egress.ModeHTTP; return r }
	for i, c := range []struct {
		r  egress.Rule
		ok bool
	}{{http(egress.Rule{Methods: []string{"GET"}, Paths: []string{"/v1/users"}}), true},
		{http(egress.Rule{Methods: []string{"GET"}, Paths: []string{"/v1"}}), true},
		{http(egress.Rule{Methods: []string{"GET"}, Paths: []string{"/v12"}}), false},
		{http(egress.Rule{Methods: []string{"GET", "POST"}, Paths: []string{"/v1"}}), false},
		{http(egress.Rule{Methods: []string{"GET"}}), false}, {http(egress.Rule{Paths: []string{"/v1"}}), false}} {
		j := decided(t, p, nsjail.Spec{Args: []string{"id"}, Net: nsjail.NetEgress,
			Egress: &egress.Policy{Allow: []egress.Rule{c.r}}})
		if (j.Verdict.Refusal == nil) != c.ok {
			t.Errorf("%d %+v: %v", i, c.r, j.Verdict.Refusal)
		}
	}
	no, asked := false, &egress.Policy{AllowedHosts: []string{"example.org"},
		AllowedPorts: []egress.Ports{{From: 443, To: 443}}, IdleTimeout: egress.Duration(1e15)}
	j := decided(t, p, nsjail.Spec{Args: []string{"id"}, Net: nsjail.NetEgress, Egress: asked})
	if e := j.Spec.Egress; j.Verdict.Refusal != nil || e.MaxConnections != 10 || e.Bandwidth != 1<<20 ||
		e.IdleTimeout != egress.Duration(30e9) || len(e.Deny) != 1 ||
		asked.MaxConnections != 0 || len(asked.Deny) != 0 {
		t.Errorf("%v %+v; the caller's %+v", j.Verdict.Refusal, e, asked)
	}
	for i, e := range []*egress.Policy{{AllowedHosts: []string{"evil.org"}},
		{AllowedHosts: []string{"a.example.com"}, AllowedPorts: []egress.Ports{{From: 1, To: 65535}}},
		{Allow: []egress.Rule{{Host: "example.org", Ports: []egress.Ports{{From: 443, To: 443}}}}, DNS: []string{"10.0.0.1"}},
		{MaxBytes: -1}} {
		if j := decided(t, p, nsjail.Spec{Args: []string{"id"}, Net: nsjail.NetEgress, Egress: e}); j.Verdict.Refusal == nil {
			t.Errorf("%d: %+v was allowed", i, e)
		}
	}
	if j := decided(t, p, nsjail.Spec{Args: []string{"id"}, Net: nsjail.NetEgress,
		Egress: &egress.Policy{AllowedHosts: []string{"evil.org"}, AllowOutbound: &no}}); j.Verdict.Refusal != nil {
		t.Error("rules that allow nothing:", j.Verdict.Refusal)
	}
	for text, ok := range map[string]bool{"8000:80": true, "127.0.0.1:8010:80/tcp": true, "0.0.0.0:8000:80": false,
		"8011:80": false, "[::1]:8000:80": false, "08000:80": true, "192.0.2.1:8000:80": false} {
		if j := decided(t, p, nsjail.Spec{Args: []string{"id"}, Publish: []string{text}}); (j.Verdict.Refusal == nil) != ok {
			t.Errorf("publish %s: %v", text, j.Verdict.Refusal)
		}
	}
	for net, ok := range map[spec.Net]bool{"": true, "none": true, "loopback": true, "host": false, "Host": false,
		"bridge": false} {
		if j := decided(t, p, nsjail.Spec{Args: []string{"id"}, Net: net}); (j.Verdict.Refusal == nil) != ok {
			t.Errorf("net %q: %v", net, j.Verdict.Refusal)
		}
	}
}

func TestLimits(t *testing.T) {
	p := parsed(t, `{"name":"p","commands":["*"],"limits":{"wall":"10s","cpu_time":"5s","memory":"64m","cpus":0.5,"processes":10,"output":"1k","output_limit":"2k","tmpfs":"1m",
		"tmpfs_inodes":5,"file_size":"1m","open_files":20,"root_size":"1m","idle":"3s"}}`)
	for i, change := range []func(*nsjail.Spec){
		func(*nsjail.Spec) {},
		func(s *nsjail.Spec) {
			s.Limits = nsjail.Limits{Wall: -1, Processes: -1, Memory: math.MaxInt64, MemorySwap: -1, CPUs: 64,
				CPUTime: math.MaxInt64, Output: math.MaxInt64}
		},
		func(s *nsjail.Spec) {
			s.Limits = nsjail.Limits{Wall: math.MinInt64, Grace: math.MaxInt64, Idle: math.MaxInt64, OutputLimit: math.MaxInt64}
		},
		func(s *nsjail.Spec) {
			s.Limits.Rlimits = map[string]spec.Rlimit{"nproc": {Soft: -1, Hard: -1}, "fsize": {Soft: -1, Hard: -1},
				"nofile": {Soft: 9, Hard: 1 << 20}, "cpu": {Soft: 9, Hard: 9}}
		},
		func(s *nsjail.Spec) { s.Limits.Memory, s.Limits.MemoryHigh = 1<<30, 1<<29 },
		func(s *nsjail.Spec) {
			s.Mounts = []nsjail.Mount{{Type: nsjail.MountTmpfs, Target: "/work"},
				{Type: nsjail.MountTmpfs, Target: "/tmp", Size: 1 << 40, Inodes: 1 << 40}}
		},
		func(s *nsjail.Spec) { s.Limits.CPUs, s.Limits.CPUPeriod = 3, nsjail.Duration(1e6) },
	} {
		s := nsjail.Spec{Args: []string{"id"}}
		change(&s)
		j := decided(t, p, s)
		if j.Verdict.Refusal != nil {
			t.Errorf("%d: %v", i, j.Verdict.Refusal)
			continue
		}
		within(t, p, &j.Spec)
		if len(j.Verdict.Narrowed) == 0 {
			t.Error(i, "nothing was said")
		}
	}
	for i, l := range []nsjail.Limits{{CPUs: math.NaN()}, {CPUs: math.Inf(1)}, {CPUs: -1}, {Memory: -1}, {Processes: -2},
		{CPUTime: -1}, {Output: -1}, {MemorySwap: -2}, {Grace: -1},
		{MemoryLow: 1, Memory: 1 << 20}, {CPUWeight: 10000}, {Cgroup: []string{"memory.oom.group=0"}},
		{Rlimits: map[string]spec.Rlimit{"rtprio": {Soft: 0, Hard: 99}}},
		{Rlimits: map[string]spec.Rlimit{"as": {Soft: 0, Hard: -1}}}, {CPUSet: "0"},
		{IO: []spec.IOLimit{{Path: "/etc/shadow", ReadBps: 1}}}, {IOWeight: 5}} {
		if j := decided(t, p, nsjail.Spec{Args: []string{"id"}, Limits: l}); j.Verdict.Refusal == nil {
			t.Errorf("%d: %+v was allowed", i, l)
		}
	}
	j := decided(t, parsed(t, `{"commands":["*"],"limits":{"wall":"2h"},"features":["tty"]}`),
		nsjail.Spec{Args: []string{"id"}, TTY: true})
	if j.Verdict.Refusal != nil || j.Spec.Limits.Wall.String() != "2h0m0s" { // a terminal has no limit by default
		t.Error(j.Verdict, j.Spec.Limits.Wall)
	}
	p.Limits.Refuse = []string{"memory", "wall"}
	for wall, ok := range map[nsjail.Duration]bool{0: true, 5e9: true, 11e9: false, -1: false} {
		j := decided(t, p, nsjail.Spec{Args: []string{"id"}, Limits: nsjail.Limits{Wall: wall}})
		if r := j.Verdict.Refusal; (r == nil) != ok || r != nil &&
			(r.Rule != "p: limits.wall" || r.NextSteps[0] != "Ask for at most 10s, or leave wall out.") {
			t.Errorf("wall %s: %+v", wall, r)
		}
	}
}

func TestEnvironment(t *testing.T) {
	p := parsed(t, `{"commands":["*"],"environment":{"set":["*","OPENAI_API_KEY"],"pass":["LC_*","HOME"]}}`)
	for e, ok := range map[string]bool{"A=b": true, "OPENAI_API_KEY=x": true, "LANG=": true,
		"LD_PRELOAD=/work/x.so": false, "LD_AUDIT=x": false, "BASH_ENV=/work/x": false, "ENV=/work/x": false,
		"BASH_FUNC_ls%%=() { :; }": false, "GITHUB_TOKEN=x": false,
		"PYTHONSTARTUP=/work/x": false, "PYTHONPATH=/work:/input": false, "PERL5OPT=-Mx": false,
		"NODE_OPTIONS=--require=/work/x": false, "GIT_SSH_COMMAND=x": false, "PATH=/work": false, "path=/work": false,
		"HOME=/work": false, "IFS=x": false, "AWS_REGION=x": false, "GLIBC_TUNABLES=x": false,
		"GOFLAGS=-toolexec=/work/x": false} {
		if j := decided(t, p, nsjail.Spec{Args: []string{"id"}, Env: []string{"B=c", e}}); (j.Verdict.Refusal == nil) != ok {
			t.Errorf("%s: %v", e, j.Verdict.Refusal)
		}
	}
	for name, ok := range map[string]bool{"LC_ALL": true, "LC_*": true, "HOME": true, "LC_A*": false, "*": false,
		"PATH": false, "L?_*": false, "LC_SECRET": false, "[L]C_ALL": false} {
		if j := decided(t, p, nsjail.Spec{Args: []string{"id"}, PassEnv: []string{name}}); (j.Verdict.Refusal == nil) != ok {
			t.Errorf("pass %s: %v", name, j.Verdict.Refusal)
		}
	}
	for e, ok := range map[string]bool{"PYTHONPATH=/work:/input": true, "PYTHONPATH=/input": true,
		"PYTHONPATH=/tmp:/input": false, "LD_PRELOAD=/work:/input": false} {
		j := &job.Job{Language: "python", Spec: nsjail.Spec{Args: []string{"python3"}, Env: []string{e}}}
		if parsed(t, `{"languages":["python"]}`).Decide(j); (j.Verdict.Refusal == nil) != ok {
			t.Errorf("%s: %v", e, j.Verdict.Refusal)
		}
	}
}

func TestTheRestOfASpecIsForFeatures(t *testing.T) {
	p, all := parsed(t, `{"commands":["*"]}`), parsed(t, `{"commands":["*"],"seccomp":["default","strict"]}`)
	for name := range features {
		all.Features = append(all.Features, name)
	}
	for i, s := range []nsjail.Spec{{TTY: true}, {NoInit: true}, {User: "0"}, {User: "0:0"}, {User: "1000:0"},
		{CgroupParent: "/x.slice"}, {Seccomp: "strict"}, {AppArmor: "x"}, {SELinuxLabel: "a:b:c"}, {Limits: nsjail.Limits{CPUSetMems: "0"}},
		{Limits: nsjail.Limits{Cgroup: []string{"pids.max=max"}}}, {Limits: nsjail.Limits{CPUs: 1, CPUBurst: 1000}}} {
		s.Args = []string{"id"}
		if j := decided(t, p, s); j.Verdict.Refusal == nil {
			t.Errorf("%d: %+v was allowed", i, s)
		}
		if j := decided(t, all, s); j.Verdict.Refusal != nil {
			t.Errorf("%d: %v", i, j.Verdict.Refusal)
		}
	}
	for _, seccomp := range []string{"unconfined", "/etc/passwd", "Default"} {
		if j := decided(t, all, nsjail.Spec{Args: []string{"id"}, Seccomp: seccomp}); j.Verdict.Refusal == nil {
			t.Error(seccomp, "was allowed")
		}
		if j := decided(t, parsed(t, `{"extends":"any"}`),
			nsjail.Spec{Args: []string{"id"}, Seccomp: seccomp}); j.Verdict.Refusal != nil {
			t.Error(j.Verdict.Refusal)
		}
	}
	strict := parsed(t, `{"commands":["*"],"require":["seccomp","sockets"],"optional":["overlay"]}`)
	j := decided(t, strict, nsjail.Spec{Args: []string{"id"}, Optional: []string{"seccomp", "overlay", "memory"},
		Require: []string{"pid"}})
	if s := j.Spec; j.Verdict.Refusal != nil || fmt.Sprint(s.Optional, s.Require) != "[overlay] [pid seccomp sockets]" {
		t.Error(j.Verdict.Refusal, s.Optional, s.Require)
	}
}

func TestInputs(t *testing.T) {
	p := parsed(t, `{"languages":["python"],"inputs":{"files":2,"file_bytes":10,"total_bytes":15,"code_bytes":3,"stdin_bytes":4},"sandbox":{"operations":["put"],"disk":"1m","ttl":"1m"}}`)
	for i, c := range []struct {
		r  *job.Refusal
		ok bool
	}{{p.CheckFiles([]int64{10, 5}), true}, {p.CheckFiles([]int64{1, 1, 1}), false}, {p.CheckFiles([]int64{11}), false},
		{p.CheckFiles([]int64{10, 6}), false}, {p.CheckFiles([]int64{-1}), false},
		{(&Policy{Inputs: Inputs{TotalBytes: 5}}).CheckFiles([]int64{math.MaxInt64, math.MaxInt64, 2}), false},
		{p.CheckCode(3), true}, {p.CheckCode(4), false}, {p.CheckStdin(4), true}, {p.CheckStdin(5), false},
		{p.CheckOperation("put"), true}, {p.CheckOperation("get"), false}, {p.CheckOperation(""), false}} {
		if (c.r == nil) != c.ok {
			t.Errorf("%d: %v", i, c.r)
		}
	}
	if disk, inodes, ttl := p.NarrowSandbox(0, 7, nsjail.Duration(1e18)); disk != 1<<20 || inodes != 7 ||
		ttl.String() != "1m0s" {
		t.Error(disk, inodes, ttl)
	}
	j := &job.Job{Language: "python", Code: []byte("1234"), Spec: nsjail.Spec{Args: []string{"python3"}}}
	if p.Decide(j); j.Verdict.Refusal == nil || j.Verdict.Refusal.Code != "input_too_large" {
		t.Error(j.Verdict.Refusal)
	}
}
