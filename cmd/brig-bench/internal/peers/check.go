package peers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// probe is what a jail is asked about itself: proc(5).
const probe = `cat /proc/self/status; for n in user mnt pid net ipc uts cgroup; do echo "ns:$n $(readlink /proc/self/ns/$n)"; done
while read -r a b c d e f g; do echo "mount:$e $f"; done </proc/self/mountinfo
for n in kcore keys timer_list; do if [ -s /proc/$n ]; then echo "shown: /proc/$n"; fi; done
for d in /home/* /root/* /etc/machine-id /etc/shadow; do ` +
	`if [ -e "$d" ] && [ "$d" != /home/brig ]; then echo "host: $d"; fi; done`

// Inspect starts the jail once and has it look at itself. It gives the differences from brig's default jail that it finds,
// whatever the tool's file says; an error is a tool that makes no jail here.
func (t *Tool) Inspect() ([]string, error) {
	if t.Kind == Bare {
		return nil, nil
	}
	ready, err := t.Prepare(Job{Args: []string{"/bin/sh", "-c", probe}})
	if err != nil {
		return nil, err
	}
	said, err := ask(ready)
	if cerr := ready.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	return findings(said, ownNamespace), nil
}

// Look inspects a tool that is not absent and notes what it finds; a tool that makes no jail is absent.
func (t *Tool) Look() {
	if t.Info.Absent != "" {
		return
	}
	differs, err := t.Inspect()
	if err != nil {
		t.Info.Absent = "makes no jail here: " + err.Error()
	}
	t.Info.Differs = append(t.Info.Differs, differs...)
}

// ask runs a job for its output.
func ask(r *Ready) (string, error) {
	var out bytes.Buffer
	p, err := r.Start(Streams{Out: &out})
	if err == nil {
		err = p.Wait()
	}
	return out.String(), err
}

// ownNamespace names the namespace that this process has.
func ownNamespace(kind string) string {
	name, err := os.Readlink("/proc/self/ns/" + kind)
	if err != nil {
		return ""
	}
	return name
}

// findings compares what a jail says with what brig's has.
func findings(said string, outside func(kind string) string) (differs []string) {
	status, mounted := map[string]string{}, map[string]string{}
	var shared, writable, host, shown []string
	for _, line := range strings.Split(said, "\n") {
		key, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !ok {
			continue
		}
		first, rest, _ := strings.Cut(value, " ")
		switch key {
		case "ns":
			if rest == outside(first) {
				shared = append(shared, first)
			}
		case "mount":
			mounted[first] = rest // the last one covers those before
		case "host":
			host = append(host, value)
		case "shown":
			shown = append(shown, filepath.Base(value))
		default:
			status[key] = value
		}
	}
	for _, point := range []string{"/", "/usr"} {
		if options, ok := mounted[point]; ok && !strings.HasPrefix(options+",", "ro,") {
			writable = append(writable, point)
		}
	}
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			differs = append(differs, "checked: "+fmt.Sprintf(format, args...))
		}
	}
	add(len(shared) > 0, "shares the host's namespaces: %s", strings.Join(shared, " "))
	add(status["NoNewPrivs"] != "1", "may gain privileges (no_new_privs is not set)")
	add(status["Seccomp"] != "2", "has no system-call filter")
	for _, set := range []string{"CapEff", "CapBnd"} {
		add(strings.Trim(status[set], "0") != "", "%s is %s, not empty", set, status[set])
	}
	add(len(writable) > 0, "mounted writable: %s", strings.Join(writable, " "))
	add(len(shown) > 0, "shows of /proc: %s", strings.Join(shown, " "))
	add(len(host) > 0, "shows of the host: %s", strings.Join(host, " "))
	return differs
}
