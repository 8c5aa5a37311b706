package plan

import (
	"runtime"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/spec"
	"brig/seccomp"
)

// A plan has the listener, or the reason why there is none.
func TestPlansSayWhoListens(t *testing.T) {
	bpf := must.Get(seccomp.PresetFilter("default", seccomp.Target{Arch: runtime.GOARCH}, true))(t)
	for _, test := range []struct {
		why     string
		noInit  bool
		listens bool
	}{{"", false, true}, {"", true, false}, {"EBUSY", false, false}} {
		h := ordinaryHost()
		h.Filter, h.NoListener = bpf, test.why
		p := must.Get(Resolve(&spec.Spec{Args: []string{"true"}, NoInit: test.noInit}, h))(t)
		text := p.String()
		if strings.Contains(text, "/* what init answers */") != test.listens {
			t.Errorf("%+v:\n%s", test, text)
		}
		if strings.Contains(text, "SECCOMP_FILTER_FLAG_NEW_LISTENER") != test.listens || strings.Contains(text, "fork_init($1, &$") != test.listens {
			t.Errorf("%+v:\n%s", test, text)
		}
		if noted := strings.Contains(text, "are not counted: EBUSY"); noted != (test.why != "") {
			t.Errorf("%+v: noted %v", test, noted)
		}
	}
}
