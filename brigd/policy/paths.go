package policy

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"brig/brigd/job"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
)

// AllowsImage reports whether an image of the operator's may be the root.
func (p *Policy) AllowsImage(name string) bool {
	return open(p, p.Images) || slices.Contains(p.Images, name) || slices.Contains(p.Images, Any)
}

// validImage reports whether s can be an entry of Policy.Images.
func validImage(s string) bool {
	return s != "" && len(s) <= 255 && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// root checks the jail's root. The roots of the policy say nothing about an image: the operator has named it.
func (p *Policy) root(j *job.Job, v *view) *job.Refusal {
	s := &j.Spec
	if j.Image != nil {
		if p.AllowsImage(j.Image.Name) {
			return nil
		}
		return p.refusal("images", "image_not_allowed", "the image "+words.QuoteASCII(j.Image.Name)+" is not allowed",
			"Leave image out, or use one of the allowed images: "+orNone(p.Images)+".")
	}
	if open(p, p.Paths.Roots) {
		return nil
	}
	roots := slices.DeleteFunc(slices.Clone(p.Paths.Roots), func(r string) bool { return r == "" })
	minimal := len(roots) < len(p.Paths.Roots)
	where, err := v.host(-1)
	switch {
	case s.Rootfs.Path == "" && !minimal:
		return p.refusal("paths.roots", "root_not_allowed", "the minimal root is not allowed",
			"Use one of the allowed roots: "+orNone(roots)+".")
	case s.Rootfs.Path == "", err == nil && !p.movable(where) && covers(roots, where):
		return nil
	}
	return p.refusal("paths.roots", "root_not_allowed",
		fmt.Sprintf("the root %s is not allowed%s", words.QuoteASCII(s.Rootfs.Path), because(err)),
		"Leave rootfs out, or use one of the allowed roots: "+orNone(roots)+".")
}

// mounts checks each mount's source on the host and its target in the jail.
func (p *Policy) mounts(s *nsjail.Spec, v *view) *job.Refusal {
	if v.bad != nil && !p.anyTarget() {
		return p.refusal("paths.targets", "path_not_allowed", fmt.Sprintf("a mount's target cannot be told: %v", v.bad),
			"Put the mount beside the writable one, not below it.")
	}
	for _, name := range s.Etc {
		if !open(p, p.Paths.Read) && !covers(p.Paths.Read, "/etc/"+name) {
			return p.refusal("paths.read", "path_not_allowed", "etc: "+words.QuoteASCII("/etc/"+name)+" may not be read",
				"Leave it out.")
		}
	}
	for i, m := range s.Mounts {
		field := fmt.Sprintf("mounts[%d]", i)
		if r := p.mountSource(field, i, v); r != nil {
			return r
		}
		if !p.targetAllowed(v.targets[i]) {
			return p.refusal("paths.targets", "path_not_allowed",
				fmt.Sprintf("%s: nothing may be put at %s in the jail", field, words.QuoteASCII(m.Target)),
				"Use a target below one of "+strings.Join(slices.Concat(workAreas, p.Paths.Targets), ", ")+".")
		}
	}
	return nil
}

func (p *Policy) anyTarget() bool {
	return open(p, p.Paths.Targets) || slices.Contains(p.Paths.Targets, "/")
}

func (p *Policy) targetAllowed(target string) bool {
	in := func(dir string) bool { return sys.Under(target, dir) }
	return p.anyTarget() || slices.ContainsFunc(slices.Concat(workAreas, p.Paths.Targets), in) || target == "/dev/shm"
}

func (p *Policy) mountSource(field string, i int, v *view) *job.Refusal {
	m := v.spec.Mounts[i]
	if m.Held != nil {
		return p.share(field, &m)
	}
	if open(p, p.Paths.Read) && open(p, p.Paths.Write) {
		return nil
	}
	if m.Type.OwnFiles() {
		return nil
	}
	switch m.Type {
	case nsjail.MountVolume:
		if m.Writable && inputOf(m.Source) {
			return p.refusal("paths.write", "path_not_allowed", field+": a sandbox's input is read-only",
				"Write to /work or /output.")
		}
		return nil
	case nsjail.MountBind, nsjail.MountFile, nsjail.MountCOW: // a cow reads its source
	default:
		return p.refusal("paths", "path_not_allowed", field+": no policy knows mounts of type "+
			words.QuoteASCII(string(m.Type)), "Leave it out.")
	}
	where, err := v.host(i)
	list, name := slices.Concat(p.Paths.Write, p.Paths.Read), "read"
	if m.Writable {
		list, name = p.Paths.Write, "write"
	}
	switch {
	case err == nil && p.movable(where):
		return p.refusal("paths."+name, "path_not_allowed", field+": "+words.QuoteASCII(m.Source)+
			" lies below a path that runs write to, where it can be replaced by a link",
			"Share the whole of one of "+orNone(p.Paths.Write)+", and name the file below it in the jail.")
	case err == nil && covers(list, where):
		return nil
	}
	return p.refusal("paths."+name, "path_not_allowed",
		fmt.Sprintf("%s: to %s %s of the host is not allowed%s", field, name, words.QuoteASCII(m.Source), because(err)),
		"Use a path below one of "+orNone(list)+", or put the files into the request.")
}

// pin replaces the sources in the Spec by their resolved paths, so that a symbolic link that is changed before the jail
// is made has no effect.
func (p *Policy) pin(s *nsjail.Spec, v *view) {
	if where, err := v.host(-1); err == nil && s.Rootfs.Path != "" && !open(p, p.Paths.Roots) {
		s.Rootfs.Path = where
	}
	if open(p, p.Paths.Read) && open(p, p.Paths.Write) {
		return
	}
	mounts := slices.Clone(s.Mounts) // the list may be the caller's
	for i, m := range mounts {
		if m.Held == nil && (m.Type == nsjail.MountBind || m.Type == nsjail.MountFile) {
			if where, err := v.host(i); err == nil {
				mounts[i].Source = where
			}
		}
	}
	s.Mounts = mounts
}

// covers reports whether a resolved path is in a list or below one of its paths. It compares whole path components.
func covers(list []string, where string) bool {
	return slices.ContainsFunc(list, func(dir string) bool { return sys.Under(where, settled(dir)) })
}

// movable reports whether a path is below one that runs may write to. A payload could replace it with a symbolic link
// before the jail is made.
func (p *Policy) movable(where string) bool {
	return slices.ContainsFunc(p.Paths.Write,
		func(dir string) bool { return dir != "/" && where != settled(dir) && sys.Under(where, settled(dir)) })
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf(" (%v)", err)
}

// hostPath returns the absolute path of a file of the host, with all symbolic links resolved.
func hostPath(source string) (string, error) {
	abs, err := sys.Abs(source)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// settled returns a policy's path with its symbolic links resolved, or unchanged if it does not exist.
func settled(dir string) string {
	if where, err := filepath.EvalSymlinks(dir); err == nil {
		return where
	}
	return path.Clean(dir)
}
