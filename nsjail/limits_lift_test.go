package nsjail

import (
	"os"
	"strings"
	"testing"
)

// lift mounts the hierarchies in namespaces of its own, where the kernel lets it, and writes to the limits it finds: it
// would be the owner of their files if it is the caller's own user.
const lift = `unshare -UrmC sh -c '
mkdir -p /tmp/c
for what in "cgroup -o memory" cgroup2; do
	mount -t $what none /tmp/c 2>/dev/null || continue
	for f in /tmp/c/memory.memsw.limit_in_bytes /tmp/c/memory.limit_in_bytes /tmp/c/memory.swap.max /tmp/c/memory.max; do
		test -e $f || continue
		for v in -1 max; do (echo $v >$f) 2>/dev/null && echo LIFTED $f; done
	done
	umount /tmp/c
done' 2>&1
exit 0`

// TestLimitCannotBeLifted: without brig's filter a payload may make namespaces and mounts, but not to reach its own
// group.
func TestLimitCannotBeLifted(t *testing.T) {
	c := tight(t, lift)
	c.Spec.Seccomp = "unconfined"
	out, r := mustRun(t, c)
	if r.Status != StatusOK || strings.Contains(out, "LIFTED") {
		t.Errorf("%s: %s", r.Status, out)
	}
	if os.Geteuid() != 0 && !strings.Contains(out, "unshare") {
		t.Errorf("a namespace could be made: %s", out)
	}
}
