package main

import (
	"strings"

	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail/spec"
	"brig/seccomp"
)

func (b *builder) isolationFlags() []cli.Flag {
	seccomp := cli.Flag{Name: "seccomp", Args: "FILE|NAME", Files: true, Path: "seccomp",
		Set:   cli.Text(&b.inv.spec.Seccomp, "default"),
		Words: seccomp.Names(),
		Help: "the system-call filter: " + strings.Join(seccomp.Names(), ", ") +
			", or a profile in docker's JSON (a path has a /); brig help seccomp"}
	if b.inv.command == "explain" {
		seccomp.Bare, seccomp.Greedy = cli.Switch(&b.inv.seccompTable, true), true
		seccomp.Help += "; alone or without a command, print the filter"
	}
	names := mechanisms(func(spec.Mechanism) bool { return true })
	return cli.InGroup("Isolation", []cli.Flag{
		seccomp,
		{Name: "apparmor", Args: "PROFILE", Path: "apparmor", Set: cli.Text(&b.inv.spec.AppArmor, "PROFILE"),
			Help: "start the payload in this AppArmor profile, which the kernel must have loaded in enforce mode"},
		{Name: "selinux-label", Args: "LABEL", Path: "selinux_label", Set: cli.Text(&b.inv.spec.SELinuxLabel, "LABEL"),
			Help: "start the payload with this SELinux context: USER:ROLE:TYPE[:LEVEL]"},
		{Name: "tier", Args: "process", Path: "tier", Words: []string{string(spec.TierProcess)},
			Set:  cli.Text(&b.inv.spec.Tier, "process"),
			Help: "use no namespaces, for machines that forbid them; this is weaker, and needs Linux 6.12: brig help tier"},
		{Name: "system", Args: "MODE", Path: "rootfs.system", Words: []string{"private", "shared"},
			Set: cli.Text(&b.inv.spec.Rootfs.System, "shared"),
			Help: "show the host's /usr by overlays of the jail's own (private, the default), or by read-only binds " +
				"(shared), which are faster, and through which locks and watches cross"},
		{Name: "tty", Short: 't', Path: "tty", Set: cli.Switch(&b.inv.spec.TTY, true),
			Help: "give the payload a terminal of its own, for shells and editors; " +
				"~. at the start of a line ends the jail, ~? lists more"},
		{Name: "interactive", Short: 'i', Many: true, Set: asAlways,
			Help: "no effect: stdin always reaches the payload, so docker's -it is --tty"},
		{Name: "rm", Many: true, Set: asAlways,
			Help: "no effect: a jail never leaves anything behind"},
		{Name: "init", Path: "no_init", Set: cli.Switch(&b.inv.spec.NoInit, false),
			Help: "run an init as pid 1 that reaps and forwards signals (the default)"},
		{Name: "no-init", Path: "no_init", Set: cli.Switch(&b.inv.spec.NoInit, true),
			Help: "make the payload pid 1"},
		{Name: "require", Args: "NAME,...", Many: true, Words: names, Set: b.names("require", &b.inv.spec.Require),
			Help: "fail unless these mechanisms are in force, with no fall-back"},
		{Name: "optional", Args: "NAME,...", Many: true, Words: names, Set: b.names("optional", &b.inv.spec.Optional),
			Help: "continue without these mechanisms if this machine lacks them; the report lists them"},
	})
}

// mechanisms returns the names of those to be listed.
func mechanisms(listed func(spec.Mechanism) bool) (names []string) {
	for _, m := range spec.Mechanisms() {
		if listed(m) {
			names = append(names, m.Name)
		}
	}
	return names
}

// asAlways sets nothing. It accepts docker's flags for properties that every jail has.
func asAlways([]string) error { return nil }

func (b *builder) setSpec(v []string) error {
	data, err := b.read(v[0], spec.MaxSpecSize)
	if err != nil {
		return err
	}
	b.flag += " " + words.Quote(v[0])
	spec, err := spec.ParseSpec(data)
	if err != nil {
		return err
	}
	b.inv.spec, b.inv.specFile, b.fromSpec = *spec, v[0], len(spec.Mounts)
	return nil
}

// names returns a setter that adds the words of a comma-separated list to a field of the Spec.
func (b *builder) names(field string, to *[]string) func([]string) error {
	return func(v []string) error {
		for name := range strings.SplitSeq(v[0], ",") {
			b.add(field, to, name)
		}
		return nil
	}
}
