package spec

import (
	"iter"
	"reflect"
	"slices"
	"strings"

	"brig/cgroup"
	"brig/internal/words"
)

// Mechanism is one protection or limit that a Spec may list under Require or Optional.
type Mechanism struct {
	// Name is what Spec.Require and Spec.Optional hold, and the key in Result.Enforced.
	Name string `json:"name"`
	What string `json:"what"` // one line for a reader
	// OnDemand is set if the mechanism is in force only when a field of the Spec asks for it.
	OnDemand bool `json:"-"`
}

// Mechanisms returns all mechanisms in the order of a report: the protections, then the limits of control groups.
func Mechanisms() []Mechanism {
	list := []Mechanism{
		{Name: "user", What: "a user namespace: the payload is nobody on the host"},
		{Name: "mount", What: "a mount namespace with a root of its own"},
		{Name: "pid", What: "a pid namespace: host processes are invisible and everything ends together"},
		{Name: "net", What: "a network namespace: nothing is reachable but what Spec.Net allows"},
		{Name: "ipc", What: "an IPC namespace: System V objects and POSIX queues of its own"},
		{Name: "uts", What: "a UTS namespace: a host name of its own"},
		{Name: "cgroup", What: "a cgroup namespace: the host's control groups are invisible"},
		{Name: "seccomp", What: "the system-call filter"},
		{Name: "landlock", What: "a Landlock domain: a second fence around files, signals and abstract sockets"},
		{Name: "apparmor", What: "an AppArmor profile of the caller's choice", OnDemand: true},
		{Name: "selinux", What: "an SELinux context of the caller's choice", OnDemand: true},
		{Name: "overlay", What: "an overlay of /usr, so that locks and watches do not cross between jails"},
		{Name: "idmap", What: "idmapped writable binds, so that new files belong to the directory's owner"},
		{Name: "cow", What: "cow mounts: their sources never change, and the changes are bounded"},
		{Name: "keyring", What: "a new session keyring"},
		{Name: "proc", What: "a /proc of the jail's own pid namespace, with its sensitive files masked"},
		{Name: "init", What: "an init as pid 1 that reaps and forwards signals"},
		{Name: "processes", What: "the limit on processes and threads"},
		{Name: "sockets", What: "the rule on socket families"},
		{Name: "protect", What: "protected paths below writable binds", OnDemand: true},
	}
	for _, m := range cgroup.Mechanisms() {
		if m.Name != "processes" { // "processes" is in force by default, even without a group
			list = append(list, Mechanism{Name: m.Name, What: m.What, OnDemand: true})
		}
	}
	return list
}

// mechanism returns the row of Mechanisms with a name.
func mechanism(name string) (Mechanism, bool) {
	all := Mechanisms()
	i := slices.IndexFunc(all, func(m Mechanism) bool { return m.Name == name })
	if i < 0 {
		return Mechanism{}, false
	}
	return all[i], true
}

// mechanismNames returns the names of Mechanisms.
func mechanismNames() []string {
	var names []string
	for _, m := range Mechanisms() {
		names = append(names, m.Name)
	}
	return names
}

// LimitTable yields the rows of all limits, in the order of the fields of Limits.
func LimitTable() iter.Seq[Limit] { return slices.Values(limitRows) }

// About returns Help with a reference to the limit that it names.
func (r *Limit) About() Text {
	if r.Of == "" {
		return words.Plain(r.Help)
	}
	return words.Textf(r.Help, words.Field("limits."+r.Of))
}

// IsSet reports whether a Spec sets the limit. For a limit with a default, a negative value means that it is not set.
func (r *Limit) IsSet(l *Limits) bool {
	switch v := reflect.ValueOf(r.Field(l)).Elem(); {
	case v.Kind() == reflect.Map || v.Kind() == reflect.Slice:
		return v.Len() > 0
	case r.Default:
		return v.Int() > 0
	default:
		return !v.IsZero()
	}
}

// Asked returns the mechanisms that the limits need.
func (l *Limits) Asked() map[string]bool {
	asked := map[string]bool{}
	for i := range limitRows {
		if r := &limitRows[i]; r.IsSet(l) {
			for name := range strings.FieldsSeq(r.Mechanism) {
				asked[name] = true
			}
		}
	}
	return asked
}

// asked returns the mechanisms that fields of the Spec need: those of the limits, and those of the labels.
func (s *Spec) asked() map[string]bool {
	asked := s.Limits.Asked()
	asked["apparmor"], asked["selinux"] = s.AppArmor != "", s.SELinuxLabel != ""
	return asked
}
