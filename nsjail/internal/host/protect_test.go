package host

import (
	"os"
	"path/filepath"
	"testing"

	"brig/internal/sys"
	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// TestPlaceOfWhatIsGone: the Ghost of another run may be removed between two looks at it. Its place is known all the
// same.
func TestPlaceOfWhatIsGone(t *testing.T) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	must.Do(t, os.WriteFile(dir+"/there", nil, 0o600))
	table := ParseMounts(must.Get(sys.Mounts())(t), " - ")
	p := &protector{h: &looker{Host: &Host{}}, s: &spec.Spec{}, held: map[string]string{}}
	there, ok := p.placeOf(table, dir+"/there")
	gone, still := p.placeOf(table, dir+"/gone")
	if p.err != nil || !ok || still || gone.dev != there.dev || filepath.Dir(gone.path) != filepath.Dir(there.path) {
		t.Errorf("%+v %v, %+v %v: %v", there, ok, gone, still, p.err)
	}
}
