package main

import (
	"fmt"
	"os"

	"brig/cmd/brig/internal/console"
	"brig/internal/cli"

	"golang.org/x/sys/unix"
)

// verifyCommand returns the command, which takes the flags of run and ignores the command line for the jail.
func verifyCommand() cli.Command {
	c := payload("verify", "perform attacks in the jail of these flags, and show what it holds (brigd verify)", verify)
	c.Args = "[FLAG...]"
	c.After = func(h *cli.Help) {
		h.WriteString("\nA command may follow, as for run; it is not run.\n\nExit codes:\n")
		for _, e := range verifyCodes() {
			h.Row(e[0], e[1], 14)
		}
	}
	return c
}

func verifyCodes() [][2]string {
	return [][2]string{
		{"0", "all that the configuration claims has held"},
		{"1", "something got through, or nothing could be verified"},
		{"125", "it could not be tried"},
	}
}

// verifyFlags returns the flags of verify that run does not have. brigd reads them.
func verifyFlags(inv *invocation) []cli.Flag {
	pass := func(name string) func([]string) error {
		return func(v []string) error {
			inv.verifying = append(inv.verifying, append([]string{name}, v...)...)
			return nil
		}
	}
	return cli.InGroup("Verify", []cli.Flag{
		{Name: "only", Args: "NAME,...", Set: pass("--only"),
			Help: "only attacks with such a name, or that begin so: cap, net-alg"},
		{Name: "all", Set: pass("--all"), Help: "print each attack, not only those that did not hold"},
		{Name: "harmful", Set: pass("--harmful"), Help: "perform attacks whose success does harm to this machine, too"},
	})
}

// verify runs `brig verify`: it executes brigd, which has the attacks, with the Spec in a file in memory.
func verify(inv *invocation, std *console.Console) int {
	if flag := inv.ofRun(); flag != "" {
		return std.Fail("verify: " + flag + " is for the run of a command, which verify does not run; leave it out")
	}
	if bad := inv.spec.NotUTF8(); len(bad) > 0 {
		return std.Fail(inv.translate(bad[0]))
	}
	if inv.systemdScope {
		if err := enterScope(); err != nil {
			return std.Fail(err.Error())
		}
	}
	file, err := memory("spec", inv.spec.JSON())
	for _, f := range []*os.File{file, inv.held} { // brigd reads the one, and keeps the image by the other
		if err == nil && f != nil {
			_, err = unix.FcntlInt(f.Fd(), unix.F_SETFD, 0) // fcntl(2): it stays open in brigd
		}
	}
	if err != nil {
		return std.Fail("verify: " + err.Error())
	}
	args := append([]string{"--spec", fmt.Sprintf("/proc/self/fd/%d", file.Fd())}, inv.verifying...)
	if inv.json {
		args = append(args, "--json")
	}
	return execDaemon("verify", args, std)
}
