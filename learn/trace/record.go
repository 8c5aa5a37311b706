package trace

import (
	"os"
	"path"
	"strconv"
	"strings"

	"brig/learn"

	"golang.org/x/sys/unix"
)

// The bounds of what one run is remembered for.
const (
	MaxEvents    = 5000
	maxKnown     = 20000 // with those that concern no file of the host
	maxResolvers = 4096
)

// record collects events: each kind of failure of each path once, with a count.
type record struct {
	lookup
	own       string
	byKey     map[key]int
	list      []learn.Event
	resolvers map[string]bool // sockets that are connected to a resolver
	dropped   int
}

type key struct {
	kind              learn.Kind
	errno, path, name string
	addr              string
}

func newRecord(places []learn.Place) *record {
	r := &record{lookup: lookup{places: places, root: -1, public: map[string]bool{}}, byKey: map[key]int{},
		resolvers: map[string]bool{}}
	r.own, _ = os.Readlink("/proc/self/ns/pid") // without /proc no jail starts
	return r
}

func (r *record) close() {
	if r.root >= 0 {
		_ = unix.Close(r.root)
	}
}

// add counts an event, and looks at the host once for each.
func (r *record) add(e learn.Event) {
	k := key{kind: e.Kind, errno: e.Errno, path: e.Path, name: e.Name}
	if e.Addr.IsValid() {
		k.addr = e.Addr.String()
	}
	if i, ok := r.byKey[k]; ok {
		if i >= 0 {
			r.list[i].Count++
		}
		return
	}
	e.Count = 1
	switch e.Kind {
	case learn.Read, learn.Socket:
		e.Nodes = r.nodes(e.Path, false)
	case learn.Exec:
		e.Nodes = r.nodes(e.Path, true)
	case learn.Write:
		e.Nodes, e.Dir = r.nodes(e.Path, false), r.dir(path.Dir(e.Path))
	}
	switch nothing := len(e.Nodes) == 0 && (e.Kind == learn.Read || e.Kind == learn.Socket || e.Kind == learn.Exec); {
	case nothing && len(r.byKey) < maxKnown:
		r.byKey[k] = -1
		return
	case nothing: // it is looked for again if it comes again
		return
	case len(r.list) == MaxEvents:
		r.dropped++
		return
	}
	r.byKey[k] = len(r.list)
	r.list = append(r.list, e)
}

// link reads a symbolic link of /proc/PID; "" if the process has ended.
func (r *record) link(pid int, name string) string {
	to, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/" + name)
	return to
}

func fdName(fd uint64) string { return "fd/" + strconv.Itoa(int(int32(uint32(fd)))) }

// inJail reports whether a process is in another pid namespace than the tracer: pid_namespaces(7).
func (r *record) inJail(pid int) bool {
	ns := r.link(pid, "ns/pid")
	return ns != "" && ns != r.own
}

// open opens the root of the jail, once.
func (r *record) open(pid int) {
	if r.root < 0 {
		name := "/proc/" + strconv.Itoa(pid) + "/root"
		if fd, err := unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
			r.root = fd
		}
	}
}

// resolver remembers a socket by the link of its descriptor, which has its number: proc_pid_fd(5).
func (r *record) resolver(socket string) {
	if strings.HasPrefix(socket, "socket:") && len(r.resolvers) < maxResolvers {
		r.resolvers[socket] = true
	}
}

// asks reports whether a socket is connected to a resolver.
func (r *record) asks(socket func() string) bool {
	return len(r.resolvers) > 0 && r.resolvers[socket()]
}
