package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"brig/brigd/keep"
	"brig/brigd/workspace"
	"brig/internal/words"
)

const snapshotPrefix = "sn_"

// kept is the header of a file of the sandbox store. It describes a sandbox or a snapshot.
type kept struct {
	ID      string        `json:"id"`
	Agent   string        `json:"agent"`
	Account string        `json:"account"`
	Chain   []string      `json:"chain,omitempty"` // of its token
	Until   time.Time     `json:"until,omitzero"`  // when the token expires
	Created time.Time     `json:"created"`
	Used    time.Time     `json:"used,omitzero"` // like TTL, not set for a snapshot
	TTL     time.Duration `json:"ttl_ns,omitempty"`
	Size    int64         `json:"size"`
	Inodes  int64         `json:"inodes"`
	Mounts  []Mount       `json:"mounts,omitempty"` // each run checks them again
	// Snapshot is set if the file holds a snapshot.
	Snapshot *SnapshotInfo `json:"snapshot,omitempty"`
	// Save counts the saves of a sandbox. In a file of changes, Base is the digest of the file that they apply to.
	Save int64  `json:"save,omitempty"`
	Base string `json:"base,omitempty"`
}

func headerOf(box *workspace.Sandbox) *kept {
	return &kept{ID: box.ID, Agent: box.Agent, Account: box.Account, Chain: box.Chain, Until: box.Until,
		Created: box.Created, Used: box.Used(), TTL: box.TTL, Size: box.Size, Inodes: box.Inodes, Mounts: mountsOf(box)}
}

// headerIn returns the header of a file. It is an error if the header is not that of the id in the file's name.
func headerIn(id string, f *keep.File) (*kept, error) {
	r := &kept{}
	d := json.NewDecoder(bytes.NewReader(f.Meta))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, err
	}
	if r.ID != id || strings.HasPrefix(id, snapshotPrefix) != (r.Snapshot != nil) {
		return nil, fmt.Errorf("the file is that of %s; give it its name back", words.Quote(r.ID))
	}
	return r, nil
}

// mountsOf returns the mounts that a sandbox was made with.
func mountsOf(box *workspace.Sandbox) []Mount {
	return ofBox(box).mounts
}

// extra is what an Engine keeps of a sandbox beside what the Store does.
type extra struct {
	mounts []Mount     // that it was made with
	living atomic.Bool // it is not saved any more
}

func ofBox(box *workspace.Sandbox) *extra {
	if x, ok := box.Extra.(*extra); ok {
		return x
	}
	return &extra{}
}
