package learn

import (
	"path"
	"slices"
	"strings"

	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// optional lists files that programs look for and do not need.
var optional = []string{"/etc/locale.alias", "/etc/host.conf", "/etc/gai.conf", "/etc/inputrc", "/etc/profile",
	"/etc/profile.d", "/etc/bash.bashrc", "/etc/terminfo", "/etc/gss", "/etc/localtime", "/etc/timezone",
	"/etc/ld.so.preload", "/etc/debian_version", "/etc/selinux", "/etc/perl", "/etc/papersize", "/etc/apt", "/etc/dpkg"}

// dispensable reports whether programs work equally well without a file.
func dispensable(host string) bool {
	return inOne(host, optional...) || under(host, "/etc") && strings.HasSuffix(host, "/sitecustomize.py")
}

// nodes wants each file that the jail lacks, unless it is private or cannot be shown.
func (a *advisor) nodes(e *Event) {
	for i := range e.Nodes {
		n := &e.Nodes[i]
		why := a.private(n)
		for j := i + 1; n.Type == Link && why == "" && j < len(e.Nodes); j++ {
			why = a.private(&e.Nodes[j]) // a mount that names a link shows the file that it leads to
		}
		switch {
		case dispensable(n.Host):
		case n.Type == SocketFile || e.Kind == Socket:
			a.withhold(e, n.Host, "a socket of the host: its service would act for the payload")
		case n.Type == Device:
			a.withhold(e, n.Host, "a device of the host: none can be opened in a jail")
		case why != "" && !a.Private:
			a.withhold(e, n.Host, words.Plain(why))
		default:
			a.want(&want{node: *n, unit: n.Host, at: n.At, private: why != "", by: e})
		}
	}
}

// private returns why a file must not be shown, or "".
func (a *advisor) private(n *Node) string {
	why := Private(n.Host, a.Dir, a.Homes)
	if why == "" && !n.Public && !a.callers(n.Host) {
		why = "not every user of the host may read it"
	}
	return why
}

// want records a file to show. If it is below a writable bind, the whole source of that bind is shown instead, which
// the payload sees anyway: before the next run the payload could replace the file by a symbolic link to something
// private.
func (a *advisor) want(w *want) {
	for _, m := range a.Spec.Mounts {
		if m.Type == nsjail.MountBind && m.Writable && w.unit != m.Source && under(w.unit, m.Source) {
			at, same := a.placeOf(w, m.Source)
			if !same || a.hides(at) {
				a.withhold(w.by, w.node.Host, "the command may write there, and could put a link in its place")
				return
			}
			w.unit, w.at = m.Source, at
		}
	}
	if w.unit == w.node.Host && !w.private {
		a.widen(w)
	}
	a.reads = append(a.reads, *w)
}

// secrets reports whether a directory has something private in it.
func (a *advisor) secrets(dir string) bool { return a.World.Secrets(dir, !a.callers(dir)) }

// callers reports whether the path is in the caller's working directory, which the caller has thereby chosen.
func (a *advisor) callers(host string) bool { return under(host, a.Dir) && !broad(a.Dir) }

// programParents are directories with one subdirectory for each program. Such a subdirectory is shown as a whole.
var programParents = []string{"/opt", "/srv", "/var/lib", "/var/cache", "/usr/local", "/nix/store", "/snap", "/app"}

// projectMarks are names by which the top directory of a project is recognized. It is shown as a whole.
var projectMarks = []string{"pyvenv.cfg", "package.json", "go.mod", "Cargo.toml", "conda-meta", ".git"}

// widen shows a directory instead of a single file if both belong to the same program or project and the directory
// holds nothing private.
func (a *advisor) widen(w *want) {
	for _, dir := range a.candidates(w.node.Host) {
		at, same := a.placeOf(w, dir)
		if same && !broad(dir) && Private(dir, a.Dir, a.Homes) == "" && !a.hides(at) && !a.secrets(dir) {
			w.unit, w.at = dir, at
			return
		}
	}
}

// candidates returns the directories that could be shown instead of a file, in the order of preference.
func (a *advisor) candidates(host string) (list []string) {
	if under(host, a.Dir) {
		list = append(list, a.Dir)
	}
	var above []string // the outermost first
	for dir := path.Dir(host); dir != "/"; dir = path.Dir(dir) {
		above = append(above, dir)
	}
	slices.Reverse(above)
	for _, dir := range above {
		has := func(name string) bool { return a.World.Has(join(dir, name)) }
		prefix := has("bin") && slices.ContainsFunc([]string{"lib", "lib64", "libexec", "share"}, has)
		if prefix || slices.ContainsFunc(projectMarks, has) || slices.Contains(programParents, path.Dir(dir)) {
			list = append(list, dir)
		}
	}
	if under(host, a.Dir) && host != a.Dir { // file by file, but directories whole
		name, _, _ := strings.Cut(strings.TrimPrefix(host[len(a.Dir):], "/"), "/")
		if dir := join(a.Dir, name); dir != host {
			list = append(list, dir)
		}
	}
	return list
}

// placeOf returns the path in the jail of a directory above the wanted file. same is false if the file would have
// another path below it, or if the directory would hide files of an image or of another root.
func (a *advisor) placeOf(w *want, dir string) (at string, same bool) {
	rest := strings.TrimPrefix(w.node.Host, dir)
	at, same = strings.CutSuffix(w.node.At, rest)
	bare := a.Spec.Rootfs == nsjail.Rootfs{} || under(at, w.node.Top)
	return at, same && at != "" && at != "/" && bare
}

// hides reports whether a mount at this path would hide a mount of the Spec.
func (a *advisor) hides(at string) bool {
	return slices.ContainsFunc(a.Spec.Mounts, func(m nsjail.Mount) bool { return under(m.Target, at) })
}

// broad reports whether a directory is never shown as a whole, because it holds unrelated files.
func broad(dir string) bool {
	return strings.Count(dir, "/") < 2 || slices.Contains(programParents, dir) ||
		slices.Contains([]string{"/var/tmp", "/var/run", "/usr/lib", "/usr/share", "/usr/bin"}, dir)
}

// showWholeFrom is the number of wanted files in a directory from which on the whole directory is shown.
const showWholeFrom = 3

// show proposes what shows the wanted files.
func (a *advisor) show() {
	in := map[string]int{}
	for _, w := range a.reads {
		if w.unit == w.node.Host && w.node.Type != Directory {
			in[path.Dir(w.unit)]++
		}
	}
	for i := range a.reads {
		w := &a.reads[i]
		dir := path.Dir(w.unit)
		at, same := a.placeOf(w, dir)
		if w.unit == w.node.Host && in[dir] >= showWholeFrom && same && !broad(dir) && !a.hides(at) &&
			Private(dir, a.Dir, a.Homes) == "" && !a.secrets(dir) {
			w.unit, w.at = dir, at
		}
	}
	for i := range a.reads {
		w := &a.reads[i]
		covered := func(o want) bool { return o.unit != w.unit && under(w.unit, o.unit) && under(w.at, o.at) }
		if j := slices.IndexFunc(a.reads, covered); j >= 0 {
			w.unit, w.at = a.reads[j].unit, a.reads[j].at
		}
		a.showOne(w)
	}
	for value, e := range a.cows {
		a.propose(e, Copy, e.Path, COW, value)
	}
}

func (a *advisor) showOne(w *want) {
	power := Own
	switch {
	case w.private:
		power = Secret
	case !a.callers(w.node.Host):
		power = Public
	}
	name, inEtc := strings.CutPrefix(w.unit, "/etc/")
	cow := w.unit
	if w.at != spec.DefaultWorkdir {
		cow += ":" + w.at
	}
	switch {
	case a.cows[cow] != nil:
		a.propose(w.by, Copy, w.node.At, COW, cow)
	case inEtc && w.at == w.unit && power == Public && w.node.Type != Link:
		a.propose(w.by, power, w.node.At, Etc, a.etc(name))
	default:
		a.propose(w.by, power, w.node.At, ReadOnly, w.unit, w.at)
	}
}

// etc returns the name for Etc: the directory right below /etc, if nothing there is private.
func (a *advisor) etc(name string) string {
	top, _, below := strings.Cut(name, "/")
	if dir := "/etc/" + top; below && Private(dir, a.Dir, a.Homes) == "" && !a.secrets(dir) && !a.hides(dir) {
		return top
	}
	return name
}
