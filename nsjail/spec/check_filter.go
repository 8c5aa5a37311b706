package spec

import (
	"fmt"
	"strings"
	"unicode"

	"brig/internal/words"
)

// checkSeccomp checks the form of the filter's name. Package seccomp knows the presets, so Resolve reports an unknown
// one.
func checkSeccomp(filter string) (c problems) {
	if FileProfile(filter) {
		c.hostPath("seccomp", filter)
	} else {
		c.text("seccomp", filter)
	}
	return c
}

// FileProfile reports whether the value of Spec.Seccomp is the path of a profile.
func FileProfile(name string) bool { return strings.Contains(name, "/") }

// maxLabel bounds a label, in bytes. The kernel takes a page for it with the words around it: proc_pid_attr(5).
const maxLabel = 1023

// checkLabels checks the names of an AppArmor profile and of an SELinux context.
func checkLabels(apparmor, selinux string, tier Tier, noInit bool) problems {
	profile := checkLabel("apparmor", apparmor, tier, noInit)
	if len(profile) == 0 && apparmor == "unconfined" {
		profile.add("apparmor", words.Quote(apparmor)+" confines nothing", "remove it, or name a profile")
	}
	context := checkLabel("selinux_label", selinux, tier, noInit)
	if len(context) == 0 && selinux != "" && strings.Count(selinux, ":") < 2 {
		context.add("selinux_label", words.Quote(selinux)+" is not a context",
			"write USER:ROLE:TYPE, and :LEVEL where the policy has levels, as id -Z prints it")
	}
	return append(profile, context...)
}

// checkLabel checks what both have in common. A label may forbid init to send signals to the payload. The kernel then
// ends the payload with init's pid namespace, and in no other way.
func checkLabel(field, value string, tier Tier, noInit bool) (c problems) {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	switch {
	case value == "" || !c.text(field, value):
	case len(value) > maxLabel:
		c.add(field, fmt.Sprintf("%s is longer than %d bytes", words.Quote(value), maxLabel), "shorten it")
	case strings.ContainsFunc(value, odd) || strings.TrimSpace(value) != value:
		c.add(field, words.Quote(value)+" begins or ends with a blank, or has a control byte", "remove that")
	case tier != "":
		c.add(field, "in the process tier signals end the jail, and a label may forbid them", "use the default tier")
	case noInit:
		c.add(field, "without init signals end the jail, and a label may forbid them", "remove one of the two")
	}
	return c
}
