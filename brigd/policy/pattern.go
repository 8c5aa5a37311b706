package policy

import (
	"slices"
	"strings"
)

// Rest is the item of a pattern that matches any number of arguments.
const Rest = "..."

func form(pattern []string) string {
	if len(pattern) == 0 {
		return "(no arguments)"
	}
	return strings.Join(pattern, " ")
}

// matches reports whether a pattern matches all arguments: one item for each argument, and Rest for any number. In a
// deny pattern, an option without a wildcard matches every spelling of it.
func matches(pattern, args []string, deny bool) bool {
	// reach[i] is true if the items so far match args[:i]. The run time is at most items times arguments.
	reach := make([]bool, len(args)+1)
	reach[0] = true
	for _, item := range pattern {
		next := make([]bool, len(args)+1)
		for i := range next {
			if item == Rest {
				next[i] = reach[i] || i > 0 && next[i-1]
			} else if i > 0 && reach[i-1] {
				next[i] = fits(item, args[i-1]) || deny && option(item) && !strings.ContainsAny(item, `*?\`) &&
					spells(item, args[i-1])
			}
		}
		reach = next
	}
	return reach[len(args)]
}

// fits reports whether item matches the whole argument: * matches any number of bytes (slashes too), ? one byte, and \
// escapes the next byte.
func fits(item, arg string) bool {
	// Glob matching that backtracks to the last star only: at most len(item) times len(arg) steps.
	i, a, star, from := 0, 0, -1, 0
	for a < len(arg) {
		if i < len(item) {
			switch c := item[i]; {
			case c == '*':
				star, from = i, a
				i++
				continue
			case c == '?':
				i, a = i+1, a+1
				continue
			case c == '\\' && i+1 < len(item) && item[i+1] == arg[a]:
				i, a = i+2, a+1
				continue
			case c != '\\' && c == arg[a], c == '\\' && i+1 == len(item) && arg[a] == '\\':
				i, a = i+1, a+1
				continue
			}
		}
		if star < 0 {
			return false
		}
		from++
		i, a = star+1, from
	}
	return strings.Trim(item[i:], "*") == ""
}

// spells reports whether arg may be the option name in any usual spelling: with "=value"; a long option abbreviated
// (getopt_long(3)), or with one hyphen instead of two or two instead of one (Go's package flag); a short option grouped
// with others, or with its value attached. Arguments after "--" are checked as well, since not every program stops
// there.
func spells(name, arg string) bool {
	plain := strings.TrimLeft(name, "-")
	if len(arg) < 2 || arg[0] != '-' {
		return false
	}
	given, _, _ := strings.Cut(arg, "=")
	given = strings.TrimPrefix(strings.TrimPrefix(given, "-"), "-")
	if len(plain) == 1 {
		return !strings.HasPrefix(arg, "--") && strings.Contains(arg[1:], plain) || given == plain
	}
	return given != "" && strings.HasPrefix(plain, given) &&
		(len(given) > 1 || strings.HasPrefix(arg, "--") || given == plain)
}

// flagAllowed reports whether an argument is not an option, or is a listed one. "--name=value" is allowed if "--name="
// is listed. Grouped short options are allowed if each of them is listed.
func flagAllowed(list []string, arg string) bool {
	if len(arg) < 2 || arg[0] != '-' || arg == "--" || slices.Contains(list, arg) {
		return true
	}
	if name, _, ok := strings.Cut(arg, "="); ok {
		return slices.Contains(list, name+"=")
	}
	if strings.HasPrefix(arg, "--") {
		return false
	}
	for _, c := range arg[1:] {
		if !slices.Contains(list, "-"+string(c)) {
			return false
		}
	}
	return true
}

// option reports whether s is the name of an option, without a value.
func option(s string) bool {
	name := strings.TrimLeft(s, "-")
	return len(s) > len(name) && len(s)-len(name) <= 2 && name != "" && !strings.ContainsAny(name, "= \x00")
}
