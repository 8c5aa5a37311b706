package nsjail

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// nestVar holds the Spec, in JSON, of the jail that TestNestHelper makes where a story has put it.
const nestVar = "BRIG_TEST_NEST"

// TestNestHelper is not a test: it is this binary in a strange place, making one jail and saying how that went.
func TestNestHelper(t *testing.T) {
	text := os.Getenv(nestVar)
	if text == "" {
		t.Skip("only for the stories of this file")
	}
	c := Command("id", "-u")
	must.Do(t, json.Unmarshal([]byte(text), &c.Spec))
	c.Spec.Args = []string{"id", "-u"}
	out, r, err := c.Output()
	if err != nil {
		fmt.Println("nest: error:", err)
		return
	}
	fmt.Printf("nest: %s %s", r.Status, out)
}

// nestLine finds what the helper has said.
func nestLine(out []byte) string {
	for _, line := range strings.Split(string(out), "\n") {
		if s, ok := strings.CutPrefix(line, "nest: "); ok {
			return s
		}
	}
	return "silence: " + string(out)
}

// TestNesting makes a jail in places that other sandboxes and administrators make: it works, or it fails closed with
// the reason and the remedy in one line.
func TestNesting(t *testing.T) {
	const works = "ok 1000"
	private := []string{"unshare", "-m"}
	if os.Geteuid() != 0 {
		private = []string{"unshare", "-Urm"}
	}
	rootless := []string{"unshare", "-Ur"}
	// A machine may have more than one procfs mounted, and one that is complete is enough for the kernel.
	masked, readOnly := eachProc(`mount --bind /dev/null "$p/version"`), eachProc(`mount -o remount,ro,bind "$p"`)
	tests := []struct {
		name  string
		in    []string // the command that makes the place
		setup string   // shell commands in it
		spec  string
		want  []string // parts of the helper's line
		only  string   // root or user
	}{
		{name: "as it is", in: []string{"env"}, want: []string{works}},
		{name: "the host's own tree, without idmaps", in: []string{"env"}, spec: `{"rootfs": {"path": "/"}, "optional": ["idmap"]}`, want: []string{works}},
		{name: "the host's own tree", in: []string{"env"}, spec: `{"rootfs": {"path": "/"}}`, want: []string{works}},
		{name: "a private mount namespace", in: private, want: []string{works}},
		{name: "a rootless environment", in: rootless, want: []string{works}, only: "user"},
		{name: "two deep", in: append(rootless, rootless...), want: []string{works}, only: "user"},
		{name: "the host's root alone", in: rootless, want: []string{"identity:", "never the host's root", "outside of `unshare -r`"}, only: "root"},
		{name: "no user namespaces", in: rootless, setup: "echo 0 >/proc/sys/user/max_user_namespaces", only: "user",
			want: []string{"user:", "user.max_user_namespaces is 0", "sysctl -w"}},
		{name: "no mount namespaces", in: rootless, setup: "echo 0 >/proc/sys/user/max_mnt_namespaces", only: "user",
			want: []string{"clone3:", "no space left", "user.max_mnt_namespaces is 0", "sysctl -w user.max_mnt_namespaces="}},
		{name: "no network namespaces", in: rootless, setup: "echo 0 >/proc/sys/user/max_net_namespaces", only: "user",
			want: []string{"clone3:", "user.max_net_namespaces is 0"}},
		{name: "no network namespaces and the host's network", in: rootless, setup: "echo 0 >/proc/sys/user/max_net_namespaces", only: "user",
			spec: `{"net": "host"}`, want: []string{works}},
		{name: "a masked /proc", in: private, setup: masked,
			want: []string{"proc:", `/version" is mounted over it`, "systempaths=unconfined", `optional: ["proc"]`}},
		{name: "a masked /proc, accepted", in: private, setup: masked, spec: `{"optional": ["proc"]}`, want: []string{works}},
		{name: "a masked /proc and a complete one", in: private, setup: masked + "; mkdir p; mount -t proc proc p",
			want: []string{works}, only: "root"},
		{name: "a read-only /proc", in: private, setup: readOnly, want: []string{"proc:", "read-only", "unmask"}},
		{name: "a read-only /proc, accepted in vain", in: private, setup: readOnly, spec: `{"optional": ["proc"]}`,
			want: []string{"step ", "user:", "read-only file system", "remount,rw"}},
		{name: "no /proc", in: private, setup: "mount -t tmpfs none /proc", want: []string{"/proc is mounted"}},
		{name: "a chroot to a mount point", in: append(private, "sh", "-ec", `mkdir -p r; mount --rbind / r; exec chroot r "$0" "$@"`),
			want: []string{"clone3:", "operation not permitted", "chroot", "pivot_root"}},
		{name: "a chroot to a directory", in: append(private, "sh", "-ec",
			`mkdir -p d; for i in usr bin lib lib64 etc dev proc tmp; do test -d /$i || continue; mkdir -p d/$i; mount --rbind /$i d/$i; done; exec chroot d "$0" "$@"`),
			want: []string{"clone3:", "this is a chroot", "pivot_root"}},
		{name: "few open files", in: []string{"env"}, setup: "ulimit -n 100", want: []string{"dup3", "bad file descriptor", "open files is too low", "263", "ulimit -Hn"}},
		{name: "small files only", in: []string{"env"}, setup: "ulimit -f 1", want: []string{"file too large", "ulimit -f"}},
		{name: "a strange mount table", in: private, setup: `mount --make-rshared /; for i in 1 2 3 4 5 6 7 8; do mkdir -p "m $i"; mount -t tmpfs none "m $i"; mount --bind "m $i" "m $i"; done
mkdir -p "$(printf 'new\nline')"; mount -t tmpfs none "$(printf 'new\nline')"; mount --rbind /tmp /tmp`, want: []string{works}},
		{name: "a covered root", in: private, setup: "mount --rbind / /", want: []string{"clone3:", "covers this process's root", "umount /"}},
		{name: "a covered root, uncovered", in: private, setup: "mount --rbind / /; umount -l /", want: []string{works}, only: "root"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.only == "root" && os.Geteuid() != 0 || tt.only == "user" && os.Geteuid() == 0 {
				t.Skip("for the run as " + tt.only)
			}
			got := nestIn(t, tt.in, tt.setup, tt.spec)
			for _, w := range tt.want {
				if !strings.Contains(got, w) {
					t.Errorf("got %s\nwithout %q", got, w)
				}
			}
		})
	}
}

// eachProc is a command of the shell for each procfs that is mounted, $p.
func eachProc(command string) string {
	return `awk '$4 == "/" && / - proc /{gsub(/%/, "%%", $5); print $5}' /proc/self/mountinfo | while read -r p; do p=$(printf "$p"); ` + command + "; done"
}

// nestIn runs the helper in a place and returns its line.
func nestIn(t *testing.T, in []string, setup, spec string) string {
	t.Helper()
	if spec == "" {
		spec = "{}"
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	exe, err := os.Executable()
	must.Do(t, err)
	args := append(append([]string{}, in...), "sh", "-ec", setup+"\n"+`exec "$0" "$@"`, exe, "-test.run=^TestNestHelper$")
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), nestVar+"="+spec, "BRIG_TEST_DIR="+asuser.Dir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return nestLine(out)
}

// TestBrigInBrig makes a jail inside a jail.
func TestBrigInBrig(t *testing.T) {
	exe := must.Get(os.Executable())(t)
	tests := []struct {
		name, seccomp, inner string
		want                 []string
	}{
		{"the default filter, the default jail", "", "{}", []string{"proc:", "masked", `in a brig jail: seccomp: "unconfined" outside, optional: ["proc"] inside`}},
		{"the default filter forbids it", "", `{"optional": ["proc", "keyring"]}`, []string{"clone3:", "function not implemented", "outer seccomp filter", `seccomp: "unconfined"`}},
		{"without a filter, the default jail", "unconfined", "{}", []string{"proc:", "masked", `in a brig jail: seccomp: "unconfined" outside, optional: ["proc"] inside`}},
		{"without a filter, without a procfs", "unconfined", `{"optional": ["proc"]}`, []string{"ok 1000"}},
		{"the outer jail's tree as the inner one's", "unconfined", `{"optional": ["proc"], "rootfs": {"path": "/"}}`, []string{"ok 1000"}},
		{"a filter of its own inside", "unconfined", `{"optional": ["proc"], "require": ["seccomp"]}`, []string{"ok 1000"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Command("/suite/"+filepath.Base(exe), "-test.run=^TestNestHelper$")
			c.Spec.Seccomp = tt.seccomp
			c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: exe, Target: "/suite/" + filepath.Base(exe)}}
			c.Spec.Env = []string{nestVar + "=" + tt.inner, "BRIG_TEST_DIR=/tmp"}
			out, r, err := c.CombinedOutput()
			if err != nil || r.Status != StatusOK {
				t.Fatalf("%v %+v\n%s", err, r, out)
			}
			got := nestLine(out)
			for _, w := range tt.want {
				if !strings.Contains(got, w) {
					t.Errorf("got %s\nwithout %q", got, w)
				}
			}
		})
	}
}
