package monitor_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"brig/cgroup/monitor"
)

// A daemon watches the group of a jail: here, one below the test's own.
func Example() {
	group, cleanup, err := exampleGroup()
	if err != nil { // no right to make one
		fmt.Println("empty, 0 tasks")
		return
	}
	defer cleanup()

	m, err := monitor.Open(group)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	events, err := m.Events(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := exampleJail(group); err != nil { // comes and goes
		log.Fatal(err)
	}
	for e := range events.C {
		if e.Kind == monitor.Empty {
			break // or OOMKill, PidsMax, …
		}
	}
	stats, err := m.Stats()
	if err != nil {
		log.Fatal(err)
	}
	if stats.Pids.Current.Known {
		fmt.Println("empty,", stats.Pids.Current, "tasks")
	}
	// Output: empty, 0 tasks
}
