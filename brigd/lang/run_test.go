package lang

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"brig/brigd/job"
	"brig/internal/test/long"
	"brig/nsjail"
)

// programs print their second argument and a line of stdin, and exit with 7.
var programs = map[string]string{
	"python":            "import sys\nprint('[' + sys.argv[2] + '][' + sys.stdin.readline().strip() + ']')\nsys.exit(7)\n",
	"bash":              "read line\necho \"[$2][$line]\"\nexit 7\n",
	"sh":                "read line\necho \"[$2][$line]\"\nexit 7\n",
	"perl":              "my $line = <STDIN>; chomp $line; print \"[$ARGV[1]][$line]\\n\"; exit 7;\n",
	"javascript":        "const s = require('fs').readFileSync(0, 'utf8').trim();\nconsole.log(`[${process.argv[3]}][${s}]`);\nprocess.exit(7);\n",
	"javascript-module": "import fs from 'fs';\nconst s = fs.readFileSync(0, 'utf8').trim();\nconsole.log(`[${process.argv[3]}][${s}]`);\nprocess.exit(7);\n",
	"c":                 "#include <stdio.h>\n#include <string.h>\nint main(int c, char **v) { char b[99]; fgets(b, 99, stdin); b[strcspn(b, \"\\n\")] = 0; printf(\"[%s][%s]\\n\", v[2], b); return 7; }\n",
	"c++":               "#include <iostream>\nint main(int, char **v) { std::string s; std::getline(std::cin, s); std::cout << \"[\" << v[2] << \"][\" << s << \"]\\n\"; return 7; }\n",
	"tcl":               "gets stdin line\nputs \"\\[[lindex $argv 1]\\]\\[$line\\]\"\nexit 7\n",
	"awk":               "BEGIN { a = ARGV[2]; ARGC = 1; getline; print \"[\" a \"][\" $0 \"]\"; exit 7 }\n",
	"ruby":              "line = STDIN.gets.strip\nputs \"[#{ARGV[1]}][#{line}]\"\nexit 7\n",
	"lua":               "print('[' .. arg[2] .. '][' .. io.read() .. ']')\nos.exit(7)\n",
	"php":               "<?php echo '[', $argv[2], '][', trim(fgets(STDIN)), \"]\\n\"; exit(7);\n",
	"r":                 "a <- commandArgs(TRUE); l <- readLines('stdin', 1); cat('[', a[2], '][', l, ']\\n', sep = ''); quit(status = 7)\n",
	"java":              "public class Main { public static void main(String[] a) { System.out.println(\"[\" + a[1] + \"][\" + new java.util.Scanner(System.in).nextLine() + \"]\"); System.exit(7); } }\n",
}

func TestArgsStdinExitCode(t *testing.T) {
	long.Again(t)
	l := Find()
	const odd = `-n "q' $(id) ` + "`id`" + ` \ ; *` + "\n\xff é"
	for _, info := range l.List() {
		code, ok := programs[info.Name]
		if !ok {
			if info.Name != "go" { // see TestGo
				t.Errorf("no test for %s", info.Name)
			}
			continue
		}
		t.Run(info.Name, func(t *testing.T) {
			need(t, l, info.Name)
			t.Parallel()
			want := odd
			switch info.Name {
			case "javascript", "javascript-module":
				want = strings.Replace(odd, "\xff", "\uFFFD", 1) // its strings are UTF-16
			case "java", "tcl", "python", "r":
				want = strings.Replace(odd, "\xff", "", 1)
			}
			arg := odd
			if !strings.Contains(want, "\xff") && !strings.Contains(want, "\uFFFD") {
				arg = want
			}
			got := story{code: code, stdin: "what comes in\n", args: []string{"--help", arg}}.run(t, l, info.Name)
			if got.messages != "" && got.messages == (story{code: l.names[info.Name].probe}).run(t, l, info.Name).messages {
				got.messages = "" // this machine's says that whatever it runs
			}
			if got.out != "["+want+"][what comes in]\n" || got.ExitCode != 7 || got.messages != "" {
				t.Errorf("%q %q, exit code %d", got.out, got.messages, got.ExitCode)
			}
		})
	}
}

func TestErrorPositions(t *testing.T) {
	long.Again(t)
	l := Find()
	for _, c := range []struct {
		language, code string
		want           []string
	}{
		{"python", "x = 1\n\ndef f():\n    return x / 0  # here\nf()\n",
			[]string{`File "/run/brig/main.py", line 4, in f`, "return x / 0  # here"}},
		{"python", "x = 1\nif x\n", []string{`File "/run/brig/main.py", line 2`, "if x", "SyntaxError"}},
		{"bash", "true\n\nno_such_command\n", []string{"/run/brig/main.sh: line 3: no_such_command: "}},
		{"sh", "true\nno_such_command\n", []string{"/run/brig/main.sh: 2: no_such_command: "}},
		{"perl", "my $x = 1;\n\ndie 'gone';\n", []string{"gone at /run/brig/main.pl line 3."}},
		{"javascript", "let x = 1\n\nnull.x\n",
			[]string{"/run/brig/main.js:3", "null.x", "at Object.<anonymous> (/run/brig/main.js:3:6)"}},
		{"javascript-module", "import 'fs'\nnull.x\n", []string{"/run/brig/main.mjs:2:6"}},
		{"c", "int main(void) {\n    int x = y;\n}\n", []string{"/run/brig/main.c:2:13: error: ", "int x = y;"}},
		{"c++", "int main() {\n    return undeclared;\n}\n",
			[]string{"/run/brig/main.cpp:2:12: error: ", "return undeclared;"}},
		{"tcl", "set x 1\nno_such_command\n", []string{`(file "/run/brig/main.tcl" line 2)`}},
		{"awk", "BEGIN { x = 1\nprint (\n", []string{"/run/brig/main.awk", "line 2"}},
		{"java", "public class Main {\n  public static void main(String[] a) { int x = \"\"; }\n}\n",
			[]string{"/run/brig/Main.java:2: error: "}},
	} {
		t.Run(c.language, func(t *testing.T) {
			need(t, l, c.language)
			t.Parallel()
			got := story{code: c.code}.run(t, l, c.language)
			for _, want := range c.want {
				if !strings.Contains(got.messages, want) {
					t.Errorf("%q is not in\n%s", want, got.messages)
				}
			}
			if got.Status != nsjail.StatusFailed || strings.HasPrefix(c.language, "c") && got.out != "" {
				t.Errorf("status %s, output %q", got.Status, got.out)
			}
		})
	}
}

func TestCodeIsCarriedAsItIs(t *testing.T) {
	l := Find()
	const marks = "EOF 'single' \"double\" $(touch /work/x) `id` ${HOME} \\n \\\\ %s %d \t ; | & < > * ? ~ # ! é \u2028 🦊"
	for name, c := range map[string]struct{ language, code, out string }{
		"marks":             {"python", "print('''" + strings.ReplaceAll(marks, `\`, `\\`) + "''')", marks + "\n"},
		"marks in bash":     {"bash", "cat <<'END'\n" + marks + "\nEND\n", marks + "\n"},
		"8-bit bytes":       {"bash", "printf %s '\xff\xfe\x80'", "\xff\xfe\x80"},
		"CR LF":             {"python", "x = 1\r\nif x:\r\n    print('yes')\r\n", "yes\n"},
		"no newline at end": {"python", "print(1)", "1\n"},
		"a #! line":         {"python", "#!/usr/bin/env no-such-program\nprint(2)\n", "2\n"},
		"a #! line in node": {"javascript", "#!/bin/false\nconsole.log(2)\n", "2\n"},
		"a #! line in bash": {"bash", "#!/bin/false\necho 3\n", "3\n"},
		"nothing":           {"python", "", ""},
		"nothing in bash":   {"bash", "", ""},
		"nothing in node":   {"javascript", "", ""},
		"begins with a -":   {"perl", "-1; print 4;", "4"},
		"reads itself": {"python", "import sys\nprint(open(sys.argv[0]).read() == open(__file__).read(), __file__)\n",
			"True /run/brig/main.py\n"},
		"a MiB":          {"python", "x = '" + strings.Repeat("a", MaxCode-20) + "'\nprint(len(x))", "1048556\n"},
		"a MiB of lines": {"bash", strings.Repeat("#\n", (MaxCode-20)/2) + "echo $LINENO", "524279\n"},
	} {
		t.Run(name, func(t *testing.T) {
			need(t, l, c.language)
			t.Parallel()
			got := story{code: c.code}.run(t, l, c.language)
			if got.out != c.out || got.Status != nsjail.StatusOK {
				t.Errorf("%s %q %q", got.Status, got.out, cutFor(got.messages))
			}
		})
	}
}

func cutFor(s string) string { return s[:min(len(s), 500)] }

// TestCodeIsReadOnly: what runs cannot be exchanged under the feet of what reads it again.
func TestCodeIsReadOnly(t *testing.T) {
	l := Find()
	need(t, l, "bash")
	got := story{code: "for f in /run/brig/main.sh /run/brig/x; do echo x >$f || echo no; done 2>/dev/null; rm -f /run/brig/main.sh 2>/dev/null || echo no; stat -c %a $0"}.run(t, l, "bash")
	if got.out != "no\nno\nno\n444\n" {
		t.Errorf("%q %q", got.out, got.messages)
	}
}

// TestModulesBesideTheCode: files of a request and of a sandbox are found without their paths.
func TestModulesBesideTheCode(t *testing.T) {
	l := Find()
	for _, c := range []struct{ language, file, module, code string }{
		{"python", "util.py", "x = 5\n", "import util, sys\nprint(util.x)\nassert not any(p == '' for p in sys.path)\n"},
		{"javascript", "util.js", "exports.x = 5\n", "console.log(require('util.js').x)\n"},
		{"perl", "Util.pm", "package Util; our $x = 5; 1;\n", "use Util; print \"$Util::x\\n\";\n"},
		{"c", "util.h", "enum { x = 5 };\n",
			"#include \"util.h\"\n#include <stdio.h>\nint main(void) { printf(\"%d\\n\", x); }\n"},
	} {
		for _, dir := range []string{"/input", "/work"} {
			t.Run(c.language+dir, func(t *testing.T) {
				need(t, l, c.language)
				t.Parallel()
				s := story{code: c.code}
				s.spec.Mounts = []nsjail.Mount{{Type: nsjail.MountData, Target: dir + "/" + c.file, Content: c.module}}
				if got := s.run(t, l, c.language); got.out != "5\n" {
					t.Errorf("%q %q", got.out, got.messages)
				}
			})
		}
	}
}

// answering is stdin and stdout of a conversation: it answers once it was asked.
type answering struct {
	io.Writer
	asked string
}

func (a *answering) Write(b []byte) (int, error) {
	if a.asked += string(b); a.asked == "ready\n" {
		if _, err := io.WriteString(a.Writer, "answer\n"); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// TestOutputComesAtOnce: a program that waits for an answer has asked before.
func TestOutputComesAtOnce(t *testing.T) {
	l := Find()
	for language, code := range map[string]string{"python": "print('ready')\nprint(input())\n",
		"bash": "echo ready; read x; echo $x\n"} {
		need(t, l, language)
		in, answer := io.Pipe()
		talk := &answering{Writer: answer}
		j := &job.Job{Stdin: in, Stdout: talk}
		j.Spec.Limits.Wall = nsjail.Duration(time.Minute)
		if no := l.Prepare(j, language, code, nil); no != nil {
			t.Fatal(no)
		}
		result, err := job.On(runner(t)).Execute(context.Background(), j)
		if err != nil || result.Status != nsjail.StatusOK || talk.asked != "ready\nanswer\n" {
			t.Errorf("%s: %v %+v %q", language, err, result, talk.asked)
		}
		answer.Close()
	}
}
