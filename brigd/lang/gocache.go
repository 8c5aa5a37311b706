package lang

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"brig/brigd/job"
	"brig/nsjail"
)

// FillGoCache compiles Go's standard library, so that a run of Go code takes half a second of processor time instead of
// fifteen. The result is stored in a volume: source is "ID/dir" of a volume (nsjail.Runner.NewVolume) made by exec's
// Runner, with room for 256 MiB and 4,096 files. From then on Prepare mounts it read-only for Go code. No code of a
// caller takes part in it, so all callers can share it. Without packages, goPackages are compiled. It takes about a
// minute of processor time, and the Languages may be used meanwhile.
func (l *Languages) FillGoCache(ctx context.Context, exec job.Executor, source string, packages ...string) error {
	g, program, no := l.find("go")
	if no != nil {
		return no
	}
	if l.base.Rootfs.Path != "" {
		return errors.New("a cache for Go needs a mount point in the image, which is read-only; use the default root")
	}
	if len(packages) == 0 {
		packages = strings.Fields(goPackages)
	}
	code := "package main\n"
	for _, p := range packages {
		code += fmt.Sprintf("import _ %q\n", p)
	}
	var messages bytes.Buffer
	cache := nsjail.Mount{Type: nsjail.MountVolume, Source: source, Target: goCacheAt, Writable: true}
	j := &job.Job{ID: "go-cache", Stdout: &messages, Stderr: &messages}
	j.Spec.Limits.Output = probeOutput
	l.fill(l.dir, j, &g.row, program, code+"func main() {}\n", nil)
	j.Spec.Mounts = append(j.Spec.Mounts, cache)
	result, err := exec.Execute(ctx, j)
	if err != nil {
		return fmt.Errorf("cache for Go: %w", err)
	}
	if result.Status != nsjail.StatusOK {
		return fmt.Errorf("cache for Go: it was not filled: %s, exit code %d: %s", result.Status, result.ExitCode,
			firstLine(messages.String()))
	}
	cache.Writable = false
	l.mu.Lock()
	defer l.mu.Unlock()
	l.goCache = &cache
	return nil
}

// goPackages are the packages of Go's standard library that FillGoCache compiles, along with those that they import.
const goPackages = `archive/tar archive/zip bufio bytes cmp compress/gzip container/heap container/list context
	crypto/sha256 encoding/base64 encoding/binary encoding/csv encoding/hex encoding/json encoding/xml errors flag fmt
	go/ast go/parser hash/fnv io iter log log/slog maps math math/big math/bits math/cmplx math/rand math/rand/v2 net/http
	net/url os os/exec os/signal path/filepath reflect regexp runtime/debug slices sort strconv strings sync sync/atomic
	testing text/tabwriter text/template time unicode unicode/utf8`
