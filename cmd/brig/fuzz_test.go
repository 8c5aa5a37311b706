package main

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// safe reports whether a line can go to a terminal or a log: one line of printable text.
func safe(line string) bool {
	return utf8.ValidString(line) && !strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) })
}

func FuzzParse(f *testing.F) {
	f.Add("--input a:/b\n--\nid")
	f.Add("--bind\na\n/b\n--tmpfs\n/t:size=1m,mode=700\n-eA=b\n-w\n/x\nid\n-x")
	f.Add("--ulimit\nnofile=1:2\n--spec\nf\n--env-file\nf\n--require\na,b\n-1")
	f.Add("-e\x1b]0;x\a*")
	f.Add(strings.ReplaceAll(everyLimit, " ", "\n"))
	f.Add("--device-read-bps\na\x1b:1\n--hugetlb\n\x1b=1\n--cgroup\nx.\x1b=\x00\n--cgroup-parent\n/\xff\n--cpuset-cpus\n0-\nid")
	f.Add("--seccomp\n--rootfs-writable=1g\n--timeout=0\n--cpus\n1e9\n")
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, "\n")
		for _, name := range []string{"run", "explain", "spec"} {
			inv, help, err := parse(name, words, files(map[string]string{"f": line}))
			var lines []string
			switch {
			case err != nil:
				lines = strings.Split(err.Error(), "\n")
			case !help:
				lines = inv.problems()
			}
			for _, l := range lines {
				if l == "" || !safe(l) {
					t.Fatalf("%q: not one safe line: %q", words, l)
				}
			}
		}
	})
}

func FuzzEnvFile(f *testing.F) {
	f.Add("A=b\r\n# c\n\n  B=\" c \"\nPASS\n")
	f.Add("\ufeffA=b\n=x")
	f.Fuzz(func(t *testing.T, data string) {
		lines, err := parseEnvFile(data)
		if err != nil {
			if !safe(err.Error()) {
				t.Fatalf("not one safe line: %q", err)
			}
			return
		}
		for _, l := range lines {
			if l.number < 1 || l.text == "" || strings.ContainsAny(l.text, "\n\x00") || !strings.Contains(data, l.text) {
				t.Fatalf("line %+v of %q", l, data)
			}
		}
	})
}

func TestParseEnvFile(t *testing.T) {
	lines, err := parseEnvFile("\ufeffA=b\r\n# c\n\n  B=\" c \" \nPASS\nRAW=\xff")
	want := []envLine{{1, "A=b"}, {4, "B=\" c \" "}, {5, "PASS"}, {6, "RAW=\xff"}}
	if err != nil || len(lines) != len(want) {
		t.Fatal(lines, err)
	}
	for i := range want {
		if lines[i] != want[i] {
			t.Errorf("%+v, want %+v", lines[i], want[i])
		}
	}
	for in, want := range map[string]string{
		"A=b\n=x":    `line 2: "=x" has no name; write NAME=VALUE`,
		"A =b":       `line 1: there is a blank in the name "A "; write NAME=VALUE without blanks around the =`,
		"A=\x00":     `line 1: there is a NUL byte, which no variable can hold; remove it`,
		"\n\nLC_*":   `line 3: "LC_*" is a pattern; use --pass-env`,
		"export A=b": `line 1: there is a blank in the name "export A"; write NAME=VALUE without blanks around the =`,
	} {
		if _, err := parseEnvFile(in); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}
