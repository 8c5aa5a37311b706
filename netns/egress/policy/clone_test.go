package policy

import (
	"reflect"
	"testing"
)

// A copy shares nothing: every slice and pointer of every field is looked at, also of fields to come.
func TestCloneSharesNothing(t *testing.T) {
	yes := true
	p := &Policy{Allow: []Rule{{Host: "a.test", Ports: []Ports{{1, 2}}, Methods: []string{"GET"}, Paths: []string{"/a"}}},
		Deny: []Rule{{CIDR: "10.0.0.0/8", Ports: []Ports{{3, 3}}, Methods: []string{"PUT"}, Paths: []string{"/b"}}}, AllowedPorts: []Ports{{1, 9}},
		AllowedHosts: []string{"b.test"}, BlockedHosts: []string{"c.test"}, BlockedRanges: []string{"192.0.2.0/24"}, DNS: []string{"192.0.2.53"}, AllowOutbound: &yes, Redirect: true}
	c := p.Clone()
	if !reflect.DeepEqual(p, c) {
		t.Errorf("%+v", c)
	}
	apart(t, "Policy", reflect.ValueOf(p).Elem(), reflect.ValueOf(c).Elem())
	if (*Policy)(nil).Clone() != nil {
		t.Error("nil became something")
	}
}

func apart(t *testing.T, path string, a, b reflect.Value) {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			apart(t, path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	case reflect.Slice, reflect.Pointer:
		if a.IsNil() {
			t.Errorf("%s: the test does not fill it", path)
			return
		}
		if a.Pointer() == b.Pointer() {
			t.Errorf("%s is shared", path)
		}
		if a.Kind() == reflect.Slice {
			for i := range a.Len() {
				apart(t, path+"[]", a.Index(i), b.Index(i))
			}
		}
	}
}
