package wish

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"brig/internal/words"
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
		list := strings.Split(line, "\n")
		for _, name := range []string{"run", "explain", "spec"} {
			w, help, err := Parse(name, nil, list, files(map[string]string{"f": line}))
			var lines []string
			switch {
			case err != nil:
				lines = strings.Split(err.Error(), "\n")
			case !help:
				lines = w.Problems(words.Neutral)
			}
			for _, l := range lines {
				if l == "" || !safe(l) {
					t.Fatalf("%q: not one safe line: %q", list, l)
				}
			}
		}
	})
}

// envFile has a sheet read a file of variables.
func envFile(data string) (*sheet, error) {
	d := NewDraft("run", func(string, int) ([]byte, error) { return []byte(data), nil })
	d.sheet.flag = "--env-file"
	return &d.sheet, d.sheet.setEnvFile([]string{"f"})
}

func FuzzEnvFile(f *testing.F) {
	f.Add("A=b\r\n# c\n\n  B=\" c \"\nPASS\n")
	f.Add("\ufeffA=b\n=x")
	f.Fuzz(func(t *testing.T, data string) {
		s, err := envFile(data)
		if err != nil {
			if !safe(err.Error()) {
				t.Fatalf("not one safe line: %q", err)
			}
			return
		}
		for _, text := range slices.Concat(s.spec.Env, s.spec.PassEnv) {
			if text == "" || strings.ContainsAny(text, "\n\x00") || !strings.Contains(data, text) {
				t.Fatalf("%q of %q", text, data)
			}
		}
	})
}

func TestEnvFile(t *testing.T) {
	s, err := envFile("\ufeffA=b\r\n# c\n\n  B=\" c \" \nPASS\nRAW=\xff")
	if err != nil || !slices.Equal(s.spec.Env, []string{"A=b", "B=\" c \" ", "RAW=\xff"}) || !slices.Equal(s.spec.PassEnv, []string{"PASS"}) {
		t.Errorf("%q, %q, %v", s.spec.Env, s.spec.PassEnv, err)
	}
	for path, line := range map[string]string{"env[0]": "1", "env[1]": "4", "pass_env[0]": "5", "env[2]": "6"} {
		if got := s.from.Of(path); got != `--env-file "f": line `+line {
			t.Errorf("%s is of %s", path, got)
		}
	}
	for in, want := range map[string]string{
		"A=b\n=x":    `line 2: "=x" has no name; write NAME=VALUE`,
		"A =b":       `line 1: there is a blank in the name "A "; write NAME=VALUE without blanks around the =`,
		"A=\x00":     `line 1: there is a NUL byte, which no variable can hold; remove it`,
		"\n\nLC_*":   `line 3: "LC_*" is a pattern; use --pass-env`,
		"export A=b": `line 1: there is a blank in the name "export A"; write NAME=VALUE without blanks around the =`,
	} {
		s, err := envFile(in)
		if want = `--env-file "f": ` + want; err == nil || s.flag+": "+err.Error() != want {
			t.Errorf("%q: %s: %v, want %s", in, s.flag, err, want)
		}
	}
}
