package main

import (
	"testing"

	"brig/internal/words"
	"brig/nsjail/spec"
)

// TestInFlags: each reference of the packages below has the words of a command line.
func TestInFlags(t *testing.T) {
	for _, c := range []struct {
		text words.Text
		want string
	}{
		{words.Field("cgroup_parent"), "--cgroup-parent"},
		{words.Field("limits.processes"), "--pids-limit"},
		{words.Field("rootfs.writable"), "--rootfs-writable"},
		{words.Set("git", "rw"), "--git rw"},
		{spec.Without("cow", "net"), "--optional cow,net"},
		{spec.Unprotected("a b"), "--no-protect='a b'"},
		{spec.Unprotected(), "--no-protect"},
		{spec.ShowReadOnly("/a", "/b"), "--ro-bind /a /b"},
		{spec.ShowInput(), "--input"},
		{spec.ShowWork("."), "--work ."},
		{words.Jail(spec.Without("cow", "net")), "brig run --optional cow,net"},
		{words.Jail(words.Field("systemd_scope")), "brig run --systemd-scope"},
		{words.Field("force"), "--force"},
		{words.Set("force", "a b"), "--force=a b"},
		{words.Field("undo"), "--undo"},
		{words.Field("dry_run"), "--dry-run"},
		{words.Field("all"), "--all"},
		{words.Set("apply", "7f3a"), "brig apply 7f3a"},
		{words.Set("apply.undo", "7f3a"), "brig apply --undo 7f3a"},
		{words.Field("discard.force"), "brig discard --force"},
		{words.Field("diff.name_only"), "brig diff --name-only"},
		{"a" + words.Clause("; "+words.Field("apply.none")), "a"},
		{"a" + words.Clause("; "+words.Field("none")), "a"},
	} {
		if got := c.text.In(inFlags); got != c.want {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
}
