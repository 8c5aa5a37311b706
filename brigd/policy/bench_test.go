package policy

import (
	"testing"

	"brig/brigd/job"
	"brig/nsjail"
)

// What a decision costs beside a run, which takes milliseconds.
func BenchmarkDecide(b *testing.B) {
	p, err := LoadProfile("", "python-data")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		j := &job.Job{Spec: nsjail.Spec{Args: []string{"cat", "/input/x"},
			Mounts: []nsjail.Mount{{Type: nsjail.MountVolume, Source: "a/work", Target: "/work", Writable: true}}}}
		if p.Decide(j); j.Verdict.Refusal != nil {
			b.Fatal(j.Verdict.Refusal)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := LoadProfile("", "python-data"); err != nil {
			b.Fatal(err)
		}
	}
}
