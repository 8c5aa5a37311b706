package spec

import (
	"slices"

	"brig/internal/words"
)

// checkMechanisms checks the names of Require and Optional: asked has those that fields of the Spec need.
func checkMechanisms(require, optional []string, asked map[string]bool, system System) (c problems) {
	for i, name := range require {
		field := Index("require", i)
		switch m, ok := mechanism(name); {
		case !ok:
			c = append(c, unknownMechanism(field, name)...)
		case slices.Contains(optional, name):
			c.add(field, words.Quote(name)+" is also listed under optional", "remove one of the two")
		case name == "overlay" && system == SystemShared:
			c.add(field, "a shared /usr is no overlay", "remove it here, or write private as rootfs.system")
		case m.OnDemand && !asked[name]:
			c.add(field, words.Quote(name)+" is required, and the spec does not set it", "set it, or remove it here")
		}
	}
	for i, name := range optional {
		field := Index("optional", i)
		if _, ok := mechanism(name); !ok {
			c = append(c, unknownMechanism(field, name)...)
		} else if name == "cow" {
			c.add(field, "without it a cow mount would change its source", "remove it here, or leave out the cow mount")
		}
	}
	return c
}

func unknownMechanism(field, name string) (c problems) {
	c.add(field, words.Quote(name)+" is not a mechanism", words.DidYouMean(name, mechanismNames()))
	return c
}
