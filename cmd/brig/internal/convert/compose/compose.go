// Package compose converts a service of a compose file. Its keys are flags of docker run in other words.
package compose

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"brig/cmd/brig/internal/convert"
	"brig/cmd/brig/internal/convert/docker"
	"brig/internal/words"
)

// File is a compose file that has been read, and where it was.
type File struct {
	Doc any    // maps, lists, strings, bools, json.Number and nil
	Dir string // relative paths start there
	// Lookup returns a variable for ${NAME}.
	Lookup func(name string) (string, bool)
}

// reader converts a service.
type reader struct {
	*docker.Line
	*File
	top     map[string]any
	name    string // of the service
	image   string
	command []string
	mode    bool // network_mode is given
	err     error
}

// flat is the advice for what only docker compose can put together.
const flat = "write docker compose config | brig convert compose - SERVICE"

// Convert converts the service of this name, or the only one if the name is "".
func Convert(f *File, service string) (*convert.Jail, error) {
	top, ok := f.Doc.(map[string]any)
	services, has := top["services"].(map[string]any)
	if !ok || !has || len(services) == 0 {
		return nil, errors.New("the file has no services; write them below the key services")
	}
	if top["include"] != nil {
		return nil, errors.New("include: other files are not read; " + flat)
	}
	names := slices.Sorted(maps.Keys(services))
	if service == "" && len(names) > 1 {
		return nil, fmt.Errorf("there are %d services, and a jail is one; write one of %s after the file", len(names),
			words.Short(strings.Join(names, ", "), 200))
	}
	if service == "" {
		service = names[0]
	}
	if _, ok := services[service]; !ok {
		return nil, fmt.Errorf("%s is not a service of the file; %s", words.Quote(service), words.DidYouMean(service, names))
	}
	r := &reader{Line: &docker.Line{}, File: f, top: top, name: service}
	r.service(services[service])
	if r.err != nil {
		return nil, r.err
	}
	if r.image == "" {
		return nil, fmt.Errorf("%s has neither image nor build; write image: NAME", r.at(""))
	}
	return r.Finish(r.image, r.command)
}

// at returns the path of a key of the service.
func (r *reader) at(key string) string { return strings.TrimSuffix("services."+r.name+"."+key, ".") }

func (r *reader) fail(at, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: "+format, append([]any{words.Quote(at)}, args...)...)
	}
}

// service converts the keys in alphabetical order, in which env_file comes before environment, as it must.
func (r *reader) service(v any) {
	s := r.object(r.at(""), r.expand(r.at(""), v))
	known := map[string]*convert.Word{}
	for _, w := range convert.Words(table) {
		known[w.Name] = &w
	}
	for key, value := range r.members(r.at(""), s) {
		switch w := known[key]; {
		case strings.HasPrefix(key, "x-"):
		case w == nil:
			r.fail(r.at(key), "it is not a key of a service; %s", words.DidYouMean(key, slices.Sorted(maps.Keys(known))))
		case value != nil:
			r.key(w, r.at(key), value)
		}
	}
	if s["build"] != nil {
		r.image = cmp.Or(r.image, r.name)
		r.Note(r.at("build"), convert.Missing, "brig builds no image; write docker build -t "+r.image+" DIR, and "+
			"docker save "+r.image+" | brig image import docker-archive:- "+r.image)
	}
	if !r.mode && s["networks"] != nil {
		r.Set(r.at("networks"), "network", r.networks(s["networks"]))
	}
}

// networks returns a kind of network: docker.Internal if all are internal. The names are the file's own: host or none
// are not docker's here.
func (r *reader) networks(v any) string {
	all := r.object("networks", r.expand("networks", r.top["networks"]))
	names := r.names(r.at("networks"), v)
	inside := len(names) > 0
	for _, name := range names {
		n, _ := all[name].(map[string]any)
		inside = inside && r.bool("networks."+name+".internal", n["internal"])
	}
	if inside {
		return docker.Internal
	}
	return "bridge"
}

// path returns a path of the host: relative ones start at the file's directory.
func (r *reader) path(p string) string {
	if home, ok := r.Lookup("HOME"); ok && strings.HasPrefix(p, "~/") {
		return home + p[1:]
	}
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(r.Dir, p)
}
