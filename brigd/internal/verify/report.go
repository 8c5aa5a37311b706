package verify

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"brig/internal/attack"
)

// Result is the outcome of an attack.
type Result string

// The results.
const (
	Held          Result = "held"
	GotThrough    Result = "got_through"    // though the configuration claims to hold it
	GivenUp       Result = "given_up"       // it got through, or would, as a setting says
	NotApplicable Result = "not_applicable" // the configuration has nothing that it could be tried on
	Unclear       Result = "unclear"        // it gave no verdict
)

// Row is an attack in the report.
type Row struct {
	Name   string   `json:"name"`
	Layer  string   `json:"layer"`
	Claim  string   `json:"claim"`
	CVE    []string `json:"cve,omitempty"`
	Result Result   `json:"result"`
	// GivenUpBy are the settings with which the configuration does not claim it.
	GivenUpBy string `json:"given_up_by,omitempty"`
	// Detail is what the attack has found, or why it was not performed.
	Detail string `json:"detail,omitempty"`
	// Performed is false for an attack that was not tried.
	Performed bool `json:"performed"`
}

// Report is what brig verify prints with --json.
type Report struct {
	Kernel  string         `json:"kernel"`
	Caller  string         `json:"caller"` // root or user
	Verdict string         `json:"verdict"`
	Summary string         `json:"summary"`
	Counts  map[Result]int `json:"counts"`
	Notes   []string       `json:"notes"`
	Attacks []Row          `json:"attacks"`
}

// notes describe how the jail of an attack differs from the configuration.
var notes = []string{
	"each jail has the attack in " + attack.Dir + ", or in the process tier as an argument, and no --tty or --publish",
	"directories that are mounted writable are read-only in attacks; " +
		"an attack on such a mount has an empty one in its place",
	"variables with the names of secrets have another value",
}

// The verdicts of a Report.
const (
	verdictHeld    = "held"
	verdictThrough = "got_through"
	verdictNothing = "not_verified"
)

// finish counts, and writes the summary.
func (r *Report) finish(why string) {
	r.Counts = map[Result]int{Held: 0, GotThrough: 0, GivenUp: 0, NotApplicable: 0, Unclear: 0}
	for _, row := range r.Attacks {
		r.Counts[row.Result]++
	}
	n := r.Counts
	switch tried := n[Held] + n[GotThrough]; {
	case n[GotThrough] > 0:
		r.Verdict = verdictThrough
		r.Summary = fmt.Sprintf("%d of %d attacks got through that this configuration claims to hold", n[GotThrough], tried)
	case n[Held] == 0:
		r.Verdict, r.Summary = verdictNothing, "nothing was verified: "+cmp.Or(why, "no attack applies to this configuration")
	case n[Unclear] > 0:
		r.Verdict, r.Summary = verdictNothing, fmt.Sprintf("%d attacks gave no verdict; %d held", n[Unclear], n[Held])
	default:
		r.Verdict, r.Summary = verdictHeld, fmt.Sprintf("all %d attacks on what this configuration claims were held", n[Held])
	}
	r.Summary += r.weaker()
}

// weaker returns the settings that give something up, with the number of attacks, or "".
func (r *Report) weaker() string {
	by := map[string]int{}
	for _, row := range r.Attacks {
		if row.Result == GivenUp {
			by[row.GivenUpBy]++
		}
	}
	var list []string
	for flag, count := range by {
		list = append(list, fmt.Sprintf("%s (%d)", flag, count))
	}
	if len(list) == 0 {
		return ""
	}
	slices.Sort(list)
	return "; it is weaker than a default jail by " + strings.Join(list, ", ")
}

// columns are the results in the order of the table.
var columns = []Result{Held, GotThrough, GivenUp, NotApplicable, Unclear}

// print writes the report as text: a row for each layer, then each attack that did not hold, or with all every one.
func (r *Report) print(w io.Writer, all bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-26s %6s %6s %12s %9s %8s %8s\n",
		"layer", "tried", "held", "got through", "given up", "n/a", "unclear")
	for i := 0; i < len(r.Attacks); {
		layer, counts, tried := r.Attacks[i].Layer, map[Result]int{}, 0
		for ; i < len(r.Attacks) && r.Attacks[i].Layer == layer; i++ {
			if counts[r.Attacks[i].Result]++; r.Attacks[i].Performed {
				tried++
			}
		}
		fmt.Fprintf(&b, "%-26s %6d", layer, tried)
		for c, result := range columns {
			fmt.Fprintf(&b, " %*s", []int{6, 12, 9, 8, 8}[c], strings.TrimPrefix(fmt.Sprint(counts[result]), "0"))
		}
		b.WriteString("\n")
	}
	for _, result := range []Result{GotThrough, Unclear, GivenUp} {
		r.list(&b, result)
	}
	if all {
		r.list(&b, Held)
	}
	r.reasons(&b, all)
	b.WriteString("\n")
	for _, n := range r.Notes {
		b.WriteString("note: " + n + "\n")
	}
	b.WriteString(r.Summary + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// list writes the attacks with this result.
func (r *Report) list(b *strings.Builder, result Result) {
	title := "\n" + strings.ReplaceAll(string(result), "_", " ") + ":\n"
	for _, row := range r.Attacks {
		if row.Result != result {
			continue
		}
		b.WriteString(title)
		title = ""
		fmt.Fprintf(b, "  %s: %s\n", row.Name, row.Claim)
		if row.GivenUpBy != "" && result == GivenUp {
			fmt.Fprintf(b, "    given up by %s\n", row.GivenUpBy)
		}
		if row.Detail != "" {
			fmt.Fprintf(b, "    %s\n", row.Detail)
		}
	}
}

// reasons writes why attacks do not apply, and which, if all are to be named.
func (r *Report) reasons(b *strings.Builder, all bool) {
	names := map[string][]string{}
	var order []string
	for _, row := range r.Attacks {
		if row.Result == NotApplicable {
			if names[row.Detail] == nil {
				order = append(order, row.Detail)
			}
			names[row.Detail] = append(names[row.Detail], row.Name)
		}
	}
	if len(order) > 0 {
		b.WriteString("\nnot applicable:\n")
	}
	for _, why := range order {
		which := fmt.Sprint(len(names[why]))
		if all {
			which = strings.Join(names[why], " ")
		}
		fmt.Fprintf(b, "  %s: %s\n", why, which)
	}
}
