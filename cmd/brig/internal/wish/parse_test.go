package wish

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// files is a ReadFunc over invented files.
func files(m map[string]string) ReadFunc {
	return func(name string, limit int) ([]byte, error) {
		data, ok := m[name]
		if !ok || len(data) > limit {
			return nil, errors.New("cannot read " + words.Quote(name))
		}
		return []byte(data), nil
	}
}

var noFiles = files(nil)

func TestParseMeans(t *testing.T) {
	bind := func(src, dst string, writable bool) nsjail.Mount {
		return nsjail.Mount{Type: nsjail.MountBind, Source: src, Target: dst, Writable: writable}
	}
	git := []string{spec.ProtectGit}
	for line, want := range map[string]nsjail.Spec{
		"id":                       {Args: []string{"id"}},
		"-- id --json":             {Args: []string{"id", "--json"}},
		"id -- x":                  {Args: []string{"id", "--", "x"}},
		"-":                        {Args: []string{"-"}},
		"-- --":                    {Args: []string{"--"}},
		"--input a id":             {Args: []string{"id"}, Mounts: []nsjail.Mount{bind("a", "/input", false)}},
		"--work=a:/b id":           {Args: []string{"id"}, Mounts: []nsjail.Mount{bind("a", "/b", true)}, Protect: git},
		"--output . id":            {Args: []string{"id"}, Mounts: []nsjail.Mount{bind(".", "/output", true)}, Protect: git},
		"--bind a:b /c id":         {Args: []string{"id"}, Mounts: []nsjail.Mount{bind("a:b", "/c", true)}, Protect: git},
		"--no-protect --work a id": {Args: []string{"id"}, Mounts: []nsjail.Mount{bind("a", "/work", true)}},
		"--protect .x/ --no-protect=.idea --work a id": {Args: []string{"id"}, Mounts: []nsjail.Mount{bind("a", "/work", true)},
			Protect: []string{".x", "!.idea", "@git"}},
		"--ro-bind a /c id":             {Args: []string{"id"}, Mounts: []nsjail.Mount{bind("a", "/c", false)}},
		"--symlink x /y id":             {Args: []string{"id"}, Mounts: []nsjail.Mount{{Type: nsjail.MountSymlink, Source: "x", Target: "/y"}}},
		"--file x /y id":                {Args: []string{"id"}, Mounts: []nsjail.Mount{{Type: nsjail.MountFile, Source: "x", Target: "/y"}}},
		"--dir /y id":                   {Args: []string{"id"}, Mounts: []nsjail.Mount{{Type: nsjail.MountDir, Target: "/y"}}},
		"--tmpfs /y id":                 {Args: []string{"id"}, Mounts: []nsjail.Mount{{Type: nsjail.MountTmpfs, Target: "/y"}}},
		"--rootfs r id":                 {Args: []string{"id"}, Rootfs: nsjail.Rootfs{Path: "r"}},
		"-e A=b=c -eD=e id":             {Args: []string{"id"}, Env: []string{"A=b=c", "D=e"}},
		"-e A --pass-env B*":            {PassEnv: []string{"A", "B*"}},
		"-w /x -u 0:0 -t":               {Workdir: "/x", User: "0:0", TTY: true},
		"-w=/x -u0":                     {Workdir: "/x", User: "0"},
		"--no-init":                     {NoInit: true},
		"-it --rm id":                   {Args: []string{"id"}, TTY: true},
		"-ti --rm -iw /x id -it":        {Args: []string{"id", "-it"}, TTY: true, Workdir: "/x"},
		"-i --interactive id":           {Args: []string{"id"}},
		"--timeout 0":                   {Limits: nsjail.Limits{Wall: -1e9}},
		"--timeout 90":                  {Limits: nsjail.Limits{Wall: 90e9}},
		"--pids-limit -1":               {Limits: nsjail.Limits{Processes: -1}},
		"--pids-limit=0":                {Limits: nsjail.Limits{Processes: -1}},
		"--max-output 8m":               {Limits: nsjail.Limits{Output: 8 << 20}},
		"--cpu-time 10s":                {Limits: nsjail.Limits{CPUTime: 10e9}},
		"--net none":                    {Net: nsjail.NetNone},
		"--seccomp ./p.json":            {Seccomp: "./p.json"},
		"--require a,b --require c":     {Require: []string{"a", "b", "c"}},
		"--memory 1g --optional memory": {Limits: nsjail.Limits{Memory: 1 << 30}, Optional: []string{"memory"}},
		"--memory-swap 1g --cpus .5 --cpuset-cpus 0": {Limits: nsjail.Limits{MemorySwap: 1 << 30, CPUs: 0.5, CPUSet: "0"}},
		"--rootfs r --rootfs-writable id":            {Args: []string{"id"}, Rootfs: nsjail.Rootfs{Path: "r", Writable: true}},
		"--rootfs r --rootfs-writable=1k id":         {Args: []string{"id"}, Rootfs: nsjail.Rootfs{Path: "r", Writable: true, Size: 1024}},
		"--rootfs r --rootfs-writable=1k,inodes=9,store=disk id": {Args: []string{"id"},
			Rootfs: nsjail.Rootfs{Path: "r", Writable: true, Size: 1024, Inodes: 9, Store: "disk"}},
		"--tmpfs /y:size=64m,inodes=10,mode=700": {Mounts: []nsjail.Mount{
			{Type: nsjail.MountTmpfs, Target: "/y", Size: 64 << 20, Inodes: 10, Mode: "700"}}},
		"--ulimit core=unlimited --ulimit nofile=1:2 --ulimit nice=-1:5": {Limits: nsjail.Limits{
			Rlimits: map[string]spec.Rlimit{"core": {Soft: -1, Hard: -1}, "nofile": {Soft: 1, Hard: 2}, "nice": {Soft: -1, Hard: 5}}}},
	} {
		w, help, err := Parse("run", nil, strings.Fields(line), noFiles)
		if err != nil || help {
			t.Errorf("%s: %v", line, err)
		} else if !reflect.DeepEqual(w.Spec, want) {
			t.Errorf("%s\n got %+v\nwant %+v", line, w.Spec, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"--uzer 1":                        `"--uzer" is not a flag; did you mean --user?`,
		"--Memory=1":                      `"--Memory" is not a flag; did you mean --memory?`,
		"--xyzzyplugh":                    `"--xyzzyplugh" is not a flag; --help lists them`,
		"-xy":                             `"-xy" is not a flag; the short ones are -e, -w, -u, -p, -t, -i, -m, -h`,
		"-t=x":                            `--tty: it takes no value; write --tty alone`,
		"--workdir -it":                   `--workdir: a value is missing before "-it"; write --workdir DIR`,
		"--tty=false":                     `--tty: it takes no value; write --tty alone`,
		"--workdir":                       `--workdir: a value is missing; write --workdir DIR`,
		"--workdir --user 0":              `--workdir: a value is missing before "--user"; write --workdir DIR`,
		"--workdir -- id":                 `--workdir: a value is missing before "--"; write --workdir DIR`,
		"--bind a":                        `--bind: a value is missing; write --bind SRC DST`,
		"--bind a -e":                     `--bind: a value is missing before "-e"; write --bind SRC DST`,
		"--bind=a /b":                     `--bind: it takes 2 words; write --bind SRC DST`,
		"--workdir /a --workdir /b":       `--workdir: it is given twice; keep one`,
		"--init --no-init":                `--no-init: it contradicts --init; keep one`,
		"--memory 64q":                    `--memory: "64q" is not a size; write a whole number with k, m, g or t, as in 64m`,
		"--memory 0":                      `--memory: a limit of 0 leaves no room; write a size, as in 512m, or leave it out`,
		"--cpus nan":                      `--cpus: "nan" is not a number of processors; write it as in 0.5 or 2`,
		"--timeout soon":                  `--timeout: "soon" is not a duration of at most 292 years; write it as in 500ms, 30s or 1h`,
		"--timeout -5s":                   `--timeout: "-5s" is negative; write 0 for no limit`,
		"--pids-limit many":               `--pids-limit: "many" is not a number of processes; write it as in 64, or 0 for no limit`,
		"--report-fd 0":                   `--report-fd: "0" is not a descriptor to write to; write it as in --report-fd 3 3>report.json`,
		"--report=":                       `--report: it is empty; write it as in report.json, or leave the flag out`,
		"--user=":                         `--user: it is empty; write it as in 1000:1000, or leave the flag out`,
		"--rootfs=":                       `--rootfs: it is empty; name a directory`,
		"--rootfs-writable=0":             `--rootfs-writable: size 0 holds nothing; write a size, as in --rootfs-writable=1g`,
		"--ulimit nofile":                 `--ulimit: "nofile" has no limit; write NAME=SOFT[:HARD], as in nofile=1024:2048`,
		"--ulimit nofil=1":                `--ulimit: "nofil" is not a resource of getrlimit(2); did you mean nofile?`,
		"--ulimit nofile=1k":              `--ulimit: "1k" is not a limit; write a whole number or unlimited`,
		"--ulimit core=1 --ulimit core=2": `--ulimit: core is given twice; keep one`,
		"--tmpfs /a:sice=1m":              `--tmpfs: "sice=1m" is not an option of a tmpfs; did you mean size=?`,
		"--tmpfs /a:exec":                 `--tmpfs: "exec" is not an option of a tmpfs; write size=, inodes= or mode=`,
		"--tmpfs /a:size=0":               `--tmpfs: size 0 holds nothing; write a size, as in size=64m`,
		"--tmpfs /a:inodes=x":             `--tmpfs: inodes "x" is not a number of files; write it as in inodes=1000`,
		"--input a:/b:ro":                 `--input: "a:/b:ro" has more than one colon; write --ro-bind SRC DST`,
		"--work a:/b:rw":                  `--work: "a:/b:rw" has more than one colon; write --bind SRC DST`,
		"-e =x":                           `--env: "=x" has no name; write NAME=VALUE`,
		"-e A*":                           `--env: "A*" is a pattern; write it after --pass-env`,
		"-e \x1b*":                        `--env: "\x1b*" is a pattern; write it after --pass-env`,
		"--spec nowhere":                  `--spec: cannot read "nowhere"`,
		"--env-file nowhere":              `--env-file: cannot read "nowhere"`,
	} {
		_, _, err := Parse("run", nil, strings.Fields(line), noFiles)
		if err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", line, err, want)
		}
	}
}

func TestProblemsSpeakOfFlags(t *testing.T) {
	read := files(map[string]string{
		"job":  `{"args":["id"],"mounts":[{"type":"bind","source":"a","target":"rel"}],"limits":{"processes":-5}}`,
		"base": `{"args":["old"],"mounts":[{"type":"bind","source":"a","target":"/work"}]}`,
		"vars": "A=b\n\n  C D=e",
		"ctrl": "# \nA\x01=b",
	})
	for line, want := range map[string]string{
		"":                                   `there is no command to run; write it after the flags, as in brig run -- id`,
		"--bind a b id":                      `--bind: "b" is not absolute; write "/b"`,
		"--user bob id":                      `--user: "bob" is not a number (user and group names are not looked up); write UID[:GID] in digits, as in "1000:1000"`,
		"--input a --work b --dir /input id": `--dir: "/input" is already the target of --input; remove one of the two`,
		"--dir /w/a --bind s /w id":          `--bind: "/w" would hide "/w/a" of --dir; put it before that one`,
		"-m 1k id":                           `--memory: 1k is less than the kernel's own needs for one process; write at least 128k`,
		"-m 1g --memory-swap 512m id":        `--memory-swap: 512m counts memory and swap together, and memory alone is 1g; write at least that, which means no swap`,
		"--device-read-bps a:1 --device-write-bps ./a:1 id": `--device-write-bps: "./a" is already that of --device-read-bps; put its rates together in one entry`,
		"--device-read-iops a:4294967296 id":                `--device-read-iops: 4294967296 is more than the 4294967295 that the kernel counts; leave it out for no limit`,
		"--hugetlb 2M=1g id":                                `--hugetlb: "2M" is not a size of huge pages; write it as the kernel does, as in 64KB, 2MB or 1GB`,
		"--cgroup a.b=c --cgroup tasks=1 id":                `--cgroup: "tasks" decides who is in the group and whether they run, which is brig's part; remove it`,
		"--cgroup-parent a id":                              `--cgroup-parent: "a" is not absolute; write "/a"`,
		"--require memory id":                               `--require: "memory" is required, and the spec does not set it; set it, or remove it here`,
		"--tty --grace 5s id":                               ``,
		"--grace 5s id":                                     ``,
		"--optional a,memroy id":                            `--optional: "a" is not a mechanism; write one of...` + "\n" + `--optional: "memroy" is not a mechanism; did you mean memory?`,
		"--ulimit core=2:1 id":                              `--ulimit core: the soft limit 2 is more than the hard limit 1; raise the hard limit or lower the soft one`,
		"--rootfs-writable id":                              `--rootfs-writable: there is no rootfs to write to; name a directory as its path`,
		"--pass-env [ id":                                   `--pass-env: "[" is not a pattern; close the [, or write \[ for a plain one`,
		"--spec job --user x":                               `--spec "job": mounts[0].target: "rel" is not absolute...` + "\n" + `--spec "job": limits.processes: -5 is...`,
		"--spec base --dir /work --dir /work":               `--dir: "/work" is already the target of --dir; remove one of the two`,
		"--spec base --work x":                              ``,
		"--env-file ctrl id":                                `--env-file "ctrl": line 2: "A\x01" is not a name: it has a blank or a control byte; remove that`,
		"--json --tty id":                                   `--json: stdout belongs to the terminal of --tty; write the report with --report FILE`,
	} {
		w, _, err := Parse("run", nil, strings.Fields(line), read)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		wants := strings.Split(want, "\n")
		got := w.Problems(words.Neutral)
		if line == "--spec job --user x" {
			got = append(got[:0:0], got[1:]...) // the user comes first
		}
		if want == "" {
			wants = nil
		}
		if !sameLines(got, wants) {
			t.Errorf("%s\n got %q\nwant %q", line, got, wants)
		}
	}
	if _, _, err := Parse("run", nil, strings.Fields("--env-file vars id"), read); err == nil ||
		err.Error() != `--env-file "vars": line 3: there is a blank in the name "C D"; write NAME=VALUE without blanks around the =` {
		t.Error(err)
	}
}

func sameLines(got, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		prefix, cut := strings.CutSuffix(want[i], "...")
		if got[i] != want[i] && !(cut && strings.HasPrefix(got[i], prefix)) {
			return false
		}
	}
	return true
}

func TestFlagsChangeTheSpecFile(t *testing.T) {
	read := files(map[string]string{"base": `{"args":["old"],"env":["A=1"],"user":"5","limits":{"wall":"5s"},
		"mounts":[{"type":"bind","source":"a","target":"/work"},{"type":"dir","target":"/d"}]}`})
	w, _, err := Parse("run", nil, strings.Fields("--work new -e B=2 --spec base --user 6 --dir /e -- new"), read)
	if err != nil {
		t.Fatal(err)
	}
	want := nsjail.Spec{Args: []string{"new"}, Env: []string{"A=1", "B=2"}, User: "6", Limits: nsjail.Limits{Wall: 5e9},
		Protect: []string{"@git"},
		Mounts:  []nsjail.Mount{{Type: "bind", Source: "new", Target: "/work", Writable: true}, {Type: "dir", Target: "/d"}, {Type: "dir", Target: "/e"}}}
	if !reflect.DeepEqual(w.Spec, want) {
		t.Errorf("\n got %+v\nwant %+v", w.Spec, want)
	}
}

func TestExplainSeccomp(t *testing.T) {
	for line, want := range map[string]struct {
		table bool
		name  string
	}{
		"--seccomp":                     {true, ""},
		"--seccomp -- id":               {true, ""},
		"--seccomp --net none":          {true, ""},
		"--seccomp ./p":                 {true, "./p"},
		"--seccomp ./p -- id":           {false, "./p"},
		"--seccomp=./p --seccomp -- id": {true, "./p"},
		"-- id":                         {false, ""},
	} {
		w, _, err := Parse("explain", nil, strings.Fields(line), noFiles)
		if err != nil || w.Tables.Seccomp != want.table || w.Spec.Seccomp != want.name || len(w.Problems(words.Neutral)) > 0 {
			t.Errorf("%s: %+v, %v", line, w, err)
		}
	}
	if _, _, err := Parse("run", nil, []string{"--seccomp"}, noFiles); err == nil {
		t.Error("run takes --seccomp without a value")
	}
}

// The flag table must be complete, since help and completion rest on it.
func TestFlagTable(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range NewDraft("explain", nil).Flags() {
		if f.Name == "" || f.Help == "" || f.Group == "" || f.Set == nil || seen[f.Name] || seen[string(f.Short)] {
			t.Errorf("--%s: incomplete or twice", f.Name)
		}
		if strings.ContainsAny(f.Help, "\\'\"") && !strings.Contains(f.Help, "'s") || strings.HasSuffix(f.Help, ".") {
			t.Errorf("--%s: help %q cannot be quoted plainly or ends in a full stop", f.Name, f.Help)
		}
		seen[f.Name] = true
		if f.Short != 0 {
			seen[string(f.Short)] = true
		}
	}
}
