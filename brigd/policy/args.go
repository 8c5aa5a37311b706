package policy

import (
	"fmt"
	"slices"
	"strings"

	"brig/brigd/job"
	"brig/internal/words"
)

// arguments checks args against one entry. denied means that the entry denies them, even if other entries allow them.
func (p *programRules) arguments(k Command, args []string) (denied bool, _ *job.Refusal) {
	for _, f := range k.DenyFlags {
		if i := slices.IndexFunc(args, func(a string) bool { return spells(f, a) }); i >= 0 {
			return true, p.badArgument(k, fmt.Sprintf("the argument %s, which is or may be the option %s, is not allowed",
				words.QuoteASCII(args[i]), f),
				"Leave the option "+f+" out.")
		}
	}
	for _, d := range k.Deny {
		if matches(d, args, true) {
			return true, p.badArgument(k, "its arguments match what is denied: "+form(d), "Call it with other arguments.")
		}
	}
	if k.Flags != nil {
		if i := slices.IndexFunc(args, func(a string) bool { return !flagAllowed(k.Flags, a) }); i >= 0 {
			return false, p.badArgument(k, "the option "+words.QuoteASCII(args[i])+" is not allowed",
				"Use only these options, each by itself: "+orNone(k.Flags)+".")
		}
	}
	if len(k.Allow) == 0 || slices.ContainsFunc(k.Allow, func(a []string) bool { return matches(a, args, false) }) {
		return false, nil
	}
	return false, p.badArgument(k, "its arguments match nothing that is allowed",
		"Use one of these forms, where * is any text and ... any arguments: "+
			strings.Join(texts(k.Allow, form), "; ")+".")
}

func (p *programRules) badArgument(k Command, message, next string) *job.Refusal {
	return p.refusal("commands."+k.Command, "arguments_not_allowed", k.Command+": "+message, next)
}
