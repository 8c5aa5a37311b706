// Package daemon has brigd do what brig leaves to it, because its code would slow down each start of brig.
package daemon

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"brig/cmd/brig/internal/console"
	"brig/internal/cli"
	"brig/internal/words"
)

// Command returns a command that brigd performs. It executes the brigd beside this program, or else the one on PATH.
// What brigd does for its own callers is no command of brig: see Neighbour in the table of commands.
func Command(name, args, what string, open func(cli.Stdio) *console.Console) cli.Command {
	return cli.Command{Name: name, Args: args, What: what + " (brigd " + name + ")",
		Run: func(args []string, std cli.Stdio) int { return Exec(name, args, open(std)) }}
}

// Exec replaces this process by brigd. It returns only on failure.
func Exec(name string, args []string, std *console.Console) int {
	path, err := Find("which has this command")
	if err != nil {
		return std.Refuse(name, err)
	}
	err = syscall.Exec(path, append([]string{"brigd", name}, args...), os.Environ()) // execve(2)
	return std.Fail(name + ": " + words.Quote(path) + ": " + cli.Reason(err) + "; install brigd again")
}

// Find returns the path of brigd. does is what brigd is for, in its error.
func Find(does string) (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "brigd")
		if st, err := os.Stat(beside); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return beside, nil
		}
	}
	path, err := exec.LookPath("brigd") // a brigd in the current directory is an error: exec.ErrDot
	if err != nil {
		err = errors.New("brigd, " + does + ", is neither beside brig nor on PATH; install it (make install), or name its " +
			"directory in PATH")
	}
	return path, err
}
