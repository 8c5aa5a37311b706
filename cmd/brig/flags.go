package main

import (
	"fmt"
	"io"
	"math"
	"os"

	"brig/internal/cli"
	"brig/internal/words"
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
		{Name: "report", Args: "FILE", Files: true, Set: cli.Text(&b.inv.report, "report.json"),
			Help: "write the report, one JSON object, to FILE, or to stdout: -"},
		{Name: "report-fd", Args: "N", Set: b.setReportFD,
			Help: "write the report to the open descriptor N"},
		{Name: "json", Set: cli.Switch(&b.inv.json, true),
			Help: "print the report (or the plan) on stdout as JSON, with the captured stdout and stderr inside"},
	})
}

func (b *builder) setReportFD(v []string) error {
	return cli.Whole(&b.inv.reportFD, v[0], 1, math.MaxInt32, "is not a descriptor to write to; write it as in "+
		"--report-fd 3 3>report.json")
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
