package launcher

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"brig/internal/test/asuser"
)

// strangerVar marks a child of this suite that must not become a launcher; "hop" makes it start one more.
const strangerVar = "BRIG_TEST_STRANGER"

func TestMain(m *testing.M) {
	switch os.Getenv(strangerVar) {
	case "":
		os.Exit(asuser.Main(m, buildDriver))
	case "hop":
		os.Exit(hop())
	}
	fmt.Println("not a launcher")
	os.Exit(0)
}

// hop starts this program once more as brig-launcher with the inherited socket, whose maker is then not its parent.
func hop() int {
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"brig-launcher"},
		&syscall.ProcAttr{Env: []string{strangerVar + "=1"}, Files: []uintptr{0, 1, 2, 3}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return ws.ExitStatus()
}

// buildDriver compiles the launcher with the sanitizers and testdata/check_main.c. Where the compiler has none it
// leaves its message, for TestMalformedPrograms to show.
func buildDriver(dir string) error {
	args := []string{"-g", "-O1", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-DBRIG_CALL=test_syscall", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}
	probe := filepath.Join(dir, "probe.c")
	if err := os.WriteFile(probe, []byte("int main(void) { return 0; }\n"), 0o644); err != nil {
		return err
	}
	out, err := exec.Command("gcc", append(args, "-o", filepath.Join(dir, "probe"), probe)...).CombinedOutput()
	if err != nil {
		return os.WriteFile(filepath.Join(dir, "no-sanitizer"), fmt.Appendf(out, "%v\n", err), 0o644)
	}
	out, err = exec.Command("gcc", append(args, "-o", filepath.Join(dir, "check_main"), "testdata/check_main.c", "spawn.c", "keeper.c", "init.c")...).CombinedOutput()
	if err != nil {
		return errors.Join(err, errors.New(string(out)))
	}
	return nil
}
