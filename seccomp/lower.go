package seccomp

import "fmt"

// lowered is a rule that libseccomp can take in any order: it overlaps no lowered rule of another action.
type lowered struct {
	action Action
	conds  []Cond
}

// lowerer makes the rules of a table disjoint within a budget of splits, which all its system calls share.
type lowerer struct {
	fallback Action // the table's default
	budget   int
}

// lower makes the rules of one system call disjoint where their actions differ, and leaves out what the default action
// does anyway, which libseccomp refuses to be told.
func (l *lowerer) lower(rules []Rule) ([]lowered, error) {
	if plain(rules) {
		return l.lowerPlain(rules), nil
	}
	if len(rules) > maxRules {
		return nil, fmt.Errorf("seccomp: %s (syscalls[%d]): %d overlapping rules, brig takes %d; merge some",
			rules[0].Name, rules[0].Entry, len(rules), maxRules)
	}
	var out []lowered
	var before []Rule
	for _, r := range rules {
		before = append(before, r)
		if r.Action == l.fallback {
			continue
		}
		cubes, err := l.remainder(r, before[:len(before)-1])
		if err != nil {
			return nil, fmt.Errorf("seccomp: %s (syscalls[%d]): %w; give its entries one action, or fewer conditions", r.Name, r.Entry, err)
		}
		for _, c := range cubes {
			out = append(out, lowered{r.Action, c.conds()})
		}
	}
	return out, nil
}

// plain says that the order of the rules means nothing and that libseccomp takes each as it is.
func plain(rules []Rule) bool {
	for _, r := range rules {
		var used [6]bool
		for _, c := range r.Conds {
			if used[c.Arg] {
				return false
			}
			used[c.Arg] = true
		}
		if r.Action != rules[0].Action {
			return false
		}
	}
	return true
}

func (l *lowerer) lowerPlain(rules []Rule) []lowered {
	if rules[0].Action == l.fallback {
		return nil
	}
	out := make([]lowered, 0, len(rules))
	for _, r := range rules {
		out = append(out, lowered{r.Action, r.Conds})
	}
	return out
}

// remainder gives where r decides: where it holds, less where a rule of another action before it does.
func (l *lowerer) remainder(r Rule, before []Rule) ([]cube, error) {
	own, err := cubesOf(r.Conds)
	if err != nil {
		return nil, err
	}
	var cut []cube
	for _, b := range before {
		if b.Action == r.Action {
			continue
		}
		c, err := cubesOf(b.Conds)
		if err != nil {
			return nil, err
		}
		if cut = append(cut, c...); len(cut) > maxCubes {
			return nil, errTooManyCubes
		}
	}
	var out []cube
	for _, c := range own {
		part, err := c.minus(cut, &l.budget)
		if err != nil {
			return nil, err
		}
		if out = append(out, part...); len(out) > maxCubes {
			return nil, errTooManyCubes
		}
	}
	return out, nil
}
