package wish

import (
	"strings"

	"brig/internal/cli"
	"brig/nsjail/spec"
	"brig/seccomp"
)

// isolationFlags returns the flags for what keeps the payload apart. With table, --seccomp alone sets it.
func isolationFlags(s *sheet, table *bool) []cli.Flag {
	seccomp := cli.Flag{Name: "seccomp", Args: "FILE|NAME", Files: true, Path: "seccomp",
		Set:   cli.Text(&s.spec.Seccomp, "default"),
		Words: seccomp.Names(),
		Help: "the system-call filter: " + strings.Join(seccomp.Names(), ", ") +
			", or a profile in docker's JSON (a path has a /); brig help seccomp"}
	if table != nil {
		seccomp.Bare, seccomp.Greedy = cli.Switch(table, true), true
		seccomp.Help += "; alone or without a command, print the filter"
	}
	var names []string
	for _, m := range spec.Mechanisms() {
		names = append(names, m.Name)
	}
	return cli.InGroup("Isolation", []cli.Flag{
		seccomp,
		{Name: "apparmor", Args: "PROFILE", Path: "apparmor", Set: cli.Text(&s.spec.AppArmor, "PROFILE"),
			Help: "start the payload in this AppArmor profile, which the kernel must have loaded in enforce mode"},
		{Name: "selinux-label", Args: "LABEL", Path: "selinux_label", Set: cli.Text(&s.spec.SELinuxLabel, "LABEL"),
			Help: "start the payload with this SELinux context: USER:ROLE:TYPE[:LEVEL]"},
		{Name: "tier", Args: "process", Path: "tier", Words: []string{string(spec.TierProcess)},
			Set:  cli.Text(&s.spec.Tier, "process"),
			Help: "use no namespaces, for machines that forbid them; this is weaker, and needs Linux 6.12: brig help tier"},
		{Name: "system", Args: "MODE", Path: "rootfs.system", Words: []string{"private", "shared"},
			Set: cli.Text(&s.spec.Rootfs.System, "shared"),
			Help: "show the host's /usr by overlays of the jail's own (private, the default), or by read-only binds " +
				"(shared), which are faster, and through which locks and watches cross"},
		{Name: "tty", Short: 't', Path: "tty", Set: cli.Switch(&s.spec.TTY, true),
			Help: "give the payload a terminal of its own, for shells and editors; " +
				"~. at the start of a line ends the jail, ~? lists more"},
		{Name: "interactive", Short: 'i', Many: true, Set: asAlways,
			Help: "no effect: stdin always reaches the payload, so docker's -it is --tty"},
		{Name: "rm", Many: true, Set: asAlways,
			Help: "no effect: a jail never leaves anything behind"},
		{Name: "init", Path: "no_init", Set: cli.Switch(&s.spec.NoInit, false),
			Help: "run an init as pid 1 that reaps and forwards signals (the default)"},
		{Name: "no-init", Path: "no_init", Set: cli.Switch(&s.spec.NoInit, true),
			Help: "make the payload pid 1"},
		{Name: "require", Args: "NAME,...", Many: true, Words: names, Set: s.names("require", &s.spec.Require),
			Help: "fail unless these mechanisms are in force, with no fall-back"},
		{Name: "optional", Args: "NAME,...", Many: true, Words: names, Set: s.names("optional", &s.spec.Optional),
			Help: "continue without these mechanisms if this machine lacks them; the report lists them"},
	})
}

// asAlways sets nothing. It accepts docker's flags for properties that every jail has.
func asAlways([]string) error { return nil }
