// Package docker converts the command line of docker run, and of podman run as far as it is the same.
package docker

import (
	"path"
	"strings"

	"brig/cmd/brig/internal/convert"
	"brig/internal/cli"
)

// row is a group of flags of docker run that are converted in the same way.
type row struct {
	names string // separated by blanks, each with its letter: "volume/v"; one that ends in ! takes no value
	set   setter
	// say is the hint of brig run for these names, unless they are flags of its own. Up to "; leave it out" it is the note
	// of noted.
	say string
}

// setter converts a flag. A setter that several rows share reads the row's name and note from given.
type setter func(l *Line, f *given)

// given is a flag with its value.
type given struct {
	of, name, value string // of is how messages name it
	say             string // that of its row, without the advice to leave it out
}

const leave = "; leave it out"

// rows has every flag of docker run 28, and aliases that its help leaves out.
func rows() []row { return append(counterparts(), losses()...) }

// counterparts has the flags of which at least some values have a counterpart.
func counterparts() []row {
	always := func(*Line, *given) {} // it is so in every jail
	network := func(l *Line, f *given) { l.network = f }
	return []row{
		{"cpuset-cpus cpuset-mems device-read-bps device-read-iops device-write-bps device-write-iops env/e env-file " +
			"hostname/h pids-limit tty/t! ulimit user/u workdir/w", same, ""},
		{"cpus memory/m memory-reservation memory-swap", unlessZero, ""},
		{"help! init! interactive/i! rm!", always, ""},
		{"pull", func(l *Line, f *given) { l.Note(f.of, convert.Ignored, "write --pull after brig run") }, ""},
		{"stop-timeout", func(l *Line, f *given) { l.Flag(f.of, "grace", f.value) }, ""},
		{"cgroup-parent", func(l *Line, f *given) { l.Flag(f.of, "cgroup-parent", path.Clean("/"+f.value)) }, ""},
		{"entrypoint", (*Line).entrypoint, ""},
		{"publish/p", (*Line).publish, ""},
		{"tmpfs", (*Line).tmpfs, ""},
		{"volume/v", (*Line).volume, "write --bind SRC DST, or --ro-bind SRC DST for :ro"},
		{"mount", (*Line).mount, "write --bind SRC DST, --ro-bind SRC DST or --tmpfs DST"},
		{"net", network, ""},
		{"network", network, "write --net loopback (the default, docker's none), " +
			"--net none (not even lo), --allow HOST for what the payload may reach, or --net host"},
		{"read-only!", func(l *Line, f *given) { l.readOnly = true },
			"the root is read-only unless --rootfs-writable says otherwise" + leave},
		{"cap-drop", (*Line).capDrop, "the payload has no capability to drop" + leave},
		{"security-opt", (*Line).securityOpt, "write --seccomp FILE, --apparmor PROFILE or --selinux-label LABEL; " +
			"no_new_privs is always in force"},
		{"cgroupns ipc pid userns uts", (*Line).namespace, "the jail always has a namespace of its own" + leave},
		{"shm-size", func(l *Line, f *given) { l.Flag(f.of, "tmpfs", "/dev/shm:size="+f.value) },
			"write --tmpfs /dev/shm:size=SIZE"},
		{"storage-opt", (*Line).storage, "write --rootfs-writable=SIZE, or --tmpfs DST:size=SIZE"},
		{"runtime", (*Line).runtime, "a jail shares the host's kernel, and has no kernel or machine of its own" + leave},
		{"restart", (*Line).restart, "brig runs a command once; a unit of systemd can start it again"},
		{"oom-score-adj", (*Line).oomScore, "write --memory SIZE, which keeps the host out of it"},
		{"cpu-period", func(l *Line, f *given) { l.period = f }, ""},
		{"cpu-quota", func(l *Line, f *given) { l.quota = f },
			"write --cpus N, which is the quota divided by --cpu-period"},
		{"cpu-shares/c", (*Line).cpuShares, "write --cpu-weight N, where 100 is docker's 1024"},
		{"blkio-weight", (*Line).blkioWeight, "write --io-weight N, 1 to 10000"},
		{"cpu-count cpu-percent", func(l *Line, f *given) { l.Note(f.of, convert.Ignored, "it is for Windows") }, ""},
	}
}

// losses has the flags without a counterpart.
func losses() []row {
	ignored, missing, weaker := noted(convert.Ignored), noted(convert.Missing), noted(convert.Weaker)
	return []row{
		{"cap-add privileged!", missing, "no flag gives the payload a capability" + leave},
		{"device device-cgroup-rule gpus", missing, "the jail has a /dev of its own, and no other device can be opened" +
			leave},
		{"add-host", missing, "write --file HOSTS /etc/hosts"},
		{"group-add", missing, "write --user UID:GID; there is one group"},
		{"dns dns-opt dns-option dns-search", missing, "brig answers for the names that --allow permits" + leave},
		{"link", missing, "jails are not connected with each other" + leave},
		{"publish-all/P!", missing, "write --publish HOST:JAIL for each port"},
		{"sysctl", missing, "a jail changes no settings of the kernel" + leave},
		{"stop-signal", missing, "write --grace TIME; SIGTERM comes first and SIGKILL after TIME"},
		{"use-api-socket!", missing, "no Unix socket of the host is shown" + leave},
		{"volume-driver volumes-from", missing, "a volume is a directory of the host: write --bind SRC DST"},
		{"oom-kill-disable!", missing, "a jail out of memory always ends, or one process of it with --no-oom-group" + leave},
		{"cpu-rt-period cpu-rt-runtime", missing, "no flag gives the payload real-time scheduling" + leave},
		{"blkio-weight-device", weaker, "write --cgroup FILE=VALUE, as in --cgroup \"io.weight=8:0 200\""},
		{"memory-swappiness", ignored, "write --memory-swap SIZE; without it nothing is swapped"},
		{"kernel-memory kernel-memory-tcp", ignored, "--memory counts the kernel's memory for the jail as well" + leave},
		{"detach/d! detach-keys", ignored, "brig stays until the command ends" + leave},
		{"name", ignored, "a jail has no name; leave it out, or write --hostname NAME"},
		{"annotation label/l label-file cidfile domainname", ignored, "a jail has no labels and names" + leave},
		{"attach/a sig-proxy!", ignored, "all streams and signals reach the payload" + leave},
		{"disable-content-trust! quiet/q! platform", ignored, "write it after brig image pull"},
		{"expose", ignored, "write --publish HOST:JAIL for each port"},
		{"health-cmd health-interval health-retries health-start-interval health-start-period health-timeout " +
			"no-healthcheck!", ignored, "brig does not ask how a payload is" + leave},
		{"ip ip6 link-local-ip mac-address network-alias net-alias", ignored, "a jail has no interface but lo" + leave},
		{"log-driver log-opt", ignored, "the payload's output is brig's own" + leave},
		{"io-maxbandwidth io-maxiops isolation", ignored, "it is for Windows" + leave},
	}
}

// each calls visit for each flag.
func each(visit func(r *row, name, letter string, bare bool)) {
	for _, r := range rows() {
		for word := range strings.FieldsSeq(r.names) {
			name, bare := strings.CutSuffix(word, "!")
			name, letter, _ := strings.Cut(name, "/")
			visit(&r, name, letter, bare)
		}
	}
}

// flags returns the table for a command line.
func (l *Line) flags() (list []cli.Flag) {
	each(func(r *row, name, letter string, bare bool) {
		f := cli.Flag{Name: name, Args: "VALUE", Many: true}
		if letter != "" {
			f.Short = letter[0]
		}
		if bare {
			f.Args = ""
		}
		f.Set = func(values []string) error {
			of := "--" + name
			if len(values) > 0 && name != "env" { // a variable may be a secret
				of += " " + values[0]
			}
			l.apply(r, of, name, strings.Join(values, ""))
			return nil // Finish returns the first error
		}
		list = append(list, f)
	})
	return list
}

// Set converts a flag by its name. Finish returns the first error.
func (l *Line) Set(of, flag, value string) {
	each(func(r *row, name, _ string, bare bool) {
		if name == flag && !(bare && value == "false") {
			l.apply(r, of, name, value)
		}
	})
}

func (l *Line) apply(r *row, of, name, value string) {
	say, _, _ := strings.Cut(r.say, leave)
	r.set(l, &given{of, name, value, say})
}

// Hints returns the hints of brig run for flags of docker that it has under another name, or not at all.
func Hints() (list []cli.Hint) {
	each(func(r *row, name, letter string, _ bool) {
		if r.say != "" {
			if letter != "" {
				name += " -" + letter
			}
			list = append(list, cli.Hint{"--" + name, r.say})
		}
	})
	return list
}

// same is a flag that brig run has, too.
func same(l *Line, f *given) {
	if f.name == "tty" {
		l.Flag(f.of, f.name)
		return
	}
	l.Flag(f.of, f.name, f.value)
}

// unlessZero is same for a limit of which 0 means that there is none.
func unlessZero(l *Line, f *given) {
	if f.value != "0" {
		l.Flag(f.of, f.name, f.value)
	}
}

// noted returns the setter of a flag without a counterpart.
func noted(effect convert.Effect) setter {
	return func(l *Line, f *given) { l.Note(f.of, effect, f.say) }
}
