package policy

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"brig/brigd/job"
	egress "brig/netns/egress/policy"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// classes maps each field of a Spec to how a policy treats it. A field that is not here is one that no policy knows:
// decide about it, then add it.
var classes = map[string]string{
	"args": "commands", "env": "environment.set", "pass_env": "environment.pass",
	"workdir": "neutral: where a command is looked for from", "hostname": "neutral: the jail's own", "etc": "paths.read",
	"user": "feature", "rootfs.path": "paths.roots", "rootfs.writable": "feature", "rootfs.size": "limits",
	"rootfs.inodes": "neutral: only fewer", "rootfs.system": "feature",
	"scratch":     "limits",
	"mounts.type": "paths", "mounts.source": "paths", "mounts.target": "paths.targets", "mounts.writable": "paths.write",
	"mounts.plain":   "neutral: the payload has fewer rights on the files",
	"mounts.no_exec": "neutral: it takes from the payload",
	"bare_env":       "neutral: fewer variables; the search path stays the default",
	"mounts.live":    "feature", "mounts.size": "limits", "mounts.inodes": "limits",
	"mounts.store": "feature", "rootfs.store": "feature", "rootfs.keep": "neutral: the caller gets what is dropped otherwise",
	"rootfs.image":   "neutral: a name for the tree at rootfs.path, which is decided",
	"protect":        "neutral: it takes from the payload",
	"git":            "neutral: what Protect takes of git directories",
	"-":              "neutral: what was found of git",
	"mounts.-":       "shares: what the program holds open",
	"mounts.mode":    "neutral: of the jail's own files",
	"mounts.content": "neutral: of the jail's own files; inputs bounds a request's",
	"net":            "network.modes", "egress": "network.egress", "publish": "network.publish", "tty": "feature",
	"no_init": "feature", "tier": "feature", "apparmor": "feature", "selinux_label": "feature", "seccomp": "seccomp", "cgroup_parent": "feature",
	"require": "neutral: only more is enforced", "optional": "optional",
	"limits.wall": "limits", "limits.idle": "limits", "limits.grace": "limits", "limits.cpu_time": "limits",
	"limits.processes": "limits", "limits.output": "limits", "limits.output_limit": "limits",
	"limits.rlimits": "limits, feature", "limits.memory": "limits", "limits.memory_high": "neutral: below memory",
	"limits.memory_swap": "limits", "limits.memory_zswap": "limits", "limits.memory_low": "feature",
	"limits.memory_min":   "feature",
	"limits.no_oom_group": "neutral: within the jail", "limits.cpus": "limits",
	"limits.cpu_period": "neutral: cpus hold in each", "limits.cpu_burst": "feature", "limits.cpu_weight": "feature",
	"limits.cpuset": "feature", "limits.cpuset_mems": "feature", "limits.io": "feature", "limits.io_weight": "feature",
	"limits.hugetlb": "neutral: a limit more", "limits.cgroup": "feature",
}

func TestEveryFieldOfASpecIsKnown(t *testing.T) {
	var found []string
	var walk func(prefix string, typ reflect.Type)
	walk = func(prefix string, typ reflect.Type) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			ft := f.Type
			if ft.Kind() == reflect.Slice {
				ft = ft.Elem()
			}
			if name := prefix + tag; ft == reflect.TypeFor[nsjail.Mount]() || ft == reflect.TypeFor[nsjail.Limits]() ||
				ft == reflect.TypeFor[nsjail.Rootfs]() {
				walk(name+".", ft)
			} else {
				found = append(found, name)
			}
		}
	}
	walk("", reflect.TypeFor[nsjail.Spec]())
	slices.Sort(found)
	if known := keys(classes); !slices.Equal(found, known) {
		t.Errorf("a Spec has\n%v\nand the policies know\n%v", found, known)
	}
	// What an egress policy can say: allow* are covered, deny* and blocked* added, bounds lowered, redirect is the
	// jail's own.
	want := []string{"allow", "allow_outbound", "allowed_hosts", "allowed_ports", "bandwidth", "blocked_hosts",
		"blocked_ranges", "connect_timeout", "connections_per_second", "deny", "dns", "idle_timeout",
		"max_bytes", "max_connection_bytes", "max_connections", "names_per_second", "redirect"}
	tags := tagsOf(reflect.TypeFor[egress.Policy]())
	if slices.Sort(tags); !slices.Equal(tags, want) {
		t.Errorf("an egress policy has %v, and the policies know %v", tags, want)
	}
}

// TestLimitFeatures: a limit that needs a feature names one that there is.
func TestLimitFeatures(t *testing.T) {
	for r := range spec.LimitTable() {
		if r.Feature != "" && features[r.Feature] == "" {
			t.Errorf("%s needs the feature %s, which there is not", r.Name, r.Feature)
		}
	}
}

// within fails unless a Spec lies within a policy, told by other means than narrow's.
func within(t testing.TB, p *Policy, s *nsjail.Spec) {
	t.Helper()
	bad := func(what string, v, most any) { t.Errorf("%s is %v, above %v\n%s", what, v, most, s.JSON()) }
	l, c := s.Limits, p.Limits
	if c.Wall > 0 && (l.Wall < 0 || l.Wall > c.Wall || l.Wall == 0 && (s.TTY || c.Wall < spec.DefaultWall)) {
		bad("wall", l.Wall, c.Wall)
	}
	if c.Wall > 0 && l.Grace > max(c.Grace, DefaultGrace) {
		bad("grace", l.Grace, c.Grace)
	}
	if c.CPUs > 0 && (l.CPUs <= 0 || l.CPUs > c.CPUs+1e-6) {
		bad("cpus", l.CPUs, c.CPUs)
	}
	if c.Memory > 0 && (l.MemorySwap < 0 || l.MemorySwap > max(c.Memory, c.MemorySwap)) {
		bad("memory_swap", l.MemorySwap, c.MemorySwap)
	}
	if r, own := l.Rlimits["nproc"]; c.Processes > 0 &&
		(own && (r.Hard < 0 || r.Hard > c.Processes) || l.Processes < 0 || l.Processes > c.Processes || !own &&
			l.Processes == 0 && c.Processes < spec.DefaultProcesses) {
		bad("processes", l.Processes, c.Processes)
	}
	for _, b := range []struct {
		name    string
		v, most int64
	}{{"idle", int64(l.Idle), int64(c.Idle)}, {"cpu_time", int64(l.CPUTime), int64(c.CPUTime)},
		{"memory", int64(l.Memory), int64(c.Memory)}, {"memory_zswap", int64(l.MemoryZswap), int64(c.MemoryZswap)},
		{"output", int64(l.Output), int64(c.Output)},
		{"output_limit", int64(l.OutputLimit), int64(c.OutputLimit)}} {
		if b.most > 0 && (b.v <= 0 || b.v > b.most) {
			bad(b.name, b.v, b.most)
		}
	}
	for name, most := range map[string]int64{"fsize": int64(c.FileSize), "nofile": c.OpenFiles} {
		if r, own := l.Rlimits[name]; most > 0 &&
			(own && (r.Hard < 0 || r.Hard > most || r.Soft > r.Hard || r.Soft < 0) || !own && (name == "fsize" || most < 4096)) {
			bad(name, r, most)
		}
	}
	if c.Tmpfs > 0 && s.Scratch > c.Tmpfs {
		bad("tmpfs", s.Scratch, c.Tmpfs)
	}
	for _, m := range s.Mounts {
		if m.Type == nsjail.MountTmpfs &&
			(c.Tmpfs > 0 && (m.Size > c.Tmpfs || m.Size == 0 && c.Tmpfs < spec.DefaultTmpfsSize) || c.TmpfsInodes > 0 &&
				(m.Inodes > c.TmpfsInodes || m.Inodes == 0 && c.TmpfsInodes < spec.DefaultTmpfsInodes)) {
			bad("tmpfs", m, c.Tmpfs)
		}
	}
	if problems := s.Check(); len(problems) > 0 {
		t.Errorf("the narrowed Spec is not valid: %v\n%s", problems, s.JSON())
	}
}

// TestAlgebra draws Specs and sets of policies: the result lies within all, a second decision changes nothing, and the
// order changes neither verdict nor Spec.
func TestAlgebra(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	refused := 0
	const rounds = 400
	for range rounds {
		ps := []*Policy{drawPolicy(t, r), drawPolicy(t, r), drawPolicy(t, r)}
		s := drawSpec(r)
		before := string(s.JSON())
		first := &job.Job{Spec: s}
		DecideAll(first, ps...)
		if string(s.JSON()) != before && s.Check() == nil {
			t.Fatal("what the caller still holds was changed")
		}
		r.Shuffle(len(ps), func(i, j int) { ps[i], ps[j] = ps[j], ps[i] })
		other := &job.Job{Spec: s}
		DecideAll(other, ps...)
		if (first.Verdict.Refusal == nil) != (other.Verdict.Refusal == nil) {
			t.Fatalf("the order counts: %v, %v\n%s", first.Verdict.Refusal, other.Verdict.Refusal, s.JSON())
		}
		if first.Verdict.Refusal != nil {
			refused++
			if string(first.Spec.JSON()) != before {
				t.Fatal("a refused Spec was changed")
			}
			continue
		}
		if a, b := string(first.Spec.JSON()), string(other.Spec.JSON()); a != b {
			t.Fatalf("the order counts:\n%s\n%s", a, b)
		}
		notWider(t, &s, &first.Spec)
		for _, p := range ps {
			within(t, p, &first.Spec)
			again := &job.Job{Spec: first.Spec}
			if p.Decide(again); again.Verdict.Refusal != nil || len(again.Verdict.Narrowed) > 0 ||
				string(again.Spec.JSON()) != string(first.Spec.JSON()) {
				t.Fatalf("a second decision: %v %v\n%s\n%s", again.Verdict.Refusal, again.Verdict.Narrowed, first.Spec.JSON(),
					again.Spec.JSON())
			}
		}
		if slices.ContainsFunc(ps, func(p *Policy) bool { return p.Limits.Refuse != nil }) {
			continue // what refuses must see what was asked for: DecideAll's comment
		}
		one := &job.Job{Spec: s}
		for _, p := range ps {
			p.Decide(one)
		}
		if one.Verdict.Refusal != nil || string(one.Spec.JSON()) != string(first.Spec.JSON()) {
			t.Fatalf("one after the other: %v\n%s\n%s", one.Verdict.Refusal, one.Spec.JSON(), first.Spec.JSON())
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	if refused < rounds/10 || refused > rounds*9/10 {
		t.Errorf("%d of %d were refused: the drawing says too little", refused, rounds)
	}
}

// notWider fails if a narrowed Spec allows more than it did.
func notWider(t testing.TB, before, after *nsjail.Spec) {
	t.Helper()
	for _, c := range (&Policy{}).limits().ceilings() {
		had, _ := limitOf(before, c.Name)
		if has, _ := limitOf(after, c.Name); has > had {
			t.Errorf("%s went from %d to %d\n%s%s", c.Name, had, has, before.JSON(), after.JSON())
		}
	}
	for name, r := range before.Limits.Rlimits {
		now, still := after.Limits.Rlimits[name]
		switch {
		case still && unlimited(now.Hard) > unlimited(r.Hard), !still && name != "cpu" && name != "nproc", !still &&
			name == "cpu" && int64(after.Limits.CPUTime) > r.Hard*1e9 && r.Hard >= 0:
			t.Errorf("%s went from %v to %v\n%s%s", name, r, now, before.JSON(), after.JSON())
		}
	}
	for _, name := range after.Optional {
		if !slices.Contains(before.Optional, name) {
			t.Error("optional now:", name)
		}
	}
	for _, name := range before.Require {
		if !slices.Contains(after.Require, name) {
			t.Error("not required now:", name)
		}
	}
	if !slices.Equal(before.Args, after.Args) || !slices.Equal(before.Env, after.Env) || before.Net != after.Net ||
		before.Seccomp != after.Seccomp || len(before.Mounts) != len(after.Mounts) {
		t.Errorf("another run:\n%s%s", before.JSON(), after.JSON())
	}
}

func drawPolicy(t testing.TB, r *rand.Rand) *Policy {
	var limits []string
	for name, values := range map[string][]string{"wall": {`"1s"`, `"2h"`}, "cpu_time": {"1", "100"},
		"memory": {`"1m"`, `"2g"`}, "cpus": {"0.25", "3"}, "processes": {"3", "5000"}, "output": {"100", `"1g"`},
		"output_limit": {"1000"}, "tmpfs": {`"1m"`, `"1g"`}, "tmpfs_inodes": {"7"}, "file_size": {`"1m"`},
		"open_files": {"50", "9999"}, "idle": {"1"}, "grace": {"1", "100"}} {
		if r.IntN(2) == 0 {
			limits = append(limits, fmt.Sprintf("%q:%s", name, values[r.IntN(len(values))]))
		}
	}
	slices.Sort(limits)
	if r.IntN(4) == 0 {
		limits = append(limits, `"refuse":["`+[]string{"wall", "memory", "output"}[r.IntN(3)]+`"]`)
	}
	extra := []string{"", `,"require":["seccomp","user"]`, `,"require":["sockets","pid"]`, `,"optional":["memory"]`,
		`,"environment":{"set":["A*"]}`, `,"seccomp":["strict"]`,
		`,"network":{"modes":["loopback","egress"],"egress":{"allow":["*.example.com"],"deny":["x.example.com"],"max_connections":5}}`}[r.IntN(7)]
	return parsed(t, fmt.Sprintf(`{"extends":"any","name":"p%d","limits":{%s}%s}`, r.IntN(1000), strings.Join(limits, ","),
		extra))
}

func drawSpec(r *rand.Rand) nsjail.Spec {
	pick := func(v ...int64) int64 { return v[r.IntN(len(v))] }
	s := nsjail.Spec{Args: []string{"id"}}
	l := &s.Limits
	l.Wall, l.Idle, l.Grace, l.CPUTime = nsjail.Duration(pick(0, -1, 5e8, 1e15)), nsjail.Duration(pick(0, 1, 1e15)),
		nsjail.Duration(pick(0, 5, 1e15)), nsjail.Duration(pick(0, 1e9, 1e12))
	l.Processes, l.Output, l.OutputLimit = pick(0, -1, 2, 100), nsjail.Bytes(pick(0, 50, 1<<40)),
		nsjail.Bytes(pick(0, 50, 1<<40))
	l.Memory = nsjail.Bytes(pick(0, 1<<19, 1<<40))
	if l.Memory > 0 {
		l.MemorySwap = nsjail.Bytes(pick(0, -1, int64(l.Memory), int64(l.Memory)*2))
		l.MemoryHigh = nsjail.Bytes(pick(0, int64(l.Memory)))
	}
	if l.CPUs = []float64{0, 0.1, 2.7, 64}[r.IntN(4)]; l.CPUs > 0 {
		l.CPUPeriod = nsjail.Duration(pick(0, 2e7, 1e9))
	}
	if r.IntN(3) == 0 {
		l.Rlimits = map[string]spec.Rlimit{"nofile": {Soft: 10, Hard: pick(10, 100000, -1)},
			"fsize": {Soft: pick(5, 1<<30), Hard: -1}}
	}
	if l.CPUTime == 0 && r.IntN(2) == 0 {
		l.Rlimits = map[string]spec.Rlimit{"cpu": {Soft: 1, Hard: pick(1, 50, -1)},
			"nproc": {Soft: 2, Hard: pick(2, 1<<20)}}
		l.Processes = 0
	}
	if r.IntN(3) == 0 {
		s.Mounts = []nsjail.Mount{{Type: nsjail.MountTmpfs, Target: "/work", Size: nsjail.Bytes(pick(0, 5, 1<<40)),
			Inodes: pick(0, 5, 1<<40)}, {Type: nsjail.MountData, Target: "/input/x", Content: "y"}}
	}
	if r.IntN(8) == 0 {
		s.Env = []string{[]string{"A=1", "B=1", "LD_PRELOAD=x"}[r.IntN(3)]}
	}
	if r.IntN(6) == 0 {
		s.Seccomp = []string{"default", "strict"}[r.IntN(2)]
	}
	if r.IntN(4) == 0 {
		s.Optional = []string{"overlay", "memory"}
	}
	if r.IntN(3) == 0 {
		rule, err := egress.ParseRule([]string{"a.example.com:443", "b.org:443"}[r.IntN(2)])
		if err == nil {
			s.Net, s.Egress = nsjail.NetEgress, &egress.Policy{Allow: []egress.Rule{rule}}
		}
	}
	return s
}

// FuzzDecide holds every Spec that is let through against the policy.
func FuzzDecide(f *testing.F) {
	f.Add([]byte(`{"args":["ls"],"limits":{"wall":-1}}`))
	f.Add([]byte(`{"args":["/bin/../usr/bin/ls"],"mounts":[{"type":"tmpfs","target":"/work"}],"net":"egress","egress":{"allow":["a.example.com"]}}`))
	f.Add([]byte(`{"args":["cat"],"env":["LC_ALL=C"],"limits":{"cpus":0.5,"rlimits":{"fsize":{"soft":1,"hard":-1}}},"optional":["memory"]}`))
	p, err := Parse([]byte(`{"extends":"minimal","network":{"modes":["egress"],"egress":{"allow":["*.example.com"]}}}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := spec.ParseSpec(data)
		if err != nil {
			return
		}
		j := &job.Job{Spec: *s}
		if p.Decide(j); j.Verdict.Refusal != nil {
			return
		}
		within(t, p, &j.Spec)
		if j.Spec.CgroupParent != "" || j.Spec.Rootfs.Path != "" || j.Spec.TTY || j.Spec.Seccomp != "" &&
			j.Spec.Seccomp != "default" || j.Spec.Net == nsjail.NetHost {
			t.Errorf("allowed: %s", j.Spec.JSON())
		}
	})
}
