// Package verifycmd has brig verify, which takes the flags of run and ignores the command line for the jail.
package verifycmd

import (
	"fmt"
	"os"

	"brig/cmd/brig/internal/console"
	"brig/cmd/brig/internal/daemon"
	"brig/cmd/brig/internal/outfile"
	"brig/cmd/brig/internal/rootimage"
	"brig/cmd/brig/internal/scope"
	"brig/cmd/brig/internal/wish"
	"brig/internal/cli"

	"golang.org/x/sys/unix"
)

// Help writes the part of brig help verify that follows the flags.
func Help(h *cli.Help) {
	h.WriteString("\nA command may follow, as for run; it is not run.\n\nExit codes:\n")
	for _, e := range exitCodes() {
		h.Row(e[0], e[1], 14)
	}
}

func exitCodes() [][2]string {
	return [][2]string{
		{"0", "all that the configuration claims has held"},
		{"1", "something got through, or nothing could be verified"},
		{"125", "it could not be tried"},
	}
}

// Verify is brig verify.
type Verify struct{ flags []string } // for brigd

// Flags returns the flags that run does not have. brigd reads them.
func (o *Verify) Flags() []cli.Flag {
	pass := func(name string) func([]string) error {
		return func(v []string) error {
			o.flags = append(o.flags, append([]string{name}, v...)...)
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

// Run executes brigd, which has the attacks, with the Spec in a file in memory.
func (o *Verify) Run(w *wish.Wish, root rootimage.Root, std *console.Console) int {
	if flag := w.OfRun(); flag != "" {
		return std.Fail("verify: " + flag + " is for the run of a command, which verify does not run; leave it out")
	}
	if bad := w.Spec.NotUTF8(); len(bad) > 0 {
		return std.Fail(w.Translate(bad[0], std.Words))
	}
	if w.SystemdScope {
		if err := scope.Enter(); err != nil {
			return std.Fail(err.Error())
		}
	}
	file, err := outfile.Memory("spec", w.Spec.JSON())
	for _, f := range []*os.File{file, root.Held} { // brigd reads the one, and keeps the image by the other
		if err == nil && f != nil {
			_, err = unix.FcntlInt(f.Fd(), unix.F_SETFD, 0) // fcntl(2): it stays open in brigd
		}
	}
	if err != nil {
		return std.Fail("verify: " + err.Error())
	}
	args := append([]string{"--spec", fmt.Sprintf("/proc/self/fd/%d", file.Fd())}, o.flags...)
	if w.Output.JSON {
		args = append(args, "--json")
	}
	return daemon.Exec("verify", args, std)
}
