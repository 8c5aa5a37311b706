package isolate

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
)

// Options are read as getopt_long(3) reads them, in the forms of Judge0, Piston and CMS.
func TestParse(t *testing.T) {
	for _, tt := range []struct {
		args string
		want func(o *Options)
		bad  string
	}{
		{args: "--init -b2147483646 --cg", want: func(o *Options) { o.Command, o.Box, o.CG = "init", 2147483646, true }},
		{args: "--cg -s -b 7 --stderr-to-stdout -t 2 -x 1.5 -w4 -k 64000 -p120 --cg-timing --cg-mem=512000 -f 1024 --run -- /bin/ls -l",
			want: func(o *Options) {
				o.Command, o.CG, o.Silent, o.Box, o.Merge = "run", true, true, 7, true
				o.Time, o.Extra, o.Wall = 2*time.Second, 1500*time.Millisecond, 4*time.Second
				o.Stack, o.Processes, o.CGMem, o.Fsize = 64000, 120, 512000, 1024
				o.Args = []string{"/bin/ls", "-l"}
			}},
		{args: "--run a b", want: func(o *Options) { o.Command, o.Args = "run", []string{"a", "b"} }},
		{args: "--run a -s b", want: func(o *Options) { o.Command, o.Silent, o.Args = "run", true, []string{"a", "b"} }},
		{args: "--run -p 5", want: func(o *Options) { o.Command, o.Processes, o.Args = "run", 0, []string{"5"} }},
		{args: "--run --proc=5 a", want: func(o *Options) { o.Command, o.Processes, o.Args = "run", 5, []string{"a"} }},
		{args: "--run -vvs a", want: func(o *Options) { o.Command, o.Verbose, o.Silent, o.Args = "run", 2, true, []string{"a"} }},
		{args: "--run -E A=1 -EB --env=C= a", want: func(o *Options) {
			o.Command, o.Vars, o.Args = "run", []string{"A=1", "B", "C="}, []string{"a"}
		}},
		{args: "--run --no-cg-timing --syscalls=31 --tty-hack a", want: func(o *Options) { o.Command, o.Args = "run", []string{"a"} }},
		{args: "--run", bad: "requires a command"},
		{args: "", bad: "specify an isolate command"},
		{args: "--init --run a", bad: "Only one command"},
		{args: "--init a", bad: "takes no parameters"},
		{args: "--c --init", bad: "ambiguous"},
		{args: "--initt", bad: "unrecognized option"},
		{args: "-Z", bad: "invalid option"},
		{args: "--init --box-id", bad: "requires an argument"},
		{args: "--init=3", bad: "doesn't allow an argument"},
		{args: "--init -b 2147483648", bad: "--box-id: \"2147483648\" is not a number"},
		{args: "--init -b -1", bad: "is not a number"},
		{args: "--run -t 1s a", bad: "is not a time in seconds"},
		{args: "--run -t nan a", bad: "is not a time in seconds"},
		{args: "--run --cg-mem=5 a", bad: "require --cg"},
		{args: "--init -q 1,1", bad: "--quota: brig cannot do this"},
		{args: "--run --inherit-fds a", bad: "--inherit-fds: brig cannot do this"},
		{args: "--run -d ../x a", bad: "Invalid directory rule"},
		{args: "--run -d x=y a", bad: "must start with / or ./"},
		{args: "--run -d x:what a", bad: "unknown option"},
		{args: "--run -d x=/y:tmp a", bad: "no right-hand side"},
		{args: "--run -d x=ext4:fs a", bad: "must be one of"},
		{args: "--init --as-uid=5", bad: "either both or none"},
	} {
		got, err := parse(strings.Fields(tt.args))
		if tt.bad != "" {
			if err == nil || !strings.Contains(err.Error(), tt.bad) {
				t.Errorf("%s: error %v, want %q", tt.args, err, tt.bad)
			}
			continue
		}
		want, _ := parse([]string{"--version"})
		want.Command = ""
		tt.want(want)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", tt.args, got, err, want)
		}
	}
}

// A rule for a path replaces the one before it, in its place.
func TestRules(t *testing.T) {
	o, err := parse([]string{"--run", "-d", "/tmp=", "--dir=/etc:noexec", "-dusr=/opt/u:rw:maybe", "--dir=/a//b/:tmp", "x"})
	must.Do(t, err)
	var got []string
	for _, r := range o.Rules {
		got = append(got, r.Inside+"="+r.Outside+":"+strings.Join(r.Has, ":"))
	}
	want := []string{"box=./box:rw", "bin=/bin:", "dev=/dev:dev:norec", "dev/shm=tmpfs:fs:rw", "lib=/lib:", "lib64=/lib64:maybe",
		"proc=proc:fs", "tmp=:", "usr=/opt/u:rw:maybe", "etc=/etc:noexec", "a/b=./tmp/a:b:tmp:rw"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Variables are passed by rule alone, in order.
func TestEnvironment(t *testing.T) {
	caller := []string{"A=a", "B=b", "TOKEN=secret"}
	for _, tt := range []struct {
		args string
		want []string
	}{
		{"", []string{"LIBC_FATAL_STDERR_=1"}},
		{"-E A -E C -E D=d", []string{"LIBC_FATAL_STDERR_=1", "A=a", "D=d"}},
		{"-E A=1 -E A -E LIBC_FATAL_STDERR_=", []string{"A=a"}},
		{"-e -E B= -E A=x", []string{"TOKEN=secret", "LIBC_FATAL_STDERR_=1", "A=x"}},
	} {
		o := must.Get(parse(append([]string{"--run", "x"}, strings.Fields(tt.args)...)))(t)
		if got := o.environment(caller); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.args, got, tt.want)
		}
	}
}

// A configuration file of isolate's is read, and what is wrong in it is named by its line.
func TestConfig(t *testing.T) {
	c, err := parseConfig("# comment\n\nbox_root = /b/\nlock_root=/l\ncg_root = auto:/run/x\nsubid_user = isolate\nfirst_uid=60000\n" +
		"num_boxes=10\nrestricted_init = 1\nbox3.cpus = 4-7\nbox3.mems=1")
	if err != nil || c.Boxes != "/b" || c.Locks != "/l" || c.Group != "" || c.Count != 10 || !c.Restricted || c.CPUs[3] != "4-7" ||
		c.Mems[3] != "1" {
		t.Errorf("%+v, %v", c, err)
	}
	for text, bad := range map[string]string{
		"x\n":                "line 1: Syntax error",
		"\nbox_root = rel\n": `line 2: "rel" is not an absolute path`,
		"color = red\n":      `line 1: Unknown configuration item "color"`,
		"box.cpus = 1\n":     `line 1: Unknown configuration section "box"`,
		"box1.colour = 1\n":  `line 1: Unknown per-box configuration item "colour"`,
		"num_boxes = -1\n":   "line 1: ",
		"first uid = 4\n":    "line 1: Syntax error",
	} {
		if _, err := parseConfig(text); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v, want %q", text, err, bad)
		}
	}
}

// No command line and no configuration makes the parser fail, and what it accepts can be translated or is refused by a
// sentence.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"--run -p4 -- a", "--dir=a=/b:rw --run -e x", "-bM", "--", "-E\xff=1 --run x"} {
		f.Add(s, "box_root=/x\n")
	}
	f.Fuzz(func(t *testing.T, line, config string) {
		c, err := parseConfig(config)
		if err != nil {
			c, _ = parseConfig("")
		}
		o, err := parse(strings.Fields(line))
		if err != nil || o.Command != "run" {
			return
		}
		no, unlimited := func(string) bool { return false }, func(int) int64 { return -1 }
		j, err := o.translate(&facts{dir: "/boxes/0", exists: no, below: no, hard: unlimited, config: c})
		if err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
		if err == nil && (len(j.spec.Args) == 0 || !strings.Contains(j.spec.Args[0], "/")) {
			t.Errorf("%q", j.spec.Args)
		}
	})
}
