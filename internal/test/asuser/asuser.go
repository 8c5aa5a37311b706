// Package asuser runs a test suite twice: as it was started and, where that was as root, as an ordinary user.
//
// A package calls Main from its TestMain. For the second run the test binary is copied to a directory that the user can
// read, and with ShareTestdata the project's testdata, since a checkout may lie below a home directory that it cannot.
package asuser

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// UID is the ordinary user of the second run. It has no account and owns no files of the machine.
const UID = 54321

const (
	dirVar  = "BRIG_TEST_DIR"  // set in the second run: where the copy is
	onlyVar = "BRIG_TEST_ONLY" // "root" or "user" for one run only
	// binVar names brig where it has been built already: a machine for the tests alone has no compiler.
	binVar = "BRIG_TEST_BINARY"
)

// Main runs the suite as root and as a user, and after Delegate once more, and returns the exit code. Each setup runs
// before both, as the caller, and may leave files in Dir.
func Main(m *testing.M, setup ...func(dir string) error) (code int) {
	syscall.Umask(0o022) // a caller's 077 would hide the tests' files from the jail
	err := enter()
	if Second() && err == nil {
		return m.Run()
	}
	if dir := os.Getenv(dirVar + "_FIRST"); dir != "" && err == nil { // a test has started this, and may kill it
		return m.Run()
	}
	name := "brig-test-"
	if os.TempDir() != "/tmp" { // scripts/in-tmp.sh; tests have paths that messages cut when they are long
		name = "b"
	}
	dir, made := os.MkdirTemp("", name)
	defer os.RemoveAll(dir)
	os.Setenv(dirVar+"_FIRST", dir) // for processes that a test starts, too
	if err = errors.Join(err, made); err == nil {
		err = prepare(dir, setup)
	}
	if err == nil {
		code, err = runs(m, dir)
		err = errors.Join(err, third.leave())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "asuser:", err)
		return max(code, 1)
	}
	return code
}

// runs runs the suite as the caller, as the user, and as the user in groups of its own.
func runs(m *testing.M, dir string) (code int, err error) {
	if os.Getenv(onlyVar) != "user" {
		code = m.Run()
	}
	if os.Geteuid() != 0 || code != 0 || os.Getenv(onlyVar) == "root" {
		return code, nil
	}
	fmt.Printf("--- again as uid %d\n", UID)
	home := filepath.Join(dir, "home")
	err = errors.Join(copyFile("/proc/self/exe", filepath.Join(dir, "suite.test")), os.Mkdir(home, 0o700),
		os.Chown(home, UID, UID))
	if err == nil {
		code, err = run(dir, os.Args[1:], nil)
	}
	if code != 0 || err != nil {
		return code, err
	}
	return third.run(dir)
}

// SecondOnly limits the ordinary user's run to the tests that match a pattern, unless the command line names others.
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

// Second reports whether this is a run as an ordinary user that Main has started.
func Second() bool { return os.Getenv(dirVar) != "" }

// Dir returns a directory that both runs can read: it holds what the setups have left.
func Dir() string {
	if Second() {
		return os.Getenv(dirVar)
	}
	return os.Getenv(dirVar + "_FIRST")
}

// Testdata returns the copy of the project's testdata directory that ShareTestdata has made.
func Testdata() string { return filepath.Join(Dir(), "testdata") }

// ShareTestdata is a setup that copies the project's testdata directory for both runs.
func ShareTestdata(dir string) error {
	root, err := checkout()
	if err != nil {
		return err
	}
	return copyTree(filepath.Join(dir, "testdata"), filepath.Join(root, "testdata"))
}

func prepare(dir string, setup []func(string) error) error {
	err := os.Chmod(dir, 0o755)
	for _, f := range setup {
		if err == nil {
			err = f(dir)
		}
	}
	return err
}

// checkout finds the root of the source from the directory that go test runs in, which is in either module.
func checkout() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil && dir != "/"; dir = filepath.Dir(dir) {
		if _, serr := os.Stat(filepath.Join(dir, "scripts/go.work")); serr == nil {
			return dir, nil
		}
	}
	return "", errors.Join(err, errors.New("no scripts/go.work above the test"))
}

// run starts the copy of this binary as the user, with files as its descriptors from 3 on.
func run(dir string, args []string, files []*os.File, env ...string) (code int, err error) {
	exe, home := filepath.Join(dir, "suite.test"), filepath.Join(dir, "home")
	ours := func(a string) bool { return strings.HasPrefix(a, "-test.testlogfile=") } // only the first run may write it
	cmd := exec.Command(exe, slices.DeleteFunc(slices.Clone(args), ours)...)
	cmd.Dir = home
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), dirVar+"="+dir, "HOME="+home, "TMPDIR="+home, "XDG_CACHE_HOME=", "XDG_RUNTIME_DIR=")
	cmd.Env, cmd.ExtraFiles = append(cmd.Env, env...), files
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: UID, Gid: UID, Groups: []uint32{}}}
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}

// copyTree copies a directory such that everybody may read it, whatever umask(2) the checkout was made with.
func copyTree(to, from string) error {
	err := os.CopyFS(to, os.DirFS(from))
	if err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		return os.Chmod(path, mode)
	})
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}

// Build makes a program of either module for both runs, statically, in dir. Where the environment has BRIG_TEST_BINARY,
// as in a guest without Go, that is taken for brig, and its neighbour for another program, if there is one.
func Build(pkg, name string) func(dir string) error {
	return func(dir string) error {
		if made := os.Getenv(binVar); made != "" {
			if name != "brig" {
				made = filepath.Join(filepath.Dir(made), filepath.Base(pkg))
			}
			if _, err := os.Stat(made); err == nil || name == "brig" {
				return copyFile(made, filepath.Join(dir, name))
			}
		}
		root, err := checkout()
		if err != nil {
			return err
		}
		cmd := exec.Command("scripts/static.sh", "build", "-o", filepath.Join(dir, name), pkg)
		cmd.Dir = root
		cmd.Stderr = os.Stderr
		return cmd.Run()
	}
}
