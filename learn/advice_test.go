package learn

import (
	"encoding/binary"
	"encoding/json"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"brig/denial"
	"brig/internal/test/must"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// files is a host that has these files, and the directories above them.
type files []string

func (f files) Has(host string) bool {
	return slices.ContainsFunc(f, func(have string) bool { return under(have, host) })
}

func (f files) Secrets(host string, _ bool) bool {
	return slices.ContainsFunc(f, func(have string) bool {
		return under(have, host) && slices.ContainsFunc(strings.Split(have[len(host):], "/"), SecretName)
	})
}

var host = files{"/opt/py/bin/python3", "/opt/py/lib/os.py", "/opt/bad/bin/x", "/opt/bad/.env", "/home/u/proj/start.py",
	"/home/u/proj/venv/pyvenv.cfg", "/home/u/.ssh/id_rsa", "/data/a", "/data/b", "/data/c", "/data/sub/x", "/data/sub/y",
	"/data/sub/z", "/etc/app/conf", "/etc/shadow", "/var/lib/texmf/web2c/latex.fmt"}

// missing returns an event of a file that the jail lacks.
func missing(at string, public bool) Event {
	return Event{Call: "open", Errno: "ENOENT", Count: 1, Path: at, Nodes: []Node{{At: at, Host: at, Public: public}}}
}

// leads returns one of a link to a file that not every user may read.
func leads(at, to string) Event {
	e := missing(at, true)
	e.Nodes[0].Type = Link
	e.Nodes = append(e.Nodes, Node{At: to, Host: to})
	return e
}

// here returns one of a file of the caller's directory by its name in /work.
func here(at, host string) Event {
	e := missing(at, false)
	e.Nodes[0].Host = host
	return e
}

func write(at, errno string, dir Dir) Event {
	dir.Path = path.Dir(at)
	return Event{Kind: Write, Call: "open", Errno: errno, Count: 1, Path: at, Dir: dir}
}

func TestAdvise(t *testing.T) {
	writable := nsjail.Spec{Mounts: []nsjail.Mount{{Type: nsjail.MountBind, Source: "/data", Target: "/out", Writable: true}}}
	image := nsjail.Spec{Rootfs: nsjail.Rootfs{Path: "/img", Image: "x"}, Workdir: "/app"}
	egress := nsjail.Spec{Net: nsjail.NetEgress}
	must.Do(t, json.Unmarshal([]byte(`{"allow": ["example.com:443", "*.example.org", "1.1.1.1:443"]}`), &egress.Egress))
	own := nsjail.Spec{Mounts: []nsjail.Mount{{Type: nsjail.MountBind, Source: "/data", Target: "/in"}}}
	for name, c := range map[string]struct {
		spec    nsjail.Spec
		dir     string
		private bool
		events  []Event
		want    string // the flags
		held    string // the reason of what is withheld
	}{
		"nothing":             {},
		"the host lacks it":   {events: []Event{{Call: "open", Errno: "ENOENT", Path: "/no"}}},
		"a prefix":            {events: []Event{missing("/opt/py/bin/python3", true), missing("/opt/py/lib/os.py", true)}, want: "--ro-bind /opt/py /opt/py"},
		"a secret beside it":  {events: []Event{missing("/opt/bad/bin/x", true)}, want: "--ro-bind /opt/bad/bin/x /opt/bad/bin/x"},
		"the secret itself":   {events: []Event{missing("/opt/bad/.env", true)}, held: "it may hold secrets: .env"},
		"one file":            {events: []Event{missing("/data/sub/x", true)}, want: "--ro-bind /data/sub/x /data/sub/x"},
		"three files":         {events: []Event{missing("/data/sub/x", true), missing("/data/sub/y", true), missing("/data/sub/z", true)}, want: "--ro-bind /data/sub /data/sub"},
		"three in a wide one": {events: []Event{missing("/data/a", true), missing("/data/b", true), missing("/data/c", true)}, want: "--ro-bind /data/a /data/a --ro-bind /data/b /data/b --ro-bind /data/c /data/c"},
		"etc":                 {events: []Event{missing("/etc/app/conf", true)}, want: "--etc app"},
		"etc, private":        {events: []Event{missing("/etc/shadow", false)}, held: "it is private to the host"},
		"not for everybody":   {events: []Event{missing("/data/a", false)}, held: "not every user of the host may read it"},
		"a home":              {events: []Event{missing("/home/u/x", true)}, held: "it is in a home directory"},
		"private is asked":    {private: true, events: []Event{missing("/home/u/x", true)}, want: "--ro-bind /home/u/x /home/u/x"},
		"here":                {dir: "/home/u/proj", events: []Event{here("/work/start.py", "/home/u/proj/start.py")}, want: "--ro-bind /home/u/proj /work"},
		"here is home":        {dir: "/home/u", events: []Event{here("/work/x", "/home/u/x")}, held: "it is in a home directory"},
		"here is all homes":   {dir: "/home", events: []Event{here("/work/u/x", "/home/u/x")}, held: "it is in a home directory"},
		"here, written": {dir: "/home/u/proj", events: []Event{here("/work/start.py", "/home/u/proj/start.py"),
			write("/work/out", "EROFS", Dir{InJail: true, OnHost: true})}, want: "--cow /home/u/proj"},
		"here, only written": {dir: "/home/u/proj", events: []Event{write("/work/build/out", "ENOENT", Dir{OnHost: true})}, want: "--cow /home/u/proj"},
		"by name, written": {dir: "/home/u/proj", events: []Event{missing("/home/u/proj/start.py", false),
			write("/home/u/proj/out", "EROFS", Dir{InJail: true, OnHost: true})}, want: "--cow /home/u/proj:/home/u/proj"},
		"a bind, written":        {spec: own, events: []Event{write("/in/out", "EROFS", Dir{InJail: true})}, want: "--cow /data:/in"},
		"a new directory":        {events: []Event{write("/var/cache/x", "ENOENT", Dir{OnHost: true})}, want: "--tmpfs /var/cache"},
		"an empty one":           {events: []Event{write("/run/pid", "EROFS", Dir{InJail: true, Empty: true, OnHost: true})}, want: "--tmpfs /run"},
		"no options":             {events: []Event{{Kind: Write, Call: "mkdir", Errno: "EROFS", Path: "/run/x:size=99g", Dir: Dir{Path: "/run", InJail: true}}}},
		"refused":                {events: []Event{write("/run/pid", "EACCES", Dir{InJail: true, Empty: true, OnHost: true})}, want: "--tmpfs /run"},
		"refused by modes":       {spec: own, events: []Event{{Kind: Write, Call: "mkdir", Errno: "EPERM", Path: "/run/x", Dir: Dir{Path: "/run", InJail: true}}}},
		"programs stay":          {events: []Event{write("/usr/lib/python3/x.pyc", "EROFS", Dir{InJail: true, OnHost: true})}},
		"full":                   {events: []Event{{Kind: Full, Call: "write", Errno: "ENOSPC", Path: "/tmp/x"}}, want: "--tmpfs /tmp:size=1g"},
		"the host is full":       {spec: own, events: []Event{{Kind: Full, Call: "write", Errno: "ENOSPC", Path: "/in/x"}}},
		"processes":              {events: []Event{{Kind: Count, Call: "clone", Errno: "EAGAIN"}}, want: "--pids-limit 4096"},
		"an address":             {events: []Event{{Kind: Connect, Call: "connect", Errno: "ENETUNREACH", Addr: netip.MustParseAddrPort("192.0.2.1:443")}}, want: "--allow 192.0.2.1:443"},
		"the host's own":         {events: []Event{{Kind: Connect, Call: "connect", Errno: "ECONNREFUSED", Addr: netip.MustParseAddrPort("127.0.0.1:5432")}}, held: "nothing listens there in the jail: its loopback is not the host's"},
		"a name":                 {events: []Event{{Kind: Lookup, Call: "sendto", Name: "example.com"}}, want: "--allow example.com"},
		"a name that is allowed": {spec: egress, events: []Event{{Kind: Lookup, Call: "sendto", Name: "Example.com."}, {Kind: Lookup, Call: "sendto", Name: "a.example.org"}}},
		"a name that is not":     {spec: egress, events: []Event{{Kind: Lookup, Call: "sendto", Name: "example.net"}}, want: "--allow example.net"},
		"an address allowed":     {spec: egress, events: []Event{{Kind: Connect, Call: "connect", Errno: "ECONNREFUSED", Addr: netip.MustParseAddrPort("[::ffff:1.1.1.1]:443")}}},
		"another port of it":     {spec: egress, events: []Event{{Kind: Connect, Call: "connect", Errno: "ECONNREFUSED", Addr: netip.MustParseAddrPort("1.1.1.1:80")}}, want: "--allow 1.1.1.1:80"},
		"the stand-in of a name": {spec: egress, events: []Event{{Kind: Connect, Call: "connect", Errno: "ECONNREFUSED", Addr: netip.MustParseAddrPort("198.18.0.1:443")}}},
		"the host's network": {spec: nsjail.Spec{Net: nsjail.NetHost}, events: []Event{{Kind: Lookup, Name: "example.net"},
			{Kind: Connect, Call: "connect", Errno: "ECONNREFUSED", Addr: netip.MustParseAddrPort("1.1.1.1:80")}}},
		"on another PATH": {events: []Event{{Kind: Search, Call: "execve", Path: "/usr/local/go/bin"}}, want: "--env PATH=/usr/local/go/bin:" + spec.DefaultPath},
		"a service's":     {events: []Event{{Kind: Socket, Call: "connect", Errno: "ENOENT", Nodes: []Node{{At: "/run/x", Host: "/run/x", Type: SocketFile, Public: true}}}}, held: "a socket of the host: its service would act for the payload"},
		"a device":        {events: []Event{{Call: "open", Errno: "ENOENT", Nodes: []Node{{At: "/mnt/x", Host: "/mnt/x", Type: Device, Public: true}}}}, held: "a device of the host: none can be opened in a jail"},
		"the least is first": {events: []Event{{Kind: Lookup, Name: "example.com"}, missing("/opt/py/lib/os.py", true), write("/run/pid", "EROFS", Dir{InJail: true, Empty: true})},
			want: "--tmpfs /run --ro-bind /opt/py /opt/py --allow example.com"},
		"a link to a secret":     {events: []Event{leads("/data/link", "/home/u/.ssh/id_rsa")}, held: "it may hold secrets: .sshit may hold secrets: .ssh"},
		"a link to what is shut": {events: []Event{leads("/data/link", "/data/shut")}, held: "not every user of the host may read itnot every user of the host may read it"},
		"the same, asked for": {private: true, events: []Event{leads("/data/link", "/data/shut")},
			want: "--ro-bind /data/link /data/link --ro-bind /data/shut /data/shut"},
		"in what it may write": {spec: writable, events: []Event{missing("/data/sub/x", true)}, want: "--ro-bind /data /data"},
		"written by another name": {spec: writable, events: []Event{here("/else/x", "/data/sub/x")}, dir: "/data/sub",
			held: "the command may write there, and could put a link in its place"},
		"a root, written": {spec: image, events: []Event{write("/etc/x", "EROFS", Dir{InJail: true, OnHost: true}), write("/proc/x", "EROFS", Dir{InJail: true})}, want: "--rootfs-writable"},
		"a root has its own there": {spec: image, events: []Event{{Call: "open", Errno: "ENOENT", Count: 1, Nodes: []Node{{At: "/opt/py/lib/os.py", Top: "/opt/py/lib", Host: "/opt/py/lib/os.py", Public: true}}}},
			want: "--ro-bind /opt/py/lib/os.py /opt/py/lib/os.py"},
		"a root has nothing there": {spec: image, events: []Event{{Call: "open", Errno: "ENOENT", Count: 1, Nodes: []Node{{At: "/opt/py/lib/os.py", Top: "/opt/py", Host: "/opt/py/lib/os.py", Public: true}}}},
			want: "--ro-bind /opt/py /opt/py"},
		"a mount there stays": {spec: nsjail.Spec{Mounts: []nsjail.Mount{{Type: nsjail.MountTmpfs, Target: "/opt/py/tmp"}}},
			events: []Event{missing("/opt/py/lib/os.py", true)}, want: "--ro-bind /opt/py/lib/os.py /opt/py/lib/os.py"},
	} {
		in := &Input{Spec: &c.spec, Events: c.events, Dir: c.dir, Homes: []string{"/root", "/home/"}, Private: c.private, World: host}
		if in.Dir == "" {
			in.Dir = "/nowhere/at/all"
		}
		got := Advise(in)
		var flags []string
		for _, p := range got.Proposals {
			flags = append(flags, flag(&p)...)
		}
		held := ""
		for _, w := range got.Withheld {
			held += w.Why.String()
		}
		if strings.Join(flags, " ") != c.want || held != c.held {
			t.Errorf("%s: %q, want %q; withheld %q, want %q", name, flags, c.want, held, c.held)
		}
	}
}

// flag returns a proposal as brig has it.
func flag(p *Proposal) []string {
	name := [...]string{"--allow", "--cow", "--cpu-time", "--env", "--etc", "--memory", "--pids-limit", "--ro-bind", "--rootfs-writable",
		"--seccomp", "--timeout", "--tmpfs", "--ulimit"}[p.Setting]
	return append([]string{name}, p.Values...)
}

func TestReport(t *testing.T) {
	in := &Input{Spec: &nsjail.Spec{}, LimitsHit: []string{"wall"}, Dir: "/x/y", World: host, Denials: []denial.Denial{
		{Layer: "network", Name: "example.com", Fix: words.Add("allow", "example.com:443"), Count: 2},
		{Layer: "syscall", Name: "ptrace", Fix: words.Set("seccomp", "debug"), Count: 1},
		{Layer: "syscall", Name: "mount", Why: "no", Count: 1}, {Layer: "network", Name: "x", Fix: "allow a b", Count: 1}}}
	got := Advise(in)
	want := "--timeout 4h0m0s --allow example.com:443 --seccomp debug"
	var flags []string
	for _, p := range got.Proposals {
		flags = append(flags, flag(&p)...)
		if p.Reads() {
			t.Errorf("%q is tried", flag(&p))
		}
	}
	if strings.Join(flags, " ") != want || len(got.Withheld) != 1 {
		t.Errorf("%q, want %q; withheld %v", flags, want, got.Withheld)
	}
}

// TestFlood: a payload that asks for everything is answered in a page.
func TestFlood(t *testing.T) {
	in := &Input{Spec: &nsjail.Spec{}, Dir: "/x/y", World: host}
	for i := range 5000 {
		in.Events = append(in.Events, Event{Kind: Lookup, Name: "a" + strconv.Itoa(i) + ".example.com", Count: 1})
	}
	if got := Advise(in); len(got.Proposals) != mostProposals || len(got.Withheld) != 1 {
		t.Errorf("%d proposals, withheld %v", len(got.Proposals), got.Withheld)
	}
}

func TestPlaces(t *testing.T) {
	s := &nsjail.Spec{Mounts: []nsjail.Mount{{Type: nsjail.MountBind, Source: "/data", Target: "/in"}, {Type: nsjail.MountTmpfs, Target: "/opt/x"}}}
	image := &nsjail.Spec{Rootfs: nsjail.Rootfs{Path: "/img"}, Workdir: "/app"}
	for _, c := range []struct {
		spec     *nsjail.Spec
		at, want string
	}{
		{s, "/opt/py/x", "/opt/py/x"}, {s, "/opt/x/y", ""}, {s, "/in/a", "/data/a"}, {s, "/in", "/data"}, {s, "/inside", "/inside"},
		{s, "/work/a", "/cwd/a"}, {s, "/proc/1/mem", ""}, {s, "/home/brig/.x", "/h/u/.x"}, {s, "/", "/"}, {image, "/etc/x", ""},
		{image, "/srv/x", "/srv/x"}, {image, "/cwd/x", "/cwd/x"},
		{image, "/app/x", "/cwd/x"},
	} {
		if got := HostPath(Places(c.spec, "/cwd", "/h/u"), c.at); got != c.want {
			t.Errorf("%s is %q on the host, want %q", c.at, got, c.want)
		}
	}
}

// FuzzAdvise: whatever the payload does, nothing private is proposed unless that was asked for, and a directory that is
// shown has nothing private in it.
func FuzzAdvise(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, "/home/u/proj")
	f.Add([]byte{2, 0, 1, 3, 4, 4, 4, 9, 11, 200}, "/opt/bad")
	f.Fuzz(func(t *testing.T, data []byte, dir string) {
		if !path.IsAbs(dir) || path.Clean(dir) != dir || dir == "/" {
			return
		}
		in := &Input{Spec: &nsjail.Spec{}, Dir: dir, Homes: []string{"/root", "/home/"}, World: host}
		for len(data) >= 4 {
			h := host[int(data[0])%len(host)]
			e := missing(h, data[1]&1 == 0)
			if e.Kind = Kind(data[2] % 9); e.Kind == Lookup {
				e.Name = "example.com"
			}
			e.Addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), binary.BigEndian.Uint16(data[2:]))
			e.Errno = []string{"ENOENT", "EROFS", "EACCES"}[data[3]%3]
			e.Dir = Dir{Path: path.Dir(h), InJail: data[3]&8 != 0, Empty: data[3]&16 != 0, OnHost: data[3]&32 != 0}
			in.Events = append(in.Events, e)
			data = data[4:]
		}
		for _, p := range Advise(in).Proposals {
			if p.Setting != ReadOnly && p.Setting != COW {
				continue
			}
			src, _, _ := strings.Cut(p.Values[0], ":")
			if why := Private(src, dir, in.Homes); why != "" || p.Power == Secret || host.Secrets(src, true) {
				t.Errorf("%q in %q: %s", flag(&p), dir, why)
			}
		}
	})
}
