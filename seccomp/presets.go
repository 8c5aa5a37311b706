package seccomp

import (
	"embed"
	"fmt"
	"slices"

	"brig/internal/words"
)

//go:embed presets/*.json
var presetFiles embed.FS

// Presets returns the names that Preset accepts; the package comment describes them.
func Presets() []string { return []string{"default", "strict", "compute", "build", "debug"} }

// Names returns the names of the built-in filters: Presets, and "unconfined" for none.
func Names() []string { return append(Presets(), "unconfined") }

// Preset returns one of the profiles in this package.
func Preset(name string) (*Profile, error) {
	if !slices.Contains(Presets(), name) {
		return nil, fmt.Errorf("seccomp: unknown preset %s; %s", words.QuoteASCII(name), words.DidYouMean(name, Presets()))
	}
	data, err := presetFiles.ReadFile("presets/" + name + ".json")
	if err != nil {
		return nil, fmt.Errorf("seccomp: preset %s: %w; rebuild brig", name, err)
	}
	return Parse(data)
}

// Default returns the profile of a jail that names none. A test parses it, so it cannot fail in a build that passed.
func Default() *Profile {
	p, err := Preset("default")
	if err != nil {
		panic(err)
	}
	return p
}
