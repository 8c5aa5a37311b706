package explain_test

import (
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/nsjail/explain"
	"brig/nsjail/spec"
)

// TestMain runs the examples as root and again as an ordinary user.
func TestMain(m *testing.M) { os.Exit(asuser.Main(m)) }

// What a jail would do here, system call by system call; nothing is done.
func Example() {
	s := spec.Spec{Args: []string{"true"}}
	host, err := explain.Look(&s)
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()
	plan, err := explain.Resolve(&s, host)
	if err != nil {
		log.Fatal(err)
	}
	_, jail := plan.Steps()
	last := jail[len(jail)-1]
	fmt.Println(last.Label, strings.HasPrefix(last.Call, `execve("/bin/true"`))
	// Output: exec true
}
