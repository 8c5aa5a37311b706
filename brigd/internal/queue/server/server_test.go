package server

import (
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server that another process has in the directory is not taken for one's own: it would end with the other.
func TestServerOfAnother(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, SocketFile))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	bin := t.TempDir() // as brigd-queue ends that finds the lock taken
	if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\nexit 125\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	s, err := Start(t.Context(), dir, "", io.Discard, slog.New(slog.DiscardHandler))
	if err == nil {
		t.Fatalf("it is ready: %v", s.Close())
	}
	if !strings.Contains(err.Error(), dir) {
		t.Errorf("the directory is not named: %v", err)
	}
}
