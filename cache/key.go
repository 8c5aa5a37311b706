package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"runtime"
)

// HostRoot is Key.Root of a jail whose root is made of the host's /usr.
const HostRoot = "host"

// Key is what a cache belongs to, beside its tool and its user. Runs that differ in any of it share nothing.
type Key struct {
	Root  string // HostRoot, "image:" with the digest, or "rootfs:" with the path
	Label string // what the caller tells its caches apart by: a repository, a level of trust
	Level string // the Level of the jails, unless Label tells whose code it is
}

// about is the file about.json beside a cache, which is there while no run uses the cache.
type about struct {
	Tool  string `json:"tool"`
	Root  string `json:"root"`
	Label string `json:"key,omitempty"`
	Level string `json:"level,omitempty"`
	Arch  string `json:"arch"`
	Bytes int64  `json:"bytes"`
	Files int64  `json:"files"`
}

// dirName returns the name of the directory of a cache: the tool's, and a digest of all that tells it from others.
func dirName(t Tool, k Key) string {
	text, err := json.Marshal([]string{t.Name, k.Root, k.Label, k.Level, runtime.GOARCH})
	if err != nil {
		panic(err) // strings have a JSON form
	}
	sum := sha256.Sum256(text)
	return t.Name + "-" + hex.EncodeToString(sum[:16])
}
