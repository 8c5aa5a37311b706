package bwrap

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"brig/cmd/brig/internal/convert"
	"brig/internal/test/must"
)

// usual are the steps that every command line has become.
const usual = "--bare-env; --timeout 0"

func shown(j *convert.Jail) string {
	var list []string
	for _, s := range j.Steps {
		line := strings.TrimSpace("--" + s.Flag + " " + strings.Join(s.Values, " "))
		if s.Mount != nil {
			line = fmt.Sprintf("%s %s %s writable=%v", s.Mount.Type, s.Mount.Source, s.Mount.Target, s.Mount.Writable)
		}
		if !strings.Contains(usual, line) && s.Of != "--uid" {
			list = append(list, line)
		}
	}
	for _, n := range j.Notes {
		list = append(list, n.Of+" "+string(n.Effect))
	}
	return strings.Join(list, "; ")
}

func TestConvert(t *testing.T) {
	here := must.Get(os.Getwd())(t)
	const inherits = "--pass-env *"
	for line, want := range map[string]string{
		"--unshare-all --ro-bind / / --proc /proc --dev /dev --bind HERE HERE": "--rootfs /; bind HERE HERE writable=true; --workdir HERE; " + inherits +
			"; --net loopback; the environment missing",
		"--unshare-all --clearenv --ro-bind /usr /usr --symlink usr/bin /bin --setenv A b --setenv A c": "--workdir /; --env A=c; --net loopback",
		"--unshare-pid --unshare-ipc --clearenv --setenv A b --clearenv --unsetenv C --dir /x":          "dir  /x writable=false; --workdir /; --net host; the root weaker",
		"--unshare-all --clearenv --tmpfs /a --bind /x /a/b --tmpfs /a --bind /usr /usr --remount-ro /usr --chdir /a": "tmpfs  /a writable=false; " +
			"--workdir /a; --net loopback",
		"--unshare-all --unshare-user --clearenv --ro-bind / / --ro-bind-try /no/such /x --seccomp 9 --argv0 x --cap-add ALL --as-pid-1 --info-fd 9": "--rootfs /; " +
			"--workdir HERE; --net loopback; --no-init; --seccomp weaker; --cap-add missing; --argv0 missing; --info-fd, --json-status-fd missing",
		"--unshare-net --unshare-uts --hostname h --unsetenv X --bind / / --proc /p --dev-bind /dev/dri /dev/dri": "--hostname h; --rootfs /; --rootfs-writable; " +
			"--workdir HERE; " + inherits + "; --net loopback; --proc /p missing; --bind / missing; --dev-bind /dev/dri missing; --unsetenv X missing; " +
			"the environment missing; without --unshare-pid, --unshare-ipc missing",
	} {
		line, want = strings.ReplaceAll(line, "HERE", here), strings.ReplaceAll(want, "HERE", here)
		j, err := Convert(append(strings.Fields(line), "--", "id"), nil)
		if err != nil || !slices.Equal(j.Args, []string{"id"}) {
			t.Errorf("%s: %v", line, err)
		} else if got := shown(j); got != want {
			t.Errorf("%s:\n got %s\nwant %s", line, got, want)
		}
	}
	for line, want := range map[string]string{
		"--ro-bind / /":   "there is no command; write it after the options",
		"--ro-bnd / / id": "",
	} {
		if _, err := Convert(strings.Fields(line), nil); err == nil || want != "" && err.Error() != want {
			t.Errorf("%s: %v; want %s", line, err, want)
		}
	}
}
