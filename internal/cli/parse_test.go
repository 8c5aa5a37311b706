package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestParse(t *testing.T) {
	for line, want := range map[string]string{ // calls, a bar, the rest
		"":                                 "|",
		"id -x":                            "|id -x",
		"-- --tty":                         "|--tty",
		"-":                                "|-",
		"-- --":                            "|--",
		"--bind a b id":                    "bind a b|id",
		"-e A=b -eC=d -e=x --env=y -e -1":  "env A=b,env C=d,env x,env y,env -1|",
		"-tn none id":                      "net none|id",
		"--root id":                        "bare root|id",
		"--root=5 id":                      "root 5|id",
		"--filter -- id":                   "|id",
		"--filter strict id":               "filter strict|id",
		"--filter=strict --filter --tty":   "filter strict|",
		"--net=":                           "net|",
		"--no-init -e --volume --env -n=x": "no-init,env --volume,env -n=x|",
	} {
		var o options
		rest, help, err := (&Table{Flags: o.flags(), Hints: hints}).Parse(strings.Fields(line))
		if got := strings.Join(o.list, ",") + "|" + strings.Join(rest, " "); err != nil || help || got != want {
			t.Errorf("%s: %s, %v, %v; want %s", line, got, help, err, want)
		}
	}
	for _, line := range []string{"-h", "--help x", "--tty -h --nope", "-t --bind a b --help"} {
		var o options
		if _, help, err := (&Table{Flags: o.flags()}).Parse(strings.Fields(line)); !help || err != nil || o.tty || o.list != nil {
			t.Errorf("%s: %v, %v, %+v", line, help, err, o)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"--nett none":                      `"--nett" is not a flag; did you mean --net?`,
		"--NET=none":                       `"--NET" is not a flag; did you mean --net?`,
		"--xyzzyplugh":                     `"--xyzzyplugh" is not a flag; --help lists them`,
		"-x":                               `"-x" is not a flag; the short ones are -e, -n, -t, -h`,
		"-tx":                              `"-x" is not a flag; the short ones are -e, -n, -t, -h`,
		"-t=x":                             `--tty: it takes no value; write --tty alone`,
		"--tty=false":                      `--tty: it takes no value; write --tty alone`,
		"--net":                            `--net: a value is missing; write --net none|host`,
		"--net --tty":                      `--net: a value is missing before "--tty"; write --net none|host`,
		"--net -- id":                      `--net: a value is missing before "--"; write --net none|host`,
		"--net -tn":                        `--net: a value is missing before "-tn"; write --net none|host`,
		"--bind a":                         `--bind: a value is missing; write --bind SRC DST`,
		"--bind a b --bind c -- id":        `--bind: a value is missing before "--"; write --bind SRC DST`,
		"--bind=a b":                       `--bind: it takes 2 words; write --bind SRC DST`,
		"--net none --net none":            `--net: it is given twice; keep one`,
		"--root --root=1":                  `--root: it is given twice; keep one`,
		"--init --no-init":                 `--no-init: it contradicts --init; keep one`,
		"-va:b":                            `"-va:b" is not a flag; write --bind SRC DST`,
		"--volume=a:b --unshare_pid":       `"--volume" is not a flag; write --bind SRC DST` + "\n" + `"--unshare_pid" is not a flag; that is always so`,
		"--volume a:b --nett x -- id -x":   `"--volume" is not a flag; write --bind SRC DST` + "\n" + `"--nett" is not a flag; did you mean --net?`,
		"--volume a:b --nett x id -x":      `"--volume" is not a flag; write --bind SRC DST`,
		"--nett none --net":                `"--nett" is not a flag; did you mean --net?`,
		"--nett --net":                     `"--nett" is not a flag; did you mean --net?` + "\n" + `--net: a value is missing; write --net none|host`,
		"--" + strings.Repeat("x", 80):     `"--` + strings.Repeat("x", 62) + `"... (82 bytes) is not a flag; --help lists them`,
		"--volume-of-something-unheard-of": `"--volume-of-something-unheard-of" is not a flag; --help lists them`,
	} {
		var o options
		_, _, err := (&Table{Flags: o.flags(), Hints: hints}).Parse(strings.Fields(line))
		if err == nil || err.Error() != want || o.list != nil {
			t.Errorf("%s\n got %v\nwant %s", line, err, want)
		}
	}
	refuses := []Flag{{Name: "a", Args: "X", Set: func([]string) error { return errors.New("too much") }}}
	if _, _, err := (&Table{Flags: refuses}).Parse([]string{"--a", "1"}); err == nil || err.Error() != "--a: too much" {
		t.Error(err)
	}
}

// Scan leaves the order of flags to the caller.
func TestScan(t *testing.T) {
	table := Table{Flags: new(options).flags()}
	list, rest, _, err := table.Scan(strings.Fields("--filter -e a --bind b c id"))
	if err != nil || len(list) != 3 || !slices.Equal(rest, []string{"id"}) {
		t.Fatal(list, rest, err)
	}
	if !list[0].Bare || list[0].Flag.Name != "filter" || list[1].Flag.Name != "env" || !slices.Equal(list[2].Values, []string{"b", "c"}) {
		t.Errorf("%+v", list)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("--bind\na\nb\n--\nid")
	f.Add("-tn\nnone\n-eA=b\n--root=1\n--filter\n-1")
	f.Add("--volume\n\x1b]0;x\a\n-\xff=")
	f.Fuzz(func(t *testing.T, line string) {
		var o options
		args := strings.Split(line, "\n")
		rest, help, err := (&Table{Flags: o.flags(), Hints: hints}).Parse(args)
		if err == nil {
			if help && rest != nil || len(rest) > len(args) || !slices.Equal(rest, args[len(args)-len(rest):]) {
				t.Fatalf("%q: the rest is %q", args, rest)
			}
			return
		}
		for l := range strings.SplitSeq(err.Error(), "\n") {
			if l == "" || !utf8.ValidString(l) || strings.ContainsFunc(l, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Fatalf("%q: not one safe line: %q", args, l)
			}
		}
	})
}
