package engine

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"brig/brigd/job"
	"brig/brigd/lang"
	"brig/brigd/policy"
	"brig/image"
	"brig/image/asroot"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// ImageInfo describes an image that the caller may name.
type ImageInfo struct {
	// Name is what Request.Image names.
	Name string `json:"image"`
	// Digest is the SHA-256 of its manifest.
	Digest string `json:"digest"`
	// Languages are those in which code may be sent with it.
	Languages []string `json:"languages"`
}

// root is an image that requests may name, as it was when the engine was made.
type root struct {
	name string // as the operator wrote it
	*image.Image
	held  *os.File // keeps it from being removed
	langs *lang.Languages
}

// images are the roots that requests may name.
type images struct {
	access *access
	roots  map[string]*root // by full name
}

// openImages looks up images in a store (Options.ImageStore), and the languages in each. If a name is pulled again, the
// new image is used by the next Engine only.
func openImages(names []string, at string, a *access) (*images, error) {
	s := &images{a, map[string]*root{}}
	if len(names) == 0 {
		return s, nil
	}
	store, err := image.Open(at)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := s.open(store, name); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func (s *images) open(store *image.Store, name string) error {
	n, err := image.ParseName(name)
	if err != nil {
		return err
	}
	r := &root{name: name}
	if r.Image, err = store.Lookup(name); errors.Is(err, image.ErrNotFound) {
		return fmt.Errorf("%w; run brigd image pull %s", err, words.Quote(name))
	}
	if err == nil {
		r.held, err = r.Hold()
	}
	if err != nil {
		return err
	}
	if was := s.roots[n.String()]; was != nil {
		return errors.Join(fmt.Errorf("the image %s is named twice; leave one out", words.Quote(name)), r.held.Close())
	}
	s.roots[n.String()] = r
	base := nsjail.Spec{Args: []string{"true"}} // checks the configuration, once for all runs
	if err = r.apply(&base); err == nil {
		r.langs, err = lang.FindFor(&base)
	}
	return err
}

// apply makes the image the root of a Spec. Unless the Spec sets others, the run starts in /work and HOME is the
// jail's, since programs can write to both.
func (r *root) apply(s *nsjail.Spec) error {
	s.Rootfs.System, s.Workdir = "", cmp.Or(s.Workdir, spec.DefaultWorkdir) // an image has no /usr of the host's
	return asroot.Apply(s, r.Image, asroot.Options{KeepHome: true})
}

func (s *images) close() (err error) {
	for _, r := range s.roots {
		err = errors.Join(err, r.held.Close())
	}
	return err
}

// Images lists the images that the caller may name, by name.
func (s *images) Images(c Caller) []ImageInfo {
	list := []ImageInfo{}
	for _, r := range s.roots {
		if !s.mayHave(c, r) {
			continue
		}
		i := ImageInfo{Name: r.name, Digest: r.Digest, Languages: []string{}}
		for _, l := range r.langs.List() {
			i.Languages = append(i.Languages, l.Name)
		}
		list = append(list, i)
	}
	slices.SortFunc(list, func(a, b ImageInfo) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// mayHave reports whether the Rules and all policies allow an image.
func (s *images) mayHave(c Caller, r *root) bool {
	return c.Rules.allowsImage(r.name) &&
		!slices.ContainsFunc(s.access.of(c), func(p *policy.Policy) bool { return !p.AllowsImage(r.name) })
}

// choose makes the image that a request names the root of its Job. An image that does not exist is refused in the same
// words as one that the caller may not have.
func (s *images) choose(c Caller, j *job.Job, name string) *job.Refusal {
	if name == "" {
		return nil
	}
	var r *root
	if n, err := image.ParseName(name); err == nil {
		r = s.roots[n.String()]
	}
	if r == nil || !s.mayHave(c, r) {
		var names []string
		for _, i := range s.Images(c) {
			names = append(names, i.Name)
		}
		next := "leave image out: there is none"
		if len(names) > 0 {
			next = "use one of these, or leave it out: " + strings.Join(names, ", ")
		}
		return bad("image_not_allowed", "image", words.Quote(words.Short(name, words.MaxShown))+
			" is no image that you may use", next)
	}
	before := len(j.Spec.Env)
	if err := r.apply(&j.Spec); err != nil {
		return bad("bad_image", "image", err.Error(), "tell the operator")
	}
	j.Image = &job.Image{Name: r.name, Digest: r.Digest, User: j.Spec.User, Env: j.Spec.Env[before:]}
	return nil
}

// langs returns the languages of a Job's image, or nil if it has none.
func (s *images) langs(j *job.Job) *lang.Languages {
	if j.Image != nil {
		for _, r := range s.roots {
			if r.name == j.Image.Name {
				return r.langs
			}
		}
	}
	return nil
}
