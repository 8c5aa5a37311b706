package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brig/internal/test/asuser"
)

// BenchmarkFork makes sandboxes from a snapshot of 10 MiB, in 10 and in 1,000 files.
func BenchmarkFork(b *testing.B) {
	if asuser.Second() {
		b.Skip("the first run has measured it")
	}
	for _, files := range []int{10, 1000} {
		b.Run(fmt.Sprint(files, " files"), func(b *testing.B) {
			e, err := New(Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			box, err := e.CreateSandbox(b.Context(), Caller{}, &SandboxRequest{})
			if err != nil {
				b.Fatal(err)
			}
			script := fmt.Sprintf("for i in $(seq %d); do head -c %d /dev/urandom >/work/$i; done", files, (10<<20)/files)
			if a := e.Run(b.Context(), Caller{}, &Request{Sandbox: box.ID, Cmd: []string{"sh", "-c", script}}, nil); a.Status != "ok" {
				b.Fatalf("%+v", a)
			}
			s, err := e.Snapshot(Caller{}, box.ID)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				fork, err := e.CreateSandbox(context.Background(), Caller{}, &SandboxRequest{From: s.ID})
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := e.DeleteSandbox(Caller{}, fork.ID); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

// BenchmarkSave writes sandboxes in which 1 MiB has changed to a store in TMPDIR.
func BenchmarkSave(b *testing.B) {
	if asuser.Second() {
		b.Skip("the first run has measured it")
	}
	for _, mib := range []int{10, 100, 500} {
		b.Run(fmt.Sprint(mib, " MiB"), func(b *testing.B) {
			e, err := New(Options{Store: filepath.Join(b.TempDir(), "store"), SaveEvery: time.Hour})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			box, err := e.CreateSandbox(b.Context(), Caller{}, &SandboxRequest{Disk: 1 << 30})
			if err != nil {
				b.Fatal(err)
			}
			script := fmt.Sprintf("for i in $(seq %d); do head -c 102400 /dev/urandom >/work/$i; done", 10*mib)
			if a := e.Run(b.Context(), Caller{}, &Request{Sandbox: box.ID, Cmd: []string{"sh", "-c", script}}, nil); a.Status != "ok" {
				b.Fatalf("%+v", a)
			}
			s, no := e.boxes.find(Caller{}, box.ID)
			if no != nil {
				b.Fatal(no)
			}
			changed := strings.Repeat("c", 102400)
			e.shelf.save(s)
			for b.Loop() {
				for i := range 10 { // 1 MiB
					if _, err := e.PutFile(Caller{}, box.ID, fmt.Sprint("/work/", i+1), strings.NewReader(changed), 0); err != nil {
						b.Fatal(err)
					}
				}
				e.shelf.save(s)
			}
		})
	}
}
