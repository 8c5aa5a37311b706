package host

import (
	"bytes"
	"encoding/json"
	"iter"
	"maps"
	"slices"

	"brig/nsjail/spec"
)

// Sources are the files of the host behind a Spec's root and mounts.
type Sources struct {
	root   pair
	mounts []pair // beside Spec.Mounts, up to the last that has one
}

// pair has the sources of one mount, or of the root; nil for none.
type pair struct{ shown, upper *Source }

// of returns the place of a source in its pair.
func (p *pair) of(upper bool) **Source {
	if upper {
		return &p.upper
	}
	return &p.shown
}

// At returns a source, or nil.
func (l *Sources) At(id SourceID) *Source {
	switch {
	case id.Mount == spec.Root:
		return *l.root.of(id.Upper)
	case id.Mount < len(l.mounts):
		return *l.mounts[id.Mount].of(id.Upper)
	}
	return nil
}

// Of returns what a mount shows, or the root; nil if that is no file of the host.
func (l *Sources) Of(mount int) *Source { return l.At(SourceOf(mount)) }

// Put puts a source into its place.
func (l *Sources) Put(id SourceID, src *Source) {
	if id.Mount == spec.Root {
		*l.root.of(id.Upper) = src
		return
	}
	if lacks := id.Mount + 1 - len(l.mounts); lacks > 0 {
		l.mounts = append(l.mounts, make([]pair, lacks)...)
	}
	*l.mounts[id.Mount].of(id.Upper) = src
}

// All yields the sources, those of the root first.
func (l *Sources) All() iter.Seq2[SourceID, *Source] {
	return func(yield func(SourceID, *Source) bool) {
		for i := spec.Root; i < len(l.mounts); i++ {
			for _, id := range [...]SourceID{SourceOf(i), UpperOf(i)} {
				if src := l.At(id); src != nil && !yield(id, src) {
					return
				}
			}
		}
	}
}

// IsZero reports whether there is no source.
func (l *Sources) IsZero() bool {
	for range l.All() {
		return false
	}
	return true
}

// with returns the sources with others, which replace them.
func (l *Sources) with(others *Sources) Sources {
	all := Sources{l.root, slices.Clone(l.mounts)}
	for id, src := range others.All() {
		all.Put(id, src)
	}
	return all
}

// MarshalJSON implements json.Marshaler: an object with a member for each source.
func (l Sources) MarshalJSON() ([]byte, error) { return json.Marshal(maps.Collect(l.All())) }

// UnmarshalJSON implements json.Unmarshaler. It adds to the sources.
func (l *Sources) UnmarshalJSON(b []byte) error {
	var add map[SourceID]*Source
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&add); err != nil {
		return err
	}
	for id, src := range add {
		l.Put(id, src)
	}
	return nil
}
