package spec

import (
	"fmt"
	"strings"
	"unicode"

	"brig/internal/words"
)

// maxLabel bounds a label, in bytes. The kernel takes a page for it with the words around it: proc_pid_attr(5).
const maxLabel = 1023

// labels checks the names of an AppArmor profile and of an SELinux context.
func (c *checker) labels(s *Spec) {
	if c.label(s, "apparmor", s.AppArmor) && s.AppArmor == "unconfined" {
		c.add("apparmor", words.Quote(s.AppArmor)+" confines nothing", "remove it, or name a profile")
	}
	if c.label(s, "selinux_label", s.SELinuxLabel) && strings.Count(s.SELinuxLabel, ":") < 2 {
		c.add("selinux_label", words.Quote(s.SELinuxLabel)+" is not a context",
			"write USER:ROLE:TYPE, and :LEVEL where the policy has levels, as id -Z prints it")
	}
}

// label checks what both have in common, and reports whether there is one that can be written. A label may forbid init
// to send signals to the payload. The kernel then ends the payload with init's pid namespace, and in no other way.
func (c *checker) label(s *Spec, field, value string) bool {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	switch {
	case value == "" || !c.text(field, value):
		return false
	case len(value) > maxLabel:
		c.add(field, fmt.Sprintf("%s is longer than %d bytes", words.Quote(value), maxLabel), "shorten it")
	case strings.ContainsFunc(value, odd) || strings.TrimSpace(value) != value:
		c.add(field, words.Quote(value)+" begins or ends with a blank, or has a control byte", "remove that")
	case s.Tier != "":
		c.add(field, "in the process tier signals end the jail, and a label may forbid them", "use the default tier")
	case s.NoInit:
		c.add(field, "without init signals end the jail, and a label may forbid them", "remove one of the two")
	default:
		return true
	}
	return false
}
