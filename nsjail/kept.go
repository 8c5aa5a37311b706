package nsjail

import (
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/run"
)

// KeptChange is what Change.Keep has kept.
type KeptChange = run.Kept

// KeptChanges lists what Change.Keep has kept of this user's.
func KeptChanges() ([]KeptChange, error) {
	dir, err := host.StoreDir()
	if err != nil {
		return nil, nil // there is no place where anything could be
	}
	return run.KeptStores(dir)
}

// RemoveKept removes what Change.Keep has kept, by its name.
func RemoveKept(name string) error {
	dir, err := host.StoreDir()
	if err != nil {
		return err
	}
	return run.RemoveKept(dir, name)
}
