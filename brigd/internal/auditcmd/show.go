package auditcmd

import (
	"bytes"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"brig/brigd/audit"
	"brig/internal/words"
)

// filter selects the events that match every set field.
type filter struct {
	run, agent, token, sandbox, event, status string
	since, until                              time.Time
}

func (f *filter) flags(set *flag.FlagSet) {
	for name, to := range map[string]*string{"run": &f.run, "agent": &f.agent, "token": &f.token,
		"sandbox": &f.sandbox, "event": &f.event, "status": &f.status} {
		set.StringVar(to, name, "", "")
	}
	for name, to := range map[string]*time.Time{"since": &f.since, "until": &f.until} {
		set.Func(name, "", func(s string) (err error) {
			if d, derr := time.ParseDuration(s); derr == nil {
				*to = time.Now().Add(-d)
				return nil
			}
			if *to, err = time.Parse(time.RFC3339, s); err != nil {
				return fmt.Errorf("write a duration like 90m or an instant like 2030-01-31T12:00:00Z")
			}
			return nil
		})
	}
}

func (f *filter) fits(l *audit.Line) bool {
	for _, x := range []struct{ want, is string }{{f.run, l.Run}, {f.agent, l.Agent}, {f.token, l.Token}, {f.sandbox,
		l.Sandbox}, {f.event, l.Kind}, {f.status, status(l)}} {
		if x.want != "" && x.want != x.is {
			return false
		}
	}
	return !l.Time.Before(f.since) && (f.until.IsZero() || !l.Time.After(f.until))
}

// status returns how a run ended, or that it was refused.
func status(l *audit.Line) string {
	if l.Kind == audit.RunRefused || l.Kind == audit.AuthRefused {
		return "refused"
	}
	return l.Status
}

// columns is the format of a row: time, event, run, agent, status, exit code and detail.
const columns = "%-24s %-14s %-30s %-12s %-9s %4s  %s\n"

func (c *command) runShow(files []string) error {
	if !c.json {
		fmt.Fprintf(c.out, columns, "TIME", "EVENT", "RUN", "AGENT", "STATUS", "EXIT", "DETAIL")
	}
	var ring []string // the last events
	c.verify.Each = func(l *audit.Line) {
		if !c.filter.fits(l) {
			return
		}
		text := c.line(l)
		if c.last == 0 {
			_, _ = c.out.WriteString(text) // Flush returns the error
		} else if ring = append(ring, text); len(ring) > 2*c.last {
			ring = slices.Delete(ring, 0, c.last)
		}
	}
	_, err := c.verify.Verify(files...)
	for _, text := range ring[max(0, len(ring)-c.last):] {
		_, _ = c.out.WriteString(text)
	}
	return err
}

// line formats an event for display.
func (c *command) line(l *audit.Line) string {
	if c.json {
		return words.JSON(string(bytes.ToValidUTF8(l.Raw, []byte("\ufffd")))) + "\n"
	}
	exit := ""
	if l.ExitCode != nil {
		exit = fmt.Sprint(*l.ExitCode)
	}
	return fmt.Sprintf(columns, stamp(l.Time), word(l.Kind), word(l.Run), word(l.Agent), word(status(l)), exit,
		words.JSON(detail(l)))
}

// word quotes a name for a column: blanks in it could pass for a column border.
func word(s string) string {
	s = strings.ReplaceAll(words.JSON(s), " ", `\u0020`)
	switch {
	case s == "":
		return "-"
	case len(s) > 60:
		return strings.ToValidUTF8(s[:60], "") + "..."
	}
	return s
}

// detail returns the most informative field of an event.
func detail(l *audit.Line) string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+value)
		}
	}
	add("token ", l.Token)
	add("sandbox ", l.Sandbox)
	add("language ", l.Language)
	if len(l.Argv) > 0 {
		add("argv ", fmt.Sprintf("%q", l.Argv))
	}
	if v := l.Verdict; v != nil {
		add("policies ", strings.Join(v.Policies, ","))
		add("narrowed: ", strings.Join(v.Narrowed, "; "))
		if !v.Allowed {
			add("", v.Layer+" "+v.Code)
			add("rule ", v.Rule)
			add("error: ", v.Error)
		}
	}
	add("signal ", l.Signal)
	add("limits ", strings.Join(l.LimitsHit, ","))
	if l.Violation != nil {
		add("violation ", l.Violation.String())
	}
	if n := l.Network; n != nil {
		add("network ", fmt.Sprintf("%d (%d bytes out, %d in)", n.Total, n.Sent, n.Received))
	}
	if l.Missed > 0 {
		add("missed ", fmt.Sprintf("%d events, of the runs %s", l.Missed, strings.Join(l.Runs, ",")))
	}
	add("path ", l.Path)
	add("file ", l.File)
	if l.Digest != "" {
		add("sha256 ", fmt.Sprintf("%s of %d bytes", l.Digest, l.Bytes))
	}
	add("from ", l.Source)
	if l.Count > 1 {
		add("", fmt.Sprintf("%d times", l.Count))
	}
	add("error: ", l.Error)
	add("", l.Note)
	return strings.Join(parts, ", ")
}
