package docker

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"brig/cmd/brig/internal/convert"
	"brig/internal/test/golden"
	"brig/internal/test/must"
)

const profileNote = "the jail's own fences stand in for docker's profile; write --apparmor PROFILE for one that the host has loaded"

// samples are values of flags that do not take any word.
var samples = map[string]string{
	"blkio-weight": "300", "cap-drop": "ALL", "cap-add": "NET_ADMIN", "cpu-period": "50000", "cpu-quota": "25000",
	"cpu-shares": "512", "cpus": "0.5", "memory": "512m", "memory-reservation": "256m", "memory-swap": "1g",
	"mount": "type=bind,src=/a,dst=/b,ro", "network": "none", "oom-score-adj": "500", "publish": "8080:80", "restart": "always",
	"runtime": "runsc", "security-opt": "seccomp=p.json", "storage-opt": "size=2g", "tmpfs": "/run:size=64m,mode=0755",
	"ulimit": "nofile=1024:2048", "volume": "/a:/b:ro", "stop-timeout": "5", "userns": "host", "uts": "host", "pid": "host",
	"ipc": "host", "cgroupns": "host", "cgroup-parent": "batch.slice", "shm-size": "64m", "user": "1000:1000", "workdir": "/w",
}

// text shows what a command line has become, without what each has.
func text(j *convert.Jail) string {
	var list []string
	for _, s := range j.Steps {
		switch {
		case s.Flag == "timeout" || s.Flag == "rootfs-writable" && s.Of == "the root":
		case s.Mount != nil:
			list = append(list, fmt.Sprintf("%s %s %s writable=%v noexec=%v size=%v mode=%s", s.Mount.Type, s.Mount.Source, s.Mount.Target,
				s.Mount.Writable, s.Mount.NoExec, s.Mount.Size, s.Mount.Mode))
		default:
			list = append(list, strings.TrimSpace("--"+s.Flag+" "+strings.Join(s.Values, " ")))
		}
	}
	for _, n := range j.Notes {
		if n.Of != "docker's default" {
			list = append(list, string(n.Effect)+": "+n.Text)
		}
	}
	if j.Entrypoint != nil {
		list = append(list, fmt.Sprintf("entrypoint %q", j.Entrypoint))
	}
	return strings.Join(list, "; ")
}

// TestEveryFlag: each flag that docker 28 lists becomes a flag of brig run, is so in every jail, or has a note.
func TestEveryFlag(t *testing.T) {
	names, err := os.ReadFile("testdata/flags.txt") // the names in docker run --help
	must.Do(t, err)
	bare := map[string]bool{}
	for _, w := range convert.Words(Table) {
		if _, twice := bare[w.Name]; twice {
			t.Errorf("--%s is in two rows", w.Name)
		}
		bare[w.Name] = w.Bare
	}
	var out strings.Builder
	for name := range strings.FieldsSeq(string(names)) {
		if name == "help" {
			continue
		}
		is, known := bare[name]
		if !known {
			t.Errorf("docker's --%s is not in the table", name)
			continue
		}
		line := "--" + name
		if !is {
			value := samples[name]
			if value == "" {
				value = "x"
			}
			line += "=" + value
		}
		args := []string{"run", line}
		if name == "cpu-period" {
			args = append(args, "--cpu-quota=25000")
		}
		j, err := Convert(append(args, "image"))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		said := text(j)
		if said == "" {
			said = "-"
		}
		fmt.Fprintf(&out, "%-45s %s\n", line, said)
	}
	golden.File(t, "testdata/becomes.txt", out.String())
}

func TestValues(t *testing.T) {
	for line, want := range map[string]string{
		"-it --rm":                              "--tty",
		"-v a:/b:z":                             "tmpfs  /b writable=false noexec=false size=0 mode=; missing: " + volumeNote,
		"-v ./a:/b":                             "bind ./a /b writable=true noexec=false size=0 mode=",
		"-v /a:/b/:shared":                      "bind /a /b writable=true noexec=false size=0 mode=; missing: " + sharedNote,
		"-v /cache":                             "tmpfs  /cache writable=false noexec=false size=0 mode=; missing: " + volumeNote,
		"-v /a:/b:quick":                        `bind /a /b writable=true noexec=false size=0 mode=; unknown: brig does not know the option "quick"`,
		"-v /dev/kvm:/dev/kvm":                  "missing: the jail has a /dev of its own, and no other device can be opened",
		"-v /var/d.sock:/d.sock":                "missing: no Unix socket of the host is shown: whoever serves it would act for the payload",
		"--mount type=bind,source=/a,target=/b": "bind /a /b writable=true noexec=false size=0 mode=",
		"--mount type=bind,src=/a,dst=/b,readonly=true":           "bind /a /b writable=false noexec=false size=0 mode=",
		"--mount type=bind,src=/a,dst=/b,bind-recursive=disabled": "bind /a /b writable=true noexec=false size=0 mode=; weaker: what is mounted below the directory shows as well",
		"--mount type=tmpfs,dst=/t,tmpfs-size=1m,tmpfs-mode=0700": "--tmpfs /t:noexec,size=1m,mode=0700",
		"--mount type=tmpfs,dst=/t,readonly":                      "--tmpfs /t:noexec; weaker: the directory can be written to",
		"--mount dst=/d,src=data":                                 "tmpfs  /d writable=false noexec=false size=0 mode=; missing: " + volumeNote,
		"--mount type=image,src=x,dst=/d":                         `missing: brig has no mount of the type "image"`,
		"--tmpfs /t:exec,uid=5":                                   "--tmpfs /t; missing: the directory is the payload's own",
		"-p 127.0.0.1:80:8080":                                    "--publish 127.0.0.1:80:8080",
		"-p 80-81:90-91/tcp":                                      "--publish 0.0.0.0:80:90; --publish 0.0.0.0:81:91",
		"-p [::1]:80:80":                                          "--publish [::1]:80:80",
		"-p 80":                                                   "missing: docker chooses a port of the host; write --publish HOST:JAIL",
		"-p 127.0.0.1::80":                                        "missing: docker chooses a port of the host; write --publish HOST:JAIL",
		"-p 53:53/udp":                                            "missing: only tcp can be published",
		"--network host -p 80:80":                                 "--net host; ignored: with the host's network every port is the host's already",
		"--net bridge":                                            "missing: a container reaches everything through a bridge, and a jail what rules name; write --allow HOST for each name",
		"--cpu-period 50000":                                      "",
		"--cpu-quota -1":                                          "",
		"--memory 0 --cpus 0 --cpu-shares 0":                      "",
		"--oom-score-adj -5":                                      "missing: a payload is not spared",
		"--restart no --ipc private --runtime crun":               "",
		"--security-opt no-new-privileges --security-opt apparmor=unconfined":       "",
		"--security-opt apparmor=docker-default":                                    "weaker: " + profileNote,
		"--security-opt apparmor:docker-default":                                    "weaker: " + profileNote,
		"--security-opt no-new-privileges:true --security-opt seccomp:unconfined":   "--seccomp unconfined",
		"--security-opt apparmor=p --security-opt label=type:t":                     "--apparmor p; weaker: brig takes no part of a context; write --selinux-label USER:ROLE:TYPE[:LEVEL]",
		"--security-opt systempaths=unconfined --security-opt no-new-privileges=no": "missing: the sensitive files of /proc stay masked",
		"--storage-opt size=1g --read-only":                                         "",
		"--entrypoint sh --entrypoint=":                                             `entrypoint []`,
		"--cap-drop all --cap-drop cap_chown":                                       "",
		"--pull always":                                                             "ignored: write --pull after brig run",
	} {
		j, err := Convert(append(append([]string{"run"}, strings.Fields(line)...), "image"))
		if err != nil {
			t.Errorf("%s: %v", line, err)
		} else if got := text(j); got != want {
			t.Errorf("%s:\n got %s\nwant %s", line, got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for line, want := range map[string]string{
		"":                         `"docker" is not docker run; write docker run [FLAG...] IMAGE`,
		"ps -a":                    `"docker ps" is not docker run; write docker run [FLAG...] IMAGE`,
		"run --rm":                 "there is no image; write docker run [FLAG...] IMAGE [COMMAND]",
		"container run -m":         "--memory: a value is missing; write --memory VALUE",
		"run --memry 5m x":         `"--memry" is not a flag; did you mean --memory?`,
		"run --rm=x image":         "--rm: it takes no value; write --rm alone",
		"run --cpu-shares x image": `"--cpu-shares x": the value is not a number; write digits`,
		"run --cpu-quota x image":  `"--cpu-quota x": the value is not a number; write digits`,
	} {
		if _, err := Convert(strings.Fields(line)); err == nil || err.Error() != want {
			t.Errorf("%s: %v; want %s", line, err, want)
		}
	}
}

// The words after the image are the command, and are no flags.
func TestCommand(t *testing.T) {
	j, err := Convert(strings.Fields("container create -e A=b --entrypoint sh -- image -c id --rm"))
	if err != nil || j.Image != "image" || !slices.Equal(j.Args, []string{"-c", "id", "--rm"}) || !slices.Equal(j.Entrypoint, []string{"sh"}) {
		t.Errorf("%+v, %v", j, err)
	}
}

// FuzzConvert: whatever the words are, the answer is a jail or an error of bounded size, and a note for each word that is
// not a flag of brig run.
func FuzzConvert(f *testing.F) {
	f.Add("run\x00\x00sh")
	f.Add("run\x00--rm\x00-v\x00a:b:c\x00image\x00sh")
	f.Add("run\x00--mount\x00type=,src\x00-p\x001-9999:2-3\x00--cpu-quota=5\x00--cpu-period\x000\x00x")
	f.Add("run\x00--security-opt\x00\x00--tmpfs=:size=\x00-p\x00:::\x00-itd\x00i")
	f.Fuzz(func(t *testing.T, line string) {
		j, err := Convert(strings.Split(line, "\x00"))
		if err == nil && (j.Image == "" || len(j.Steps) > 40*(len(line)+1)) {
			t.Errorf("%q: %+v", line, j)
		}
		if err != nil && len(err.Error()) > 2000*(1+strings.Count(line, "\x00")) {
			t.Errorf("%q: %d bytes of error", line, len(err.Error()))
		}
	})
}
