package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail/spec"
)

// flags returns the flag table of run, explain and spec, which applies flags to b. The three commands take the same
// flags, so that a command line can be explained by changing one word.
func (b *builder) flags() []cli.Flag {
	table := make([]cli.Flag, 0, 64)
	for _, group := range [][]cli.Flag{b.fileFlags(), b.envFlags(), b.networkFlags(), b.isolationFlags(), b.limitFlags(),
		b.groupFlags(), b.reportFlags()} {
		table = append(table, group...)
	}
	switch b.inv.command {
	case "learn":
		table = append(table, b.learnFlags()...)
	case "verify":
		table = append(table, verifyFlags(b.inv)...)
	}
	return table
}

func (b *builder) reportFlags() []cli.Flag {
	return cli.InGroup("Input and report", []cli.Flag{
		{Name: "spec", Args: "FILE|-", Files: true, Set: b.setSpec,
			Help: "start from the JSON that brig spec has printed; the other flags change it"},
		{Name: "report", Args: "FILE", Files: true, Set: textFlag(&b.inv.report, "report.json"),
			Help: "write the report, one JSON object, to FILE, or to stdout: -"},
		{Name: "report-fd", Args: "N", Set: b.setReportFD,
			Help: "write the report to the open descriptor N"},
		{Name: "json", Set: cli.Switch(&b.inv.json, true),
			Help: "print the report (or the plan) on stdout as JSON, with the captured stdout and stderr inside"},
	})
}

// textFlag sets a field whose zero value means the default. An empty value is refused.
func textFlag[T ~string](to *T, example string) func([]string) error {
	return func(v []string) error {
		if v[0] == "" {
			return fmt.Errorf("it is empty; write it as in %s, or leave the flag out", example)
		}
		*to = T(v[0])
		return nil
	}
}

func (b *builder) setReportFD(v []string) error {
	return whole(&b.inv.reportFD, v[0], 1, math.MaxInt32, "is not a descriptor to write to; write it as in "+
		"--report-fd 3 3>report.json")
}

// whole reads a whole number within bounds. What is wrong with any other value follows its text in the error.
func whole[T int | int64](to *T, s string, least, most int64, wrong string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < least || n > most {
		return fmt.Errorf("%s %s", words.Quote(s), wrong)
	}
	*to = T(n)
	return nil
}

// maxFile bounds the size of the files of other tools and of lists: variables, rules, configurations.
const maxFile = 1 << 20

// readFunc reads a file that a flag names, of at most limit bytes.
type readFunc func(name string, limit int) ([]byte, error)

// fileReader returns a function that reads files of the caller; "-" is stdin. The limit bounds the memory for a wrong
// name, such as that of a device.
func fileReader(stdin *os.File) readFunc {
	return func(name string, limit int) (data []byte, err error) {
		f := stdin
		if name != "-" {
			if f, err = os.Open(name); err == nil {
				defer f.Close()
			}
		}
		if err == nil {
			data, err = io.ReadAll(io.LimitReader(f, int64(limit)+1))
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("cannot read %s: %s; name a file that can be read", words.Quote(name), cli.Reason(err))
		case len(data) > limit:
			return nil, fmt.Errorf("%s is larger than %d bytes; shorten it", words.Quote(name), limit)
		}
		return data, nil
	}
}

// told returns the message of an error, with flags for the fields that it refers to.
func told(err error) string { return words.Message(err).In(inFlags) }

// inFlags is the dialect of brig's command line. The flag tables have its words: a field's flag is the row with the
// field's path or name, and a mount's flag is the one that adds such a mount to an empty Spec.
func inFlags(r words.Ref) (string, bool) {
	b := newBuilder("run", func(string, int) ([]byte, error) { return nil, nil })
	var value any
	if r.Value != "" && json.Unmarshal([]byte(r.Value), &value) != nil {
		return "", false
	}
	table := b.flags()
	switch {
	case r.Field == "mounts":
		return mountWords(b, table, r.Value)
	case r.Field == "protect" && value != nil:
		return protectWords(value), true
	}
	i := slices.IndexFunc(table, func(f cli.Flag) bool { return strings.ReplaceAll(f.Name, "-", "_") == r.Field })
	if i < 0 {
		i = slices.IndexFunc(table, func(f cli.Flag) bool { return f.Path == r.Field })
	}
	if i < 0 {
		return "", false
	}
	return valued(&table[i], value), true
}

// valued returns a flag with a value, as a person writes it.
func valued(f *cli.Flag, value any) string {
	flag, is := "--"+f.Name, " "
	if f.Bare != nil && !f.Greedy {
		is = "="
	}
	switch v := value.(type) {
	case string:
		return flag + is + v
	case []any:
		var list []string
		for _, member := range v {
			list = append(list, member.(string))
		}
		if strings.HasSuffix(f.Args, ",...") {
			return flag + is + strings.Join(list, ",")
		}
		return flag + is + strings.Join(list, " "+flag+is)
	}
	return flag // a switch, or the flag alone
}

// protectWords returns the flags of paths to be protected, or with a ! to be no longer.
func protectWords(value any) string {
	example, is := value.(string)
	if is {
		return "--no-protect=" + strings.TrimPrefix(example, "!")
	}
	var list []string
	for _, p := range value.([]any) {
		if p, back := strings.CutPrefix(p.(string), "!"); back {
			list = append(list, "--no-protect="+words.Shell(p))
		} else {
			list = append(list, "--protect="+words.Shell(p))
		}
	}
	if len(list) == 0 {
		return "--no-protect"
	}
	return strings.Join(list, " ")
}

// mountWords finds the flag that adds a mount.
func mountWords(b *builder, table []cli.Flag, value string) (string, bool) {
	var want spec.Shown
	if json.Unmarshal([]byte(value), &want) != nil {
		return "", false
	}
	best := ""
	for i := range table {
		f := &table[i]
		m, given := mountOf(b, f)
		if m == nil || string(m.Type) != want.Type || m.Writable != want.Writable || m.Live != want.Live {
			continue
		}
		switch own := given == 1 && m.Target == want.Target; {
		case own && want.Source != "":
			return "--" + f.Name + " " + want.Source, true
		case own, given == 1 && m.Type != spec.MountBind:
			return "--" + f.Name, true
		case given == 2 && want.Source != "":
			best = "--" + f.Name + " " + want.Source + " " + want.Target
		case given == 2:
			best = "--" + f.Name
		}
	}
	return best, best != ""
}

// mountOf returns the mount that a flag adds for the names of its values, and how many these are; nil for none.
func mountOf(b *builder, f *cli.Flag) (m *spec.Mount, values int) {
	names := strings.Fields(f.Args)
	for i := range names {
		names[i], _, _ = strings.Cut(names[i], "[")
		names[i], _, _ = strings.Cut(names[i], ":")
	}
	mounts := &b.inv.spec.Mounts
	*mounts = nil
	if f.Group != "Files" || f.Set == nil || f.Set(names) != nil || len(*mounts) != 1 {
		return nil, 0
	}
	one := (*mounts)[0]
	return &one, len(names)
}

// inFlagsAll returns what enforces each mechanism, with flags for the fields that it refers to.
func inFlagsAll(list map[string]spec.Text) map[string]spec.Text {
	told := make(map[string]spec.Text, len(list))
	for name, t := range list {
		told[name] = t.Worded(inFlags)
	}
	return told
}

// inFlagsEach is inFlagsAll for a list.
func inFlagsEach(list []spec.Text) (told []spec.Text) {
	for _, t := range list {
		told = append(told, t.Worded(inFlags))
	}
	return told
}

// worded puts flags for the fields that a report refers to.
func (r *reported) worded() {
	shown := *r.Result
	shown.Enforced, shown.Notes = inFlagsAll(shown.Enforced), inFlagsEach(shown.Notes)
	shown.Denials = slices.Clone(shown.Denials)
	for i := range shown.Denials {
		d := &shown.Denials[i]
		d.Why, d.Fix = d.Why.Worded(inFlags), d.Fix.Worded(inFlags)
	}
	if e := shown.Error; e != nil {
		told := *e
		told.Detail, told.Remedy = told.Detail.Worded(inFlags), told.Remedy.Worded(inFlags)
		shown.Error = &told
	}
	r.Result = &shown
}
