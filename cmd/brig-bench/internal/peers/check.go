package peers

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
)

// probe prints what a jail can see of itself: proc(5).
const probe = `cat /proc/self/status
for n in user mnt pid net ipc uts cgroup; do echo "ns:$n $(readlink /proc/self/ns/$n)"; done
while read -r a b c d e f g; do echo "mount:$e $f"; done </proc/self/mountinfo
for n in kcore keys timer_list; do if [ -s /proc/$n ]; then echo "shown: $n"; fi; done
for d in /home/* /root/* /etc/machine-id /etc/shadow; do
	if [ -e "$d" ] && [ "$d" != /home/brig ]; then echo "host: $d"; fi
done`

// Look opens what the tool needs, such as an engine. It starts a jail once, has it look at itself, and adds the
// differences from brig's default jail that it finds. A tool that makes no jail is absent.
func (t *Tool) Look() {
	if t.Info.Absent != "" || t.Info.Name == Bare {
		return
	}
	if t.open != nil {
		if err := t.open(); err != nil {
			t.Info.Absent = err.Error()
			return
		}
	}
	var out bytes.Buffer
	ready, err := t.Prepare(Job{Args: []string{"/bin/sh", "-c", probe}})
	if err == nil {
		var p *Running
		if p, err = ready.Start(Streams{Out: &out}); err == nil {
			err = p.Wait()
		}
		err = errors.Join(err, ready.Close())
	}
	if err != nil {
		t.Info.Absent = "makes no jail here: " + err.Error()
		return
	}
	t.Info.Differs = append(t.Info.Differs, findings(out.String(), func(kind string) string {
		name, _ := os.Readlink("/proc/self/ns/" + kind) // a kernel without it has no such line of the jail's, either
		return name
	})...)
}

// findings compares what a jail has printed with brig's. outside returns the name of the harness's namespace.
func findings(said string, outside func(kind string) string) (differs []string) {
	status, mounted, lists := map[string]string{}, map[string]string{}, map[string][]string{}
	for line := range strings.Lines(said) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		first, rest, _ := strings.Cut(value, " ")
		switch key {
		case "ns":
			if rest == outside(first) {
				lists[key] = append(lists[key], first)
			}
		case "mount":
			mounted[first] = rest // the last one covers those before
		case "host", "shown":
			lists[key] = append(lists[key], value)
		default:
			status[key] = value
		}
	}
	for _, point := range []string{"/", "/usr"} {
		if options, ok := mounted[point]; ok && !strings.HasPrefix(options+",", "ro,") {
			lists["writable"] = append(lists["writable"], point)
		}
	}
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			differs = append(differs, "checked: "+fmt.Sprintf(format, args...))
		}
	}
	add(lists["ns"] != nil, "shares the host's namespaces: %s", strings.Join(lists["ns"], " "))
	add(status["NoNewPrivs"] != "1", "may gain privileges (no_new_privs is not set)")
	add(status["Seccomp"] != "2", "has no system-call filter")
	for _, set := range []string{"CapEff", "CapBnd"} {
		add(strings.Trim(status[set], "0") != "", "%s is %s, not empty", set, status[set])
	}
	add(lists["writable"] != nil, "mounted writable: %s", strings.Join(lists["writable"], " "))
	add(lists["shown"] != nil, "shows of /proc: %s", strings.Join(lists["shown"], " "))
	add(lists["host"] != nil, "shows of the host: %s", strings.Join(lists["host"], " "))
	return differs
}
