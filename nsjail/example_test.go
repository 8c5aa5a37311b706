package nsjail_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"brig/netns/egress/policy"
	"brig/nsjail"
)

// The default jail: a root made of the host's /usr, no network but lo, no capability, a system-call filter.
func Example() {
	out, result, err := nsjail.Command("sh", "-c", "id -u; hostname; echo $HOME").Output()
	if err != nil {
		log.Fatal(err) // the jail could not be made; nothing ran
	}
	fmt.Printf("%s%s\n", out, result.Status)
	// Output:
	// 1000
	// brig
	// /home/brig
	// ok
}

// Streams are exec.Cmd's: a reader and two writers, or files that are passed straight through.
func ExampleCommand() {
	cmd := nsjail.Command("tr", "a-z", "A-Z")
	cmd.Stdin = strings.NewReader("untrusted text\n")
	cmd.Stdout = os.Stdout
	if _, err := cmd.Run(); err != nil {
		log.Fatal(err)
	}
	// Output: UNTRUSTED TEXT
}

// One directory to read, one to write.
func ExampleCmd_mounts() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := errors.Join(os.Mkdir(in, 0o755), os.Mkdir(out, 0o755), os.WriteFile(filepath.Join(in, "names"), []byte("b\na\n"), 0o644)); err != nil {
		log.Fatal(err)
	}
	cmd := nsjail.Command("sh", "-c", "sort /input/names >/output/sorted; echo x >>/input/names")
	cmd.Spec.Mounts = []nsjail.Mount{
		{Type: nsjail.MountBind, Source: in, Target: "/input"},
		{Type: nsjail.MountBind, Source: out, Target: "/output", Writable: true},
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if _, err := cmd.Run(); err != nil {
		log.Fatal(err)
	}
	sorted, err := os.ReadFile(filepath.Join(out, "sorted"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q, and the input is read-only: %v\n", sorted, strings.Contains(stderr.String(), "Read-only file system"))
	// Output: "a\nb\n", and the input is read-only: true
}

// A payload that runs too long is no error: the jail did its work. The Result has the cause.
func ExampleCmd_limits() {
	cmd := nsjail.Command("sleep", "1000")
	cmd.Spec.Limits.Wall = nsjail.Duration(100 * time.Millisecond)
	result, err := cmd.Run()
	fmt.Println(err, result.Status, result.TimedOut)
	// Output: <nil> timeout true
}

// A network of one name. Whatever else the payload tries is refused at once, and recorded.
func ExampleCmd_egress() {
	cmd := nsjail.Command("bash", "-c", "getent hosts example.com; getent hosts example.org || echo refused")
	cmd.Spec.Net = nsjail.NetEgress
	cmd.Spec.Egress = &policy.Policy{Allow: []policy.Rule{{Host: "example.com", Ports: []policy.Ports{{From: 443, To: 443}}}}}
	out, result, err := cmd.Output()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s%v %s", out, result.Network.ByReason, result.Network.Recent[0].Name)
	// Output:
	// 198.18.0.1      example.com
	// refused
	// map[no_rule:1] example.org
}

// The end of a context ends the jail and everything in it.
func ExampleCommandContext() {
	ctx, cancel := context.WithCancel(context.Background())
	cmd := nsjail.CommandContext(ctx, "sleep", "1000")
	if err := cmd.Start(); err != nil {
		log.Fatal(err)
	}
	cancel()
	result, err := cmd.Wait()
	fmt.Println(err, result.Status)
	// Output: <nil> cancelled
}

// A Runner keeps one launcher for many jails; its methods may be called from several goroutines.
func ExampleRunner() {
	runner, err := nsjail.NewRunner()
	if err != nil {
		log.Fatal(err)
	}
	defer runner.Close()
	for i := range 3 {
		out, _, err := runner.Command("expr", fmt.Sprint(i), "*", fmt.Sprint(i)).Output()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s", out)
	}
	// Output:
	// 0
	// 1
	// 4
}

// What is known in advance can be made in advance: network namespaces, and whole jails that only wait for a command.
// Each is used once.
func ExampleRunner_Prestart() {
	runner, err := nsjail.NewRunnerWith(nsjail.RunnerOptions{Pool: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer runner.Close()
	spec := nsjail.Spec{Args: []string{"true"}, Limits: nsjail.Limits{Processes: 16}}
	if err := runner.Prestart(spec, 2); err != nil {
		log.Fatal(err)
	}
	for _, word := range []string{"one", "two"} {
		spec.Args = []string{"echo", word} // as are Env, Workdir, Mounts and the clocks, it is the run's own
		out, _, err := runner.CommandSpec(context.Background(), spec).Output()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s", out)
	}
	// Output:
	// one
	// two
}

// A command that the jail does not have is told apart from one that failed.
func ExampleExecError() {
	_, err := nsjail.Command("no-such-command").Run()
	fmt.Println(errors.Is(err, nsjail.ErrNotFound))
	// Output: true
}

// A payload can be started before it is known what it is to do: here a shell that performs the line that it reads.
func ExampleRunner_PrestartRunning() {
	runner, err := nsjail.NewRunner()
	if err != nil {
		log.Fatal(err)
	}
	defer runner.Close()
	parked := nsjail.Spec{Args: []string{"sh", "-c", `printf '\006'; read line; eval "$line"`}}
	if err := runner.PrestartRunning(parked, 1); err != nil {
		log.Fatal(err)
	}
	cmd := runner.Command("sh", "-c", "echo hello") // what runs if no payload waits
	cmd.Handover = &nsjail.Handover{Args: parked.Args, Data: []byte("echo hello\n")}
	out, result, err := cmd.Output()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s%v\n", out, result.Warm)
	// Output:
	// hello
	// true
}

// A directory that the payload may write to and that does not change.
func ExampleResult_changes() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cmd := nsjail.Command("sh", "-c", "echo one >a; echo two >b; cat a b")
	cmd.Spec.Mounts = []nsjail.Mount{{Type: nsjail.MountCOW, Source: dir, Target: "/work", Size: 16 << 20}}
	cmd.Stdout = os.Stdout
	result, err := cmd.Run()
	if err != nil {
		fmt.Println(err) // an older kernel: the error says what to do
		return
	}
	change := &result.Changes[0]
	defer change.Close()
	changed, err := change.Upper.Readdirnames(-1)
	if err != nil {
		log.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d files have changed in %s, and the directory has %d\n", len(changed), change.Target, len(left))
	// Output:
	// one
	// two
	// 2 files have changed in /work, and the directory has 0
}
