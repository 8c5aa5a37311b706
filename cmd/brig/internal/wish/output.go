package wish

import (
	"math"

	"brig/internal/cli"
)

// flags returns the flags for the input of a Spec, and for reports.
func (o *Output) flags(s *sheet) []cli.Flag {
	return cli.InGroup("Input and report", []cli.Flag{
		{Name: "spec", Args: "FILE|-", Files: true, Set: s.setSpec,
			Help: "start from the JSON that brig spec has printed; the other flags change it"},
		{Name: "report", Args: "FILE", Files: true, Set: cli.Text(&o.Report, "report.json"),
			Help: "write the report, one JSON object, to FILE, or to stdout: -"},
		{Name: "report-fd", Args: "N", Set: o.setReportFD,
			Help: "write the report to the open descriptor N"},
		{Name: "json", Set: cli.Switch(&o.JSON, true),
			Help: "print the report (or the plan) on stdout as JSON, with the captured stdout and stderr inside"},
	})
}

func (o *Output) setReportFD(v []string) error {
	return cli.Whole(&o.ReportFD, v[0], 1, math.MaxInt32, "is not a descriptor to write to; write it as in "+
		"--report-fd 3 3>report.json")
}
