// Package asuser runs a test suite twice: as it was started and, where that was as root, as an ordinary user.
//
// A package calls Main from its TestMain. For the second run the test binary and the project's testdata are copied to
// a directory that the user can read, since a checkout may lie below a home directory that it cannot.
package asuser

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// UID is the ordinary user of the second run: an id without an account, so that nothing on the machine is its.
const UID = 54321

const (
	dirVar  = "BRIG_TEST_DIR"  // set in the second run: where the copy is
	onlyVar = "BRIG_TEST_ONLY" // "root" or "user" for one run only
	// binVar names brig where it has been built already: a machine for the tests alone has no compiler.
	binVar = "BRIG_TEST_BINARY"
)

// Main runs the suite as root and as a user, and where a setup is by Delegate once more, and returns the exit code.
// Each setup runs before both, as the caller, and may leave files in Dir.
func Main(m *testing.M, setup ...func(dir string) error) int {
	if Second() {
		if err := enter(); err != nil {
			fmt.Fprintln(os.Stderr, "asuser:", err)
			return 1
		}
		return m.Run()
	}
	dir, err := prepare(setup)
	if dir != "" {
		defer os.RemoveAll(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "asuser:", err)
		return 1
	}
	os.Setenv(dirVar+"_FIRST", dir)
	code := runs(m, dir)
	if err := leave(dir); err != nil {
		fmt.Fprintln(os.Stderr, "asuser:", err)
		return max(code, 1)
	}
	return code
}

// runs runs the suite as the caller, as the user, and as the user in groups of its own.
func runs(m *testing.M, dir string) int {
	code := 0
	if os.Getenv(onlyVar) != "user" {
		code = m.Run()
	}
	if os.Geteuid() != 0 || code != 0 || os.Getenv(onlyVar) == "root" {
		return code
	}
	fmt.Printf("--- again as uid %d\n", UID)
	if code = again(dir); code != 0 {
		return code
	}
	return delegated(dir)
}

// SecondOnly has the ordinary user's run be of the tests that match a pattern, unless the command line names others.
func SecondOnly(pattern string) {
	if !Second() {
		return
	}
	flag.Parse()
	if run := flag.Lookup("test.run"); run.Value.String() == "" {
		if err := run.Value.Set(pattern); err != nil {
			panic(err)
		}
	}
}

// Second reports that this is a run as an ordinary user that Main has started.
func Second() bool { return os.Getenv(dirVar) != "" }

// Dir is a directory that both runs can read: it holds what the setups have left.
func Dir() string {
	if Second() {
		return os.Getenv(dirVar)
	}
	return os.Getenv(dirVar + "_FIRST")
}

// Testdata is the project's testdata directory.
func Testdata() string { return filepath.Join(Dir(), "testdata") }

func prepare(setup []func(string) error) (string, error) {
	dir, err := os.MkdirTemp("", "brig-test-")
	if err != nil {
		return "", err
	}
	root, err := moduleRoot()
	if err != nil {
		return dir, err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return dir, err
	}
	if err := os.CopyFS(filepath.Join(dir, "testdata"), os.DirFS(filepath.Join(root, "testdata"))); err != nil {
		return dir, err
	}
	for _, f := range setup {
		if err := f(dir); err != nil {
			return dir, err
		}
	}
	return dir, nil
}

// moduleRoot finds the checkout from the directory that go test runs in.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil && dir != "/" {
		if _, serr := os.Stat(filepath.Join(dir, "go.mod")); serr == nil {
			return dir, nil
		}
		dir = filepath.Dir(dir)
	}
	return "", errors.Join(err, errors.New("no go.mod above the test"))
}

func again(dir string) int {
	exe := filepath.Join(dir, "suite.test")
	home := filepath.Join(dir, "home")
	if err := errors.Join(copyFile("/proc/self/exe", exe), os.Mkdir(home, 0o700), os.Chown(home, UID, UID)); err != nil {
		fmt.Fprintln(os.Stderr, "asuser:", err)
		return 1
	}
	return run(dir, args(""), nil)
}

// args are those of the first run; tests, a pattern, stands where it has named none.
func args(tests string) (list []string) {
	named := false
	for _, a := range os.Args[1:] {
		if !strings.HasPrefix(a, "-test.testlogfile=") { // go test's own file, which only the first run may write
			list = append(list, a)
		}
		named = named || strings.HasPrefix(a, "-test.run=")
	}
	if tests != "" && !named {
		list = append(list, "-test.run="+tests)
	}
	return list
}

// run starts the copy of this binary as the user.
func run(dir string, args []string, files []*os.File, env ...string) int {
	exe, home := filepath.Join(dir, "suite.test"), filepath.Join(dir, "home")
	cmd := exec.Command(exe, args...)
	cmd.Dir = home
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), dirVar+"="+dir, "HOME="+home, "TMPDIR="+home, "XDG_CACHE_HOME=", "XDG_RUNTIME_DIR=")
	cmd.Env, cmd.ExtraFiles = append(cmd.Env, env...), files
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: UID, Gid: UID, Groups: []uint32{}}}
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "asuser:", err)
		return 1
	}
	return 0
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Build makes a program of this module for both runs, statically, in dir. The environment's BRIG_TEST_BINARY, where it
// is set, is taken for brig instead.
func Build(pkg, name string) func(dir string) error {
	return func(dir string) error {
		if made := os.Getenv(binVar); made != "" && name == "brig" {
			return copyFile(made, filepath.Join(dir, name))
		}
		root, err := moduleRoot()
		if err != nil {
			return err
		}
		cmd := exec.Command("go", "build", "-tags", "netgo,osusergo", "-ldflags", "-linkmode external -extldflags -static",
			"-o", filepath.Join(dir, name), pkg)
		cmd.Dir = root
		cmd.Stderr = os.Stderr
		return cmd.Run()
	}
}
