package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"brig/brigd/internal/jailpath"
	"brig/brigd/job"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
)

// workAreas are the paths of a jail that are always allowed as mount targets.
var workAreas = []string{"/input", "/work", "/output", "/tmp", "/run", "/home", "/mnt", "/srv", "/data", "/code"}

// fileRules are which files a run may have: its root, mounts of the host's files, images and shares.
type fileRules struct {
	rule
	Paths
	images []string
	shares []string
}

func (p *Policy) files() *fileRules { return &fileRules{p.rule(), p.Paths, p.Images, p.Shares} }

func (f *fileRules) check(c *checker) {
	for _, list := range []struct {
		name  string
		paths []string
		empty bool
	}{{"read", f.Read, false}, {"write", f.Write, false}, {"targets", f.Targets, false}, {"roots", f.Roots, true}} {
		c.each("paths."+list.name, list.paths, "is not an absolute path without . and ..", "write it as in /srv/data",
			func(s string) bool { return list.empty && s == "" || cleanAbs(s) })
	}
	c.each("images", f.images, "is not the name of an image", "write it as brigd's setting image does, or *", validImage)
	c.each("shares", f.shares, "is not a share with its highest mode", "write it as in data, data:ro or *", validShare)
}

// cleanAbs reports whether a path is absolute and clean.
func cleanAbs(s string) bool {
	return strings.HasPrefix(s, "/") && path.Clean(s) == s && !strings.ContainsRune(s, 0)
}

// allowsImage reports whether an image of the operator's may be the root.
func (f *fileRules) allowsImage(name string) bool {
	return open(f.rule, f.images) || slices.Contains(f.images, name) || slices.Contains(f.images, Any)
}

// validImage reports whether s can be an entry of Policy.Images.
func validImage(s string) bool {
	return s != "" && len(s) <= 255 && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// root checks the jail's root. The roots of the policy say nothing about an image: the operator has named it.
func (f *fileRules) root(j *job.Job, v *jailpath.View) *job.Refusal {
	s := &j.Spec
	if j.Image != nil {
		if f.allowsImage(j.Image.Name) {
			return nil
		}
		return f.refusal("images", "image_not_allowed", "the image "+words.QuoteASCII(j.Image.Name)+" is not allowed",
			"Leave image out, or use one of the allowed images: "+orNone(f.images)+".")
	}
	if open(f.rule, f.Roots) {
		return nil
	}
	roots := slices.DeleteFunc(slices.Clone(f.Roots), func(r string) bool { return r == "" })
	minimal := len(roots) < len(f.Roots)
	where, err := v.Host(-1)
	switch {
	case s.Rootfs.Path == "" && !minimal:
		return f.refusal("paths.roots", "root_not_allowed", "the minimal root is not allowed",
			"Use one of the allowed roots: "+orNone(roots)+".")
	case s.Rootfs.Path == "", err == nil && !f.movable(where) && covers(roots, where):
		return nil
	}
	return f.refusal("paths.roots", "root_not_allowed",
		fmt.Sprintf("the root %s is not allowed%s", words.QuoteASCII(s.Rootfs.Path), because(err)),
		"Leave rootfs out, or use one of the allowed roots: "+orNone(roots)+".")
}

// mounts checks each mount's source on the host and its target in the jail.
func (f *fileRules) mounts(s *nsjail.Spec, v *jailpath.View) *job.Refusal {
	if v.Bad != nil && !f.anyTarget() {
		return f.refusal("paths.targets", "path_not_allowed", fmt.Sprintf("a mount's target cannot be told: %v", v.Bad),
			"Put the mount beside the writable one, not below it.")
	}
	for _, name := range s.Etc {
		if !open(f.rule, f.Read) && !covers(f.Read, "/etc/"+name) {
			return f.refusal("paths.read", "path_not_allowed", "etc: "+words.QuoteASCII("/etc/"+name)+" may not be read",
				"Leave it out.")
		}
	}
	for i, m := range s.Mounts {
		field := fmt.Sprintf("mounts[%d]", i)
		if r := f.mountSource(field, i, v); r != nil {
			return r
		}
		if !f.targetAllowed(v.Targets[i]) {
			return f.refusal("paths.targets", "path_not_allowed",
				fmt.Sprintf("%s: nothing may be put at %s in the jail", field, words.QuoteASCII(m.Target)),
				"Use a target below one of "+strings.Join(slices.Concat(workAreas, f.Targets), ", ")+".")
		}
	}
	return nil
}

func (f *fileRules) anyTarget() bool {
	return open(f.rule, f.Targets) || slices.Contains(f.Targets, "/")
}

func (f *fileRules) targetAllowed(target string) bool {
	in := func(dir string) bool { return sys.Under(target, dir) }
	return f.anyTarget() || slices.ContainsFunc(slices.Concat(workAreas, f.Targets), in) || target == "/dev/shm"
}

func (f *fileRules) mountSource(field string, i int, v *jailpath.View) *job.Refusal {
	m := v.Spec.Mounts[i]
	if m.Held != nil {
		return f.share(field, &m)
	}
	if open(f.rule, f.Read) && open(f.rule, f.Write) {
		return nil
	}
	if m.Type.OwnFiles() {
		return nil
	}
	switch m.Type {
	case nsjail.MountVolume:
		if m.Writable && jailpath.InputOf(m.Source) {
			return f.refusal("paths.write", "path_not_allowed", field+": a sandbox's input is read-only",
				"Write to /work or /output.")
		}
		return nil
	case nsjail.MountBind, nsjail.MountFile, nsjail.MountCOW: // a cow reads its source
	default:
		return f.refusal("paths", "path_not_allowed", field+": no policy knows mounts of type "+
			words.QuoteASCII(string(m.Type)), "Leave it out.")
	}
	where, err := v.Host(i)
	list, name := slices.Concat(f.Write, f.Read), "read"
	if m.Writable {
		list, name = f.Write, "write"
	}
	switch {
	case err == nil && f.movable(where):
		return f.refusal("paths."+name, "path_not_allowed", field+": "+words.QuoteASCII(m.Source)+
			" lies below a path that runs write to, where it can be replaced by a link",
			"Share the whole of one of "+orNone(f.Write)+", and name the file below it in the jail.")
	case err == nil && covers(list, where):
		return nil
	}
	return f.refusal("paths."+name, "path_not_allowed",
		fmt.Sprintf("%s: to %s %s of the host is not allowed%s", field, name, words.QuoteASCII(m.Source), because(err)),
		"Use a path below one of "+orNone(list)+", or put the files into the request.")
}

// pin replaces the sources in the Spec by their resolved paths, so that a symbolic link that is changed before the jail
// is made has no effect.
func (f *fileRules) pin(s *nsjail.Spec, v *jailpath.View) {
	if where, err := v.Host(-1); err == nil && s.Rootfs.Path != "" && !open(f.rule, f.Roots) {
		s.Rootfs.Path = where
	}
	if open(f.rule, f.Read) && open(f.rule, f.Write) {
		return
	}
	mounts := slices.Clone(s.Mounts) // the list may be the caller's
	for i, m := range mounts {
		if m.Held == nil && (m.Type == nsjail.MountBind || m.Type == nsjail.MountFile) {
			if where, err := v.Host(i); err == nil {
				mounts[i].Source = where
			}
		}
	}
	s.Mounts = mounts
}

// movable reports whether a path is below one that runs may write to. A payload could replace it with a symbolic link
// before the jail is made.
func (f *fileRules) movable(where string) bool {
	return slices.ContainsFunc(f.Write,
		func(dir string) bool { return dir != "/" && where != settled(dir) && sys.Under(where, settled(dir)) })
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf(" (%v)", err)
}
