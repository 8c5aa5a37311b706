package nsjail

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"brig/cmd/brig/internal/convert"
)

// defaults are what follows from a file without fields.
const defaults = "--bare-env; --hostname NSJAIL; --workdir /; --timeout 600; --ulimit as=4294967296; --ulimit cpu=600; --ulimit fsize=1048576; " +
	"--ulimit nofile=32"

const bound = `mount { src: "/usr" dst: "/usr" is_bind: true } `

func show(j *convert.Jail) string {
	var list []string
	for _, s := range j.Steps {
		if s.Mount != nil {
			list = append(list, fmt.Sprintf("%s %s%s %s writable=%v noexec=%v", s.Mount.Type, s.Mount.Source, s.Mount.Content, s.Mount.Target,
				s.Mount.Writable, s.Mount.NoExec))
			continue
		}
		list = append(list, strings.TrimSpace("--"+s.Flag+" "+strings.Join(s.Values, " ")))
	}
	for _, n := range j.Notes {
		list = append(list, n.Of+" "+string(n.Effect))
	}
	return strings.Join(list, "; ")
}

// TestFields compares what a file adds to the defaults.
func TestFields(t *testing.T) {
	t.Setenv("HERE", "/etc")
	for file, want := range map[string]string{
		"": "",
		`name: "x" mode: ONCE daemon: false clone_newuser: true cap: "A" keep_caps: true` + "# c\n": "cap missing; keep_caps missing",
		`mode: LISTEN port: 31337 nice_level: 5 oom_score_adj: -5 seccomp_string: "x" seccomp_string: "y"`: "mode missing; port ignored; nice_level weaker; " +
			"oom_score_adj missing; seccomp_string weaker",
		`envar: "A=b" envar: "C", keep_env: true; max_cpus: 2`:                                                              "--env A=b; --env C; --pass-env *; --cpus 2; keep_env missing",
		`cgroup_mem_max: 1048576 cgroup_pids_max: 0 cgroup_cpu_ms_per_sec: 500`:                                             "--memory 1048576; --cpus 0.5",
		`cgroup_mem_parent: "G" cgroup_net_cls_classid: 0x10 clone_newnet: false`:                                           "--cgroup-parent /G; --cgroup net_cls.classid=0x10; --net host",
		`iface_no_lo: true uidmap { inside_id: "0" count: 1 } gidmap < inside_id: "5" >`:                                    "--net none; --user 0:5",
		`uidmap { inside_id: "7" outside_id: "8" } uidmap { inside_id: "9" count: 10 }`:                                     "--user 7:7; uidmap ignored; uidmap missing",
		`user_net { nat: true rule4 { a: [1, 2] } } traffic_rule {}`:                                                        "user_net missing; traffic_rule missing",
		`mount [{ src: "/a" dst: "/b" is_bind: true rw: true noexec: true }]`:                                               "bind /a /b writable=true noexec=true",
		`mount { dst: "/t" fstype: "tmpfs" options: "size=1m,nr_inodes=5" noexec: true rw: true }`:                          "--tmpfs /t:size=1m,nr_inodes=5,noexec",
		`mount { dst: "/t" fstype: "tmpfs" } mount { dst: "/proc" fstype: "proc" }`:                                         "--tmpfs /t; mount /t weaker",
		`mount { src_content: "a\x41\n" "b" dst: "/f" } mount { src: "x" dst: "/l" is_symlink: true }`:                      "data aA\nb /f writable=false noexec=false; symlink x /l writable=false noexec=false",
		`mount { prefix_src_env: "HERE" src: "/x" dst: "/h" is_bind: true mandatory: false }`:                               "",
		`mount { prefix_src_env: "HERE" dst: "/h" is_bind: true mandatory: false }`:                                         "bind /etc /h writable=false noexec=false",
		`mount { src: "/dev/null" dst: "/dev/null" is_bind: true } mount { src: "/dev/kvm" dst: "/dev/kvm" is_bind: true }`: "mount /dev/kvm missing",
		`mount { src: "/srv" dst: "/" is_bind: true rw: true } mount { fstype: "ext4" dst: "/x" }`:                          "--rootfs /srv; --rootfs-writable; mount /x missing; mount / missing",
		`mount_proc: false`: "mount_proc weaker",
		`mount_proc: 1`:     "",
		`mount_proc: false mount { dst: "/proc" fstype: "proc" }`: "",
		`mount { src: "/" dst: "/" is_bind: true } `:              "--rootfs /",
	} {
		j, err := Convert(bound+file, []string{"id"})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		list := slices.DeleteFunc(strings.Split(show(j), "; "), func(s string) bool { return strings.Contains(defaults, s) })
		if got := strings.Join(list, "; "); got != want {
			t.Errorf("%s:\n got %s\nwant %s", file, got, want)
		}
	}
}

func TestDefaults(t *testing.T) {
	for file, want := range map[string]string{
		`exec_bin { path: "/bin/id" arg: "-u" arg0: "x" }`:                                          defaults + "; exec_bin.arg0 missing; the root weaker",
		bound + `disable_rl: true hostname: 'H"' "I" cwd: "a" time_limit: 0 exec_bin { path: "x" }`: `--bare-env; --hostname H"I; --workdir /a; --timeout 0`,
		bound + `rlimit_as: 1 rlimit_core: 2 rlimit_cpu_type: SOFT rlimit_fsize_type: INF rlimit_nproc: 5 rlimit_nproc_type: VALUE
			rlimit_memlock: 64 rlimit_memlock_type: VALUE exec_bin { path: "x" }`: "--bare-env; --hostname NSJAIL; --workdir /; --timeout 600; " +
			"--ulimit as=1048576; --ulimit core=2097152; --ulimit fsize=unlimited; --ulimit nofile=32; --pids-limit 5; --ulimit memlock=65536",
	} {
		if j, err := Convert(file, nil); err != nil || show(j) != want {
			t.Errorf("%s: %v\n got %s\nwant %s", file, err, show(j), want)
		}
	}
}

// TestEveryField: each field of nsjail's config.proto is in the table, and no other.
func TestEveryField(t *testing.T) {
	names, err := os.ReadFile("testdata/fields.txt") // of NsJailConfig
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, w := range convert.Words(table) {
		have = append(have, w.Name)
	}
	slices.Sort(have)
	if want := strings.Fields(string(names)); !slices.Equal(have, want) {
		t.Errorf("the table has %q, config.proto has %q", have, want)
	}
}

func TestRefused(t *testing.T) {
	for file, want := range map[string]string{
		"":                       "there is no command; write exec_bin, or the command after --",
		"\xff":                   "it is not UTF-8; write it in UTF-8",
		"hostnme: \"x\"":         `line 1: "hostnme": it is not a field of nsjail; did you mean hostname?`,
		"\ncwd \"x\"":            `line 2: "cwd" has no value; write cwd: and a value`,
		"cwd:":                   `line 1: "cwd" has no value; write one`,
		"= 5":                    `line 1: "=" is no name of a field; correct it`,
		"keep_env: maybe":        `line 1: "keep_env": "maybe" is neither true nor false; write one of them`,
		"max_cpus: many":         `line 1: "max_cpus": "many" is not a number; write digits`,
		"mount { dst: \"/x\"":    `line 1: "" is no name of a field; correct it`,
		"envar: [\"a\" \"b\" c]": `line 1: a list is not closed; write a ]`,
		"cwd: \"\\q\"":           `line 1: invalid char escape; correct it`,
		"cwd: \"x":               `line 1: literal not terminated; correct it`,
		"mount { type: 1 }":      `line 1: "type": it is not a field of a mount; write src, dst, is_bind, rw or fstype`,
		"mount { rw: 7 }":        `line 1: "rw": "7" is neither true nor false; write one of them`,
		"rlimit_as: 9999999999999 exec_bin { path: \"x\" }": `line 1: "rlimit_as": 9999999999999 is not a limit; write less`,
		strings.Repeat("a{", 20):                            "line 1: messages are nested more than 16 deep; nest them less",
	} {
		if _, err := Convert(file, nil); err == nil || err.Error() != want {
			t.Errorf("%q: %v; want %s", file, err, want)
		}
	}
}

// FuzzConvert: whatever the file is, the answer is a jail with a command, or one line of error.
func FuzzConvert(f *testing.F) {
	f.Add(`exec_bin { path: "x" arg: ['a' "b", c] } mount <src: "/": dst: '\'' options: "size=,a" fstype: "tmpfs">`)
	f.Add("A: '")
	f.Add("rlimit_as: -1 uidmap { count: 2 } # \x00\nmode: [ONCE, 1.5, -inf];; user_net{}")
	f.Fuzz(func(t *testing.T, text string) {
		j, err := Convert(text, nil)
		if err == nil && len(j.Args) == 0 || err != nil && (len(err.Error()) > 4000 || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q: %+v, %v", text, j, err)
		}
	})
}
