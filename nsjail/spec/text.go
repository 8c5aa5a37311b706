package spec

import "brig/internal/words"

// Text is a message that may refer to fields of a Spec, and Dialect has a reader's words for a reference, a Ref: the
// flags of a command line, say. String, fmt and JSON write the fields.
type (
	Text    = words.Text
	Ref     = words.Ref
	Dialect = words.Dialect
)

// Shown is what a reference to Spec.Mounts has of a Mount. "" is for what the reader chooses.
type Shown struct {
	Type     string `json:"type"`
	Source   string `json:"source,omitempty"`
	Target   string `json:"target,omitempty"`
	Writable bool   `json:"writable,omitempty"`
	Live     bool   `json:"live,omitempty"`
}

// Show refers to a mount.
func Show(m Shown) Text { return words.Set("mounts", m) }

// ShowReadOnly refers to a bind of a directory or a file.
func ShowReadOnly(src, dst string) Text {
	return Show(Shown{Type: "bind", Source: src, Target: dst})
}

// ShowFile refers to a private copy of a file.
func ShowFile() Text { return Show(Shown{Type: "file"}) }

// ShowInput and ShowWork refer to binds at the directories that payloads expect, the second one writable.
func ShowInput() Text { return Show(Shown{Type: "bind", Target: "/input"}) }

// ShowWork is described at ShowInput.
func ShowWork(src string) Text {
	return Show(Shown{Type: "bind", Source: src, Target: "/work", Writable: true})
}

// Without refers to Spec.Optional with mechanisms that may be missing.
func Without(mechanisms ...string) Text { return words.Add("optional", mechanisms...) }

// Unprotected refers to Spec.Protect with paths that are taken back, or without any path.
func Unprotected(paths ...string) Text {
	var list []string
	for _, p := range paths {
		list = append(list, "!"+p)
	}
	return words.Add("protect", list...)
}
