package seccomp

import "fmt"

// lowered is a rule that libseccomp can take in any order: it overlaps no lowered rule of another action.
type lowered struct {
	action Action
	conds  []Cond
}

// lower makes the rules of one system call disjoint where their actions differ, and leaves out what the default action
// does anyway, which libseccomp refuses to be told.
func (t *Table) lower(rules []Rule) ([]lowered, error) {
	if plain(rules) {
		return t.lowerPlain(rules), nil
	}
	var out []lowered
	var before []Rule
	for _, r := range rules {
		before = append(before, r)
		if r.Action == t.Default {
			continue
		}
		cubes, err := remainder(r, before[:len(before)-1])
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

func (t *Table) lowerPlain(rules []Rule) []lowered {
	if rules[0].Action == t.Default {
		return nil
	}
	out := make([]lowered, 0, len(rules))
	for _, r := range rules {
		out = append(out, lowered{r.Action, r.Conds})
	}
	return out
}

// remainder gives where r decides: where it holds, less where a rule of another action before it does.
func remainder(r Rule, before []Rule) ([]cube, error) {
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
		cut = append(cut, c...)
	}
	var out []cube
	budget := 64 * maxCubes
	for _, c := range own {
		part, err := c.minus(cut, &budget)
		if err != nil {
			return nil, err
		}
		if out = append(out, part...); len(out) > maxCubes {
			return nil, errTooManyCubes
		}
	}
	return out, nil
}
