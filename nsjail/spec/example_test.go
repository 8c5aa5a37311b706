package spec_test

import (
	"fmt"
	"log"
	"time"

	"brig/nsjail/spec"
)

// A Spec is data: it can be written as JSON, kept, and checked on another machine.
func Example() {
	s := spec.Spec{
		Args:   []string{"python3", "/input/analyse.py"},
		Mounts: []spec.Mount{{Type: spec.MountBind, Source: "/srv/data", Target: "/input"}},
		Limits: spec.Limits{Wall: spec.Duration(30 * time.Second), Memory: 256 << 20, Processes: 16},
	}
	again, err := spec.ParseSpec(s.JSON())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.Limits.Memory, again.Limits.Wall, len(again.Check()))
	// Output: 256m 30s 0
}

// Check finds what is wrong with a Spec without looking at the machine.
func ExampleSpec_Check() {
	s := spec.Spec{Args: []string{"true"}, Net: "bridge"}
	for _, problem := range s.Check() {
		fmt.Println(problem.Path, "-", problem.Fix)
	}
	// Output: net - write one of none, loopback, egress, host
}
