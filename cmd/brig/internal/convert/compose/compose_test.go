package compose

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"brig/cmd/brig/internal/convert"
	"brig/internal/test/must"
)

// read converts the service "app" with these keys, in a file with these other sections, both in JSON.
func read(t *testing.T, service, more string) (*convert.Jail, error) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(`{"services": {"app": {"image": "i", ` + service + `}}` + more + `}`))
	d.UseNumber()
	f := &File{Dir: "/p", Lookup: func(name string) (string, bool) {
		v, ok := map[string]string{"HOME": "/home/u", "TAG": "3", "NONE": ""}[name]
		return v, ok
	}}
	if err := d.Decode(&f.Doc); err != nil {
		t.Fatal(service, err)
	}
	return Convert(f, "")
}

// text shows what a service has become, without what each has.
func text(j *convert.Jail) string {
	var list []string
	for _, s := range j.Steps {
		switch {
		case s.Flag == "timeout" || s.Flag == "rootfs-writable":
		case s.Mount != nil:
			list = append(list, fmt.Sprintf("%s %s%s %s writable=%v", s.Mount.Type, s.Mount.Source, s.Mount.Content, s.Mount.Target, s.Mount.Writable))
		default:
			list = append(list, strings.TrimSpace("--"+s.Flag+" "+strings.Join(s.Values, " ")))
		}
	}
	for _, n := range j.Notes {
		if n.Of != "docker's default" {
			list = append(list, strings.TrimPrefix(n.Of, "services.app.")+" "+string(n.Effect)+": "+n.Text)
		}
	}
	if len(j.Entrypoint)+len(j.Args) > 0 {
		list = append(list, fmt.Sprintf("%q %q", j.Entrypoint, j.Args))
	}
	return strings.Join(list, "; ")
}

func TestKeys(t *testing.T) {
	const secrets = `, "secrets": {"key": {"file": "./k"}, "out": {"external": true}}, "configs": {"c": {"content": "x=${TAG}"}}`
	for service, want := range map[string]string{
		`"mem_limit": "1g", "memswap_limit": -1, "cpus": 0.50, "pids_limit": 20`:              "--cpus 0.50; --memory 1g; --memory-swap -1; --pids-limit 20",
		`"environment": {"A": 1, "B": null, "C": "$TAG-${TAG}-$$x"}, "env_file": ["e", "/f"]`: "--env-file /p/e; --env-file /f; --env A=1; --env B; --env C=3-3-$x",
		`"environment": ["A=1", "B"], "env_file": {"path": "none", "required": false}`:        "--env A=1; --env B",
		`"environment": {"A": "${NO:-x}${NO-y}${NONE-z}${NONE:+no}${TAG:+t}${TAG:?set it}"}`:  "--env A=xyt3",
		`"environment": {"A": "${NO}"}`: "--env A=; environment.A ignored: the variable NO is not set, so it is empty",
		`"command": "sh -c 'echo \"a b\"' x\\ y \"q\\\"\"", "entrypoint": ["/e", "f"]`:            `["/e" "f"] ["sh" "-c" "echo \"a b\"" "x y" "q\""]`,
		`"ports": ["8080:80", {"target": 90, "published": "9090", "host_ip": "127.0.0.1"}]`:       "--publish 0.0.0.0:8080:80; --publish 127.0.0.1:9090:90",
		`"ports": [{"target": 53, "published": 53, "protocol": "udp"}]`:                           "ports missing: only tcp can be published",
		`"volumes": ["./d:/d:ro", "~/h:/h", "v:/v"]`:                                              "bind /p/d /d writable=false; bind /home/u/h /h writable=true; tmpfs  /v writable=false; volumes missing: a volume's data is not there, and what is written ends with the run; write --bind DIR DST",
		`"volumes": [{"type": "bind", "source": "d", "target": "/d", "read_only": true}]`:         "bind /p/d /d writable=false",
		`"volumes": [{"type": "tmpfs", "target": "/d", "tmpfs": {"size": 1024, "mode": "0700"}}]`: "--tmpfs /d:noexec,size=1024,mode=0700",
		`"tmpfs": "/run", "ulimits": {"nofile": {"soft": 1, "hard": 2}, "core": 0}`:               "--tmpfs /run:noexec; --ulimit core=0; --ulimit nofile=1:2",
		`"security_opt": ["no-new-privileges:true", "seccomp:p.json", "seccomp=unconfined"]`:      "--seccomp /p/p.json; --seccomp unconfined",
		`"network_mode": "none", "privileged": false, "init": true, "stdin_open": true`:           "--net loopback",
		`"networks": ["in"]`: "--net loopback",
		`"networks": ["host"]`: "networks missing: a container reaches everything through a bridge, and a jail what rules name; " +
			"write --allow HOST for each name",
		`"volumes": [{"type": "bind", "source": "d", "target": "/d", "read_only": "yes"}]`: "bind /p/d /d writable=false",
		`"networks": {"in": null, "out": {}}`: "networks missing: a container reaches everything through a bridge, and a jail what rules name; " +
			"write --allow HOST for each name",
		`"secrets": ["key", {"source": "out", "target": "o"}], "configs": [{"source": "c", "target": "/etc/c"}]`: "data x=3 /etc/c writable=false; " +
			"bind /p/k /run/secrets/key writable=false; secrets missing: only files are shown; write --file SRC /run/secrets/o",
		`"deploy": {"resources": {"limits": {"pids": 5}, "reservations": {"memory": "1m", "devices": []}}, "replicas": 2, "restart_policy": {}}`: "--pids-limit 5; " +
			"--memory-reservation 1m; deploy.replicas ignored: it is for a swarm; deploy.resources.reservations.devices missing: the jail has a /dev of its " +
			"own, and no other device can be opened; deploy.restart_policy missing: brig runs a command once; a unit of systemd can start it again",
		`"deploy": {"resources": {"limits": {"cpu": 1}, "limit": {"memory": "1m"}, "reservations": {"cpus": 1}}}`: "deploy.resources.limit.memory unknown: " +
			"brig does not know this key; deploy.resources.limits.cpu unknown: brig does not know this key; " +
			"deploy.resources.reservations.cpus ignored: it is for a swarm, which chooses machines by it",
		`"depends_on": ["db"], "healthcheck": {"test": "x"}, "x-own": [1], "profiles": ["a"]`: "depends_on missing: the other service is not started; run it, " +
			"and publish its port; healthcheck ignored: brig does not ask how a payload is",
	} {
		j, err := read(t, service, `, "networks": {"in": {"internal": true}, "out": null}`+secrets)
		if err != nil {
			t.Errorf("%s: %v", service, err)
		} else if got := text(j); got != want {
			t.Errorf("%s:\n got %s\nwant %s", service, got, want)
		}
	}
}

// TestEveryKey: each key of the compose specification is in the table, and no other.
func TestEveryKey(t *testing.T) {
	names, err := os.ReadFile("testdata/keys.txt") // of the compose specification, services
	must.Do(t, err)
	var have []string
	for _, w := range convert.Words(table) {
		have = append(have, w.Name)
	}
	slices.Sort(have)
	if want := strings.Fields(string(names)); !slices.Equal(have, want) {
		t.Errorf("the table has %q, the specification has %q", have, want)
	}
}

func TestRefused(t *testing.T) {
	for service, want := range map[string]string{
		`"imge": "x"`:                 `"services.app.imge": it is not a key of a service; did you mean image?`,
		`"image": null`:               `services.app has neither image nor build; write image: NAME`,
		`"image": ["a"]`:              `"services.app.image": it is a list; write a text`,
		`"ulimits": ["nofile=1"]`:     `"services.app.ulimits": it is a list; write keys with values`,
		`"command": "sh -c 'x"`:       `"services.app.command": a quote is not closed; close it, or write a list`,
		`"command": "${NO:?give it}"`: `"services.app.command": the variable "NO" is not set: "give it"; set it`,
		`"command": "${A:-${B}}"`:     `"services.app.command": "${A:-${B}" is not read; write ${NAME:-default}, or write docker compose config | brig convert compose - SERVICE`,
		`"command": "${A/b/c}"`:       `"services.app.command": "${A/b/c}" is not read; write ${NAME:-default}, or write docker compose config | brig convert compose - SERVICE`,
		`"extends": {"service": "x"}`: `"services.app.extends": other services are not read; write docker compose config | brig convert compose - SERVICE`,
		`"mem_limit": {"a": 1}`:       `"services.app.mem_limit": it is a mapping; write a text`,
		`"volumes": [{"type": "bind", "source": "a", "target": "/c", "readonly": true}]`:  `"services.app.volumes": "readonly" is not a key of a volume; leave it out`,
		`"volumes": [{"type": "bind", "source": "a", "target": "/c", "read_only": "ja"}]`: `"services.app.volumes": "ja" is neither true nor false; write one of them`,
		`"volumes": [{"type": "bind", "source": "a,b", "target": "/c"}]`:                  `"services.app.volumes": a comma in a path is not read; write the short form SRC:DST`,
	} {
		if _, err := read(t, service, ""); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", service, err, want)
		}
	}
	for doc, want := range map[string]string{
		`[]`:                               "the file has no services; write them below the key services",
		`{"services": {}}`:                 "the file has no services; write them below the key services",
		`{"services": {"a": 1}}`:           `"services.a": it is "1"; write keys with values`,
		`{"services": {"a": {}, "b": {}}}`: "there are 2 services, and a jail is one; write one of a, b after the file",
		`{"include": "x", "services": {"a": {}}}`: "include: other files are not read; " + flat,
	} {
		f := &File{Lookup: os.LookupEnv}
		d := json.NewDecoder(strings.NewReader(doc))
		d.UseNumber()
		must.Do(t, d.Decode(&f.Doc))
		if _, err := Convert(f, ""); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", doc, err, want)
		}
	}
}

// FuzzConvert: whatever the file holds, the answer is a jail or one bounded error.
func FuzzConvert(f *testing.F) {
	f.Add(`{"services": {"a": {"image": "i", "command": "$A ${B:-c} \\", "volumes": [{"type": "x"}, "a:b:c:d"]}}}`)
	f.Add(`{"services": {"a": {"build": ".", "deploy": {"resources": {"limits": {"cpus": {}}}}, "ports": [[1]]}}}`)
	f.Add(`{"services": {"a": {"image": "i", "secrets": [{"source": "s"}], "configs": "c"}}, "secrets": [], "configs": {"c": {"content": 1}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		file := &File{Dir: "/", Lookup: func(string) (string, bool) { return "", false }}
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if d.Decode(&file.Doc) != nil {
			return
		}
		j, err := Convert(file, "")
		if err == nil && j.Image == "" || err != nil && len(err.Error()) > 4000 {
			t.Errorf("%q: %+v, %v", text, j, err)
		}
	})
}

// Names of a hostile file do not steer a terminal, and notes are bounded.
func TestHostileNames(t *testing.T) {
	name := "\x1b[31m\n" + strings.Repeat("x", 1<<16)
	f := &File{Lookup: os.LookupEnv, Doc: map[string]any{"services": map[string]any{name: map[string]any{"build": ".", "gpus": "all"}}}}
	j := must.Get(Convert(f, ""))(t)
	for _, n := range j.Notes {
		if strings.ContainsAny(n.String(), "\x1b\n") || len(n.String()) > 1000 {
			t.Errorf("%.100q: %d bytes", n.String(), len(n.String()))
		}
	}
}
