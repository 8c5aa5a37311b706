// Package fakes has what the fake engines of the tests of api and mcp share.
package fakes

import (
	"fmt"
	"io"

	"brig/agent/engine"
	"brig/cmd/brigd/internal/front"
	"brig/nsjail"
)

// Constant is the part of an engine whose answers do not depend on what was done before. Other calls panic.
type Constant struct{ front.Engine }

// PutTree implements front.Engine.
func (Constant) PutTree(engine.Caller, string, string, io.Reader) (*engine.TreeStats, error) {
	return &engine.TreeStats{}, nil
}

// GetTree implements front.Engine.
func (Constant) GetTree(_ engine.Caller, _, _ string, w io.Writer, _ int64) (*engine.TreeStats, error) {
	_, err := w.Write(make([]byte, 1024)) // an empty archive
	return &engine.TreeStats{}, err
}

// Set is the only change set.
const Set = "0123456789abcdef"

func unknownSet(id string) error {
	if id == Set {
		return nil
	}
	return &nsjail.Refusal{Message: "no such set", Code: "changes_unknown", Layer: "sandbox", NextSteps: []string{"List."}}
}

// Changes implements front.Engine.
func (Constant) Changes(engine.Caller) ([]engine.ChangeSet, error) {
	return []engine.ChangeSet{{ID: Set, Share: "repo", Target: "/data", Files: 1}}, nil
}

// DiffChanges implements front.Engine.
func (Constant) DiffChanges(_ engine.Caller, id string, paths []string) ([]byte, error) {
	return []byte(fmt.Sprintf("--- a/x\n+++ b/x %v\n", paths)), unknownSet(id)
}

// ApplyChanges implements front.Engine.
func (Constant) ApplyChanges(_ engine.Caller, id string, _ *engine.ApplyRequest) (*engine.Applied, error) {
	return &engine.Applied{Files: 1, Removed: true}, unknownSet(id)
}

// DiscardChanges implements front.Engine.
func (Constant) DiscardChanges(_ engine.Caller, id string) error { return unknownSet(id) }

// Images implements front.Engine.
func (Constant) Images(engine.Caller) []engine.ImageInfo {
	return []engine.ImageInfo{{Name: "python:3.12-slim", Digest: "sha256:00", Languages: []string{"python"}}}
}

// Shares implements front.Engine.
func (Constant) Shares(engine.Caller) []engine.ShareInfo {
	return []engine.ShareInfo{{Name: "data", Mode: "ro"}}
}
