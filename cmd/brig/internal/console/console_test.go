package console

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"

	"brig/internal/test/must"
)

func TestColourful(t *testing.T) {
	null := must.Get(os.Open(os.DevNull))(t)
	defer null.Close()
	if Colourful(null) {
		t.Error("/dev/null is no terminal")
	}
}

// TestWriteJSONList: a list that is written member by member looks like one that is written at once.
func TestWriteJSONList(t *testing.T) {
	type object struct {
		ID   string              `json:"id"`
		List []map[string]string `json:"list"`
	}
	for n := range 3 {
		o := &object{"\x1b[2J", []map[string]string{}}
		member := func(i int) any { return map[string]string{"path": fmt.Sprintf("\x9b%d]\n}", i), "op": "added"} }
		var list, whole bytes.Buffer
		out := bufio.NewWriter(&list)
		must.Do(t, WriteJSONList(out, o, n, member))
		must.Do(t, out.Flush())
		for i := range n {
			o.List = append(o.List, member(i).(map[string]string))
		}
		must.Do(t, WriteJSON(&whole, o))
		if list.String() != whole.String() {
			t.Errorf("%d members:\n%s\nbut at once:\n%s", n, &list, &whole)
		}
	}
	out := bufio.NewWriter(io.Discard)
	if WriteJSONList(out, &object{}, 1, func(int) any { return func() {} }) == nil {
		t.Error("a member that is no JSON is not told")
	}
}
