package wish

import (
	"regexp"
	"strings"
	"testing"

	"brig/internal/cli"
)

// A hint must not shadow a flag of brig, and may name only flags that brig has.
func TestHintsNameRealFlags(t *testing.T) {
	table := NewDraft("run", nil).Flags()
	known := map[string]bool{}
	for _, f := range table {
		for _, s := range f.Spellings() {
			known[s] = true
		}
	}
	named := regexp.MustCompile(`--[a-z-]+`)
	seen := map[string]bool{}
	for _, h := range Hints() {
		for _, f := range strings.Fields(h[0]) {
			if known[f] || seen[f] {
				t.Errorf("%s: it is a flag of brig, or here twice", f)
			}
			seen[f] = true
			word := strings.TrimSuffix(f, "*") + "=x"
			if found, _, _ := cli.Lookup(table, word); found != nil {
				t.Errorf("%s: it is --%s of brig", f, found.Name)
			}
			_, _, err := Parse("run", nil, []string{word}, noFiles)
			if err == nil || !strings.HasSuffix(err.Error(), " is not a flag; "+h[1]) {
				t.Errorf("%s: %v", f, err)
			}
		}
		for _, f := range named.FindAllString(h[1], -1) {
			if !known[f] {
				t.Errorf("%s: the hint names %s, which brig does not have", h[0], f)
			}
		}
	}
}

func TestHints(t *testing.T) {
	for line, want := range map[string]string{
		"-itx": `"-x" is not a flag; the short ones are -e, -w, -u, -p, -t, -i, -m, -h`,
		"--rm -it -v a:/b --name n --memroy 1 id -x": `"-v" is not a flag; write --bind SRC DST, or --ro-bind SRC DST for :ro`,
		"--rm -v a:/b --name n -w /x --memroy 1 -- id -x": `"-v" is not a flag; write --bind SRC DST, or --ro-bind SRC DST for :ro` + "\n" +
			`"--name" is not a flag; a jail has no name; leave it out, or write --hostname NAME` + "\n" + `"--memroy" is not a flag; did you mean --memory?`,
		"--volume=a:/b --privileged --tmpfs": `"--volume" is not a flag; write --bind SRC DST, or --ro-bind SRC DST for :ro` + "\n" +
			`"--privileged" is not a flag; no flag gives the payload a capability; leave it out` + "\n" + `--tmpfs: a value is missing; write --tmpfs DST[:size=64m,inodes=1000,mode=1777,noexec]`,
		"-v a:/b":                         `"-v" is not a flag; write --bind SRC DST, or --ro-bind SRC DST for :ro`,
		"--volume=a:/b":                   `"--volume" is not a flag; write --bind SRC DST, or --ro-bind SRC DST for :ro`,
		"--network=none":                  `"--network" is not a flag; write --net loopback (the default, docker's none), --net none (not even lo), --allow HOST for what the payload may reach, or --net host`,
		"--unshare-pid":                   `"--unshare-pid" is not a flag; the jail always has namespaces of its own; leave it out`,
		"--unshare-net":                   `"--unshare-net" is not a flag; the network is only lo already, or write --net none; leave it out`,
		"--dev-bind-try /a /a":            `"--dev-bind-try" is not a flag; write --bind SRC DST; devices cannot be opened through it`,
		"-x":                              `"-x" is not a flag; the short ones are -e, -w, -u, -p, -t, -i, -m, -h`,
		"--volum":                         `"--volum" is not a flag; --help lists them`,
		"--cpu-quota 50000":               `"--cpu-quota" is not a flag; write --cpus N, which is the quota divided by --cpu-period`,
		"-c 512":                          `"-c" is not a flag; write --cpu-weight N, where 100 is docker's 1024`,
		"--cgroup_mem_max 1000":           `"--cgroup_mem_max" is not a flag; write --memory SIZE`,
		"--rlimit_as=5":                   `"--rlimit_as" is not a flag; write --ulimit NAME=SOFT[:HARD]`,
		"--rlimit-fsize=5":                `"--rlimit-fsize" is not a flag; write --ulimit NAME=SOFT[:HARD]`,
		"--property=MemoryMax=1G":         `"--property" is not a flag; the properties are flags here, as in --memory, --cpus and --pids-limit`,
		"--MemoryMax=1G":                  `"--MemoryMax" is not a flag; write --memory SIZE`,
		"--stop-timeout 3":                `"--stop-timeout" is not a flag; write --grace TIME`,
		"--kernel-memory-tcp=1":           `"--kernel-memory-tcp" is not a flag; --memory counts the kernel's memory for the jail as well; leave it out`,
		"--device /dev/kvm":               `"--device" is not a flag; the jail has a /dev of its own, and no other device can be opened; leave it out`,
		"--memory-high=1m --memory-hgh 1": `"--memory-hgh" is not a flag; did you mean --memory-high?`,
		"--tty --setenv A b id":           `"--setenv" is not a flag; write --env NAME=VALUE`,
	} {
		if _, _, err := Parse("run", nil, strings.Fields(line), noFiles); err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", line, err, want)
		}
	}
}
