package learncmd

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"brig/cmd/brig/internal/wish"
	"brig/internal/words"
	"brig/learn"
	"brig/nsjail"
	"brig/nsjail/explain"
)

// learned is the output of learn --json.
type learned struct {
	Works     bool             `json:"works"` // the last run with these flags exited with 0
	Runs      int              `json:"runs"`
	ExitCode  int              `json:"exit_code"`
	Flags     []string         `json:"flags"`
	Proposals []proposal       `json:"proposals"`
	Withheld  []learn.Withheld `json:"withheld"`
	Unneeded  []proposal       `json:"unneeded"` // failed calls that do not prevent the command from working
	Spec      json.RawMessage  `json:"spec"`
}

// learn runs the command until it works or there is nothing more to try, and then once without each flag that may be
// unnecessary.
func (l *learner) learn() (*learned, error) {
	var tried []proposal
	rep, err := l.run(nil)
	for err == nil && rep.Status != nsjail.StatusOK && l.more() {
		next := l.choose(true)
		if slices.EqualFunc(next, tried, same) {
			break
		}
		tried = next
		rep, err = l.run(flagWords(tried))
	}
	if err != nil {
		return nil, err
	}
	works := rep.Status == nsjail.StatusOK
	for i := len(tried) - 1; i >= 0 && works && l.more(); i-- {
		fewer := slices.Delete(slices.Clone(tried), i, i+1)
		if len(fewer) == 0 {
			break // that was the first run
		}
		without, err := l.run(flagWords(fewer))
		if err != nil {
			return nil, err
		}
		if without.Status == nsjail.StatusOK {
			tried = fewer
		}
	}
	return l.found(rep, tried)
}

// more reports whether the command may run once more.
func (l *learner) more() bool { return l.runs < l.asked.rounds && !l.stopped.Load() }

func same(a, b proposal) bool { return slices.Equal(a.Flag, b.Flag) }

// flagWords returns the words of flags.
func flagWords(list []proposal) (flags []string) {
	for _, p := range list {
		flags = append(flags, p.Flag...)
	}
	return flags
}

// choose returns the proposals that brig accepts, or only those that may be tried.
func (l *learner) choose(try bool) (list []proposal) {
	s := l.spec
	alone := (s.Net == "" || s.Net == nsjail.NetLoopback || s.Net == nsjail.NetNone) && len(s.Publish) == 0
	for _, p := range proposals(learn.Advise(&l.input).Proposals) {
		if try && !l.asked.tryAll && (!alone || !p.Reads()) {
			continue
		}
		if key := strings.Join(p.Flag, "\x00"); l.accepts(key, append(flagWords(list), p.Flag...)) {
			list = append(list, p)
		}
	}
	return list
}

// accepts reports whether brig accepts flags. It remembers why it does not.
func (l *learner) accepts(key string, flags []string) bool {
	w, err := l.with(flags)
	if err == nil {
		if lines := w.Problems(l.std.Words); len(lines) > 0 {
			err = errors.New(lines[0])
		} else if bad := w.Spec.NotUTF8(); len(bad) > 0 {
			err = errors.New(w.Translate(bad[0], l.std.Words))
		}
	}
	if err == nil {
		var h *explain.Host
		if h, err = explain.Look(&w.Spec); err == nil {
			h.Close()
		} else {
			err = errors.New(w.Describe(err, l.std.Words))
		}
	}
	if err != nil {
		l.refused[key] = err.Error()
	}
	return err == nil
}

// with parses the Spec with flags.
func (l *learner) with(flags []string) (*wish.Wish, error) {
	read := func(string, int) ([]byte, error) { return l.base, nil }
	w, _, err := wish.Parse("run", nil, append([]string{"--spec", "base"}, flags...), read)
	if err == nil {
		w.From.Inherit(l.wish.From.Text(math.MaxInt))
	}
	if err == nil && w.Spec.Rootfs.Image != "" {
		w.Spec.Rootfs.Path = l.wish.Spec.Rootfs.Path
	}
	return w, err
}

// found assembles the answer. The payload may have chosen the paths, and parts of the reasons.
func (l *learner) found(rep *runReport, tried []proposal) (*learned, error) {
	advice := learn.Advise(&l.input)
	out := &learned{Works: rep.Status == nsjail.StatusOK, Runs: l.runs, ExitCode: rep.code, Flags: []string{},
		Proposals: []proposal{}, Withheld: []learn.Withheld{}, Unneeded: []proposal{}}
	list, advised := tried, proposals(advice.Proposals)
	if !out.Works {
		list = l.choose(false)
	}
	for _, p := range list {
		if i := index(advised, p); i >= 0 {
			p = advised[i] // with the calls of all runs
		}
		p.Tried, p.Path = index(tried, p) >= 0, words.Printable(p.Path)
		out.Flags = append(out.Flags, p.Flag...)
		out.Proposals = append(out.Proposals, p)
	}
	for _, p := range advised {
		p.Path = words.Printable(p.Path)
		why := l.refused[strings.Join(p.Flag, "\x00")]
		switch {
		case index(list, p) >= 0:
		case why != "":
			w := learn.Withheld{Path: p.Path, Call: p.Call, Errno: p.Errno, Count: p.Count,
				Why: words.Plain(words.Printable(why))}
			out.Withheld = append(out.Withheld, w)
		case out.Works:
			out.Unneeded = append(out.Unneeded, p)
		}
	}
	for _, w := range advice.Withheld {
		w.Path, w.Why = words.Printable(w.Path), words.Plain(words.Printable(w.Why.In(l.std.Words)))
		out.Withheld = append(out.Withheld, w)
	}
	w, err := l.with(out.Flags)
	if err != nil {
		return nil, err
	}
	if w.Spec.Rootfs.Image != "" {
		w.Spec.Rootfs.Path = ""
	}
	out.Spec = w.Spec.JSON()
	return out, nil
}

// index returns where a list has the flag of a proposal, or -1.
func index(list []proposal, p proposal) int {
	return slices.IndexFunc(list, func(o proposal) bool { return same(p, o) })
}
