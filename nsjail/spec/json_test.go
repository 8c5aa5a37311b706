package spec

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestParseSpecErrorsNameThePlace(t *testing.T) {
	for in, want := range map[string]string{
		``:                             `line 1 column 1: the JSON ends too early; close every string, list and object`,
		`{"args":["id"]`:               `line 1 column 15: the JSON ends too early...`,
		`{"args":["id"]} x`:            `line 1 column 17: there is data after the closing brace; remove it`,
		`{"args":["id"]}{}`:            `line 1 column 17: there is data after...`,
		`[]`:                           `the spec: it is a list; write an object`,
		`null`:                         `the spec: it is null; write an object`,
		`{"args":null}`:                `args: it is null; write a list of strings`,
		`{"args":"id"}`:                `args: it is "id"; write a list of strings`,
		`{"args":["a",1]}`:             `args[1]: it is the number 1; write a string`,
		`{"Args":["a"]}`:               `the spec: "Args" is not a key here; did you mean args?`,
		`{"mount":[]}`:                 `the spec: "mount" is not a key here; did you mean mounts?`,
		`{"mounts":[{},{"sorce":1}]}`:  `mounts[1]: "sorce" is not a key here; did you mean source?`,
		`{"limits":{"xyzzy":1}}`:       `limits: "xyzzy" is not a key here; write one of wall, idle, grace,...`,
		`{"args":[],"args":[]}`:        `args: the key is there twice; remove one`,
		`{"tty":1}`:                    `tty: it is the number 1; write true or false`,
		`{"limits":{"processes":1.5}}`: `limits.processes: it is the number 1.5; write a whole number of at most 63 bits`,
		`{"limits":{"processes":"5"}}`: `limits.processes: it is "5"; write a whole number`,
		`{"limits":{"wall":"1x"}}`:     `limits.wall: "1x" is not a duration...`,
		`{"limits":{"wall":true}}`:     `limits.wall: it is true; write a duration, as in "30s"`,
		`{"limits":{"output":"64q"}}`:  `limits.output: "64q" is not a size...`,
		`{"limits":{"output":[]}}`:     `limits.output: it is a list; write a size, as in "64m"`,
		`{"limits":{"cpus":"1"}}`:      `limits.cpus: it is "1"; write a number`,
		`{"limits":{"cpus":1e999}}`:    `limits.cpus: it is the number 1e999; write a smaller number`,
		`{"limits":{"rlimits":{"nofile":{"soft":1,"hrd":2}}}}`: `limits.rlimits.nofile: "hrd" is not a key here; did you mean hard?`,
		`{"limits":{"rlimits":{"no\u001bfile":{}}}}`:           `limits.rlimits: "no\x1bfile" is not a resource of getrlimit(2); did you mean nofile?`,
		`{"limits":{"cpu_weight":9223372036854775808}}`:        `limits.cpu_weight: it is the number 9223372036854775808; write a whole number of at most 63 bits`,
		`{"limits":{"memory":"9223372036854775808"}}`:          `limits.memory: size "9223372036854775808" is too large; write at most 8191p`,
		`{"limits":{"memory":-1}}`:                             `limits.memory: "-1" is not a size...`,
		`{"limits":{"memory_swap":-2}}`:                        `limits.memory_swap: "-2" is not a size...`,
		`{"limits":{"memory_swap":true}}`:                      `limits.memory_swap: it is true; write a size, as in "64m", or -1`,
		`{"limits":{"io":[{"path":"/d","read_bp":1}]}}`:        `limits.io[0]: "read_bp" is not a key here; did you mean read_bps?`,
		`{"limits":{"io":{}}}`:                                 `limits.io: it is an object; write a list of objects`,
		`{"limits":{"hugetlb":{"2M":1}}}`:                      `limits.hugetlb: "2M" is not a size of huge pages; write it as the kernel does, as in 64KB, 2MB or 1GB`,
		`{"limits":{"hugetlb":{"2MB":1,"2MB":1}}}`:             `limits.hugetlb: "2MB" is there twice; remove one`,
		`{"limits":{"cgroup":{"cpu.max":1}}}`:                  `limits.cgroup: it is an object; write a list of strings`,
		`{"cgroup_parent":7}`:                                  `cgroup_parent: it is the number 7; write a string`,
		`{"limits":{"rlimits":{"core":{},"core":{}}}}`:         `limits.rlimits: "core" is there twice; remove one`,
		"{\n \"args\": [\n oops ]}":                            `line 3 column 2: args[0] is not JSON: invalid character 'o'...`,
		`{"args":["\ud800"]}`:                                  `args[0]: it has half of a surrogate pair; write the character itself`,
		"{\"args\":[\"\xe9\"]}":                                `the spec is not UTF-8; write it in UTF-8`,
		strings.Repeat(" ", MaxSpecSize+1):                     `the spec is larger than 4194304 bytes; shorten it`,
	} {
		_, err := ParseSpec([]byte(in))
		prefix, cut := strings.CutSuffix(want, "...")
		if err == nil || err.Error() != want && !(cut && strings.HasPrefix(err.Error(), prefix)) {
			t.Errorf("%.60s\n got %v\nwant %s", in, err, want)
		}
	}
}

func TestSpecJSONRoundTrip(t *testing.T) {
	s := good()
	s.Args, s.Env, s.Mounts[6].Source = []string{"a<b>&", "é"}, []string{"A=b"}, "f"
	s.Limits.Wall, s.TTY, s.NoInit, s.Limits.IO[1].Path = DefaultWall, true, true, "d"
	back, err := ParseSpec(s.JSON())
	if err != nil || !reflect.DeepEqual(s, back) {
		t.Fatalf("%v\n%s\n%+v", err, s.JSON(), back)
	}
	if !bytes.Contains(s.JSON(), []byte("a<b>&")) {
		t.Error("the JSON is escaped for HTML")
	}
	if _, err := ParseSpec((&Spec{}).JSON()); err != nil {
		t.Error("the zero Spec does not come back:", err)
	}
}

func TestDigest(t *testing.T) {
	id := &Spec{Args: []string{"id"}}
	const want = "sha256:6d825522f617ad3b2d4b6304ad8e41aca1ef8e788f3d19183c1289027ab80410" // sha256sum of {"args":["id"]}
	if got := id.Digest(); got != want {
		t.Errorf("digest %s", got)
	}
	seen := map[string]string{}
	for _, a := range []string{"\xe9", "\xe8", "\ufffd", "e"} { // JSON writes the first three alike
		d := (&Spec{Args: []string{"id", a}}).Digest()
		if seen[d] != "" {
			t.Errorf("%q and %q share a digest", a, seen[d])
		}
		seen[d] = a
	}
	raw := func(path, parent string) *Spec {
		return &Spec{Limits: Limits{IO: []IOLimit{{Path: path}}}, CgroupParent: parent}
	}
	if raw("\xe9", "").Digest() == raw("\xe8", "").Digest() || raw("", "\xe9").Digest() == raw("", "\xe8").Digest() {
		t.Error("paths that JSON writes alike share a digest")
	}
	if p := (&Spec{Args: []string{"id", "\xe9"}}).NotUTF8(); len(p) != 1 || p[0].Path != "args[1]" {
		t.Error(p)
	}
	if (&Spec{Limits: Limits{CPUs: math.NaN()}}).JSON() != nil {
		t.Error("a Spec that JSON cannot carry has JSON")
	}
}

// printable reports whether a line can go to a terminal or a log.
func printable(line string) bool {
	return utf8.ValidString(line) && !strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) })
}

func FuzzParseSpec(f *testing.F) {
	f.Add(good().JSON())
	f.Add([]byte(`{"args":["id"],"limits":{"wall":30,"rlimits":{"core":{"soft":0,"hard":0}}}}`))
	f.Add([]byte(`{"args":["id"],"limits":{"idle":"1s","grace":1,"output_limit":"1m","memory":"64m","memory_high":1,"memory_swap":-1,"memory_low":1,` +
		`"memory_min":1,"no_oom_group":true,"cpus":0.5,"cpu_period":0.05,"cpu_burst":"1ms","cpu_weight":1,"cpuset":"0","cpuset_mems":"0-1",` +
		`"io":[{"path":"/","read_bps":"1m","write_bps":1,"read_iops":1,"write_iops":2}],"io_weight":5,"hugetlb":{"2MB":0},"cgroup":["a.b=c"]},` +
		`"cgroup_parent":"/a","require":["memory"],"optional":["io"]}`))
	f.Add([]byte(`{"args":["\ud83d\ude00"],"mounts":[{"type":"tmpfs","target":"/t","size":"64m"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSpec(data)
		if err != nil {
			if !printable(err.Error()) {
				t.Fatalf("not one safe line: %q", err)
			}
			return
		}
		if !json.Valid(data) {
			t.Fatal("accepted what is not JSON")
		}
		for _, p := range s.Check() {
			if line := p.Error(); p.Fix == "" || !printable(line) {
				t.Fatalf("not one safe line with a fix: %q", line)
			}
		}
		first := s.JSON()
		again, err := ParseSpec(first)
		if err != nil {
			t.Fatalf("its own JSON: %v\n%s", err, first)
		}
		if !bytes.Equal(first, again.JSON()) || s.Digest() != again.Digest() {
			t.Fatalf("not canonical:\n%s\n%s", first, again.JSON())
		}
	})
}
