package nsjail

import (
	"context"
	"testing"

	"brig/nsjail/doctor"
)

// TestExamine holds doctor's verdict against a jail that is made here and now.
func TestExamine(t *testing.T) {
	f := Examine(context.Background())
	r, err := Command("true").Run()
	if works := err == nil && r.Status == StatusOK; works != doctor.Works(doctor.Diagnose(f)) {
		t.Errorf("a jail works: %v, %v; the diagnosis is %+v", works, err, doctor.Diagnose(f)[0])
	}
	if len(f.Unread) > 0 {
		t.Errorf("unread: %v", f.Unread)
	}
}
