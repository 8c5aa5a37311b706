package netstat

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// row is a line of the table as this machine's kernel would print it.
func row(addr string, port int, state string) string {
	a := netip.MustParseAddr(addr)
	text, raw := "", a.AsSlice()
	for i := 0; i < len(raw); i += 4 {
		text += fmt.Sprintf("%08X", binary.NativeEndian.Uint32(raw[i:]))
	}
	return fmt.Sprintf("   0: %s:%04X 00000000:0000 %s 00000000:00000000 00:00000000 00000000  1000 0 1 1 0\n", text, port, state)
}

func TestTable(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":       {"", "[]"},
		"head":        {head, "[]"},
		"one":         {head + row("127.0.0.1", 8000, "0A"), "[{8000 [127.0.0.1]}]"},
		"all":         {row("0.0.0.0", 80, "0A") + row("::", 80, "0A"), "[{80 [0.0.0.0 ::]}]"},
		"twice":       {row("0.0.0.0", 80, "0A") + row("0.0.0.0", 80, "0A"), "[{80 [0.0.0.0]}]"},
		"mapped":      {row("::ffff:127.0.0.1", 80, "0A"), "[{80 [127.0.0.1]}]"},
		"six":         {row("::1", 65535, "0A"), "[{65535 [::1]}]"},
		"order":       {row("::1", 90, "0A") + row("127.9.8.7", 80, "0A"), "[{80 [127.9.8.7]} {90 [::1]}]"},
		"connected":   {row("127.0.0.1", 8000, "01"), "[]"},
		"elsewhere":   {row("10.0.0.1", 8000, "0A") + row("fe80::1", 8000, "0A"), "[]"},
		"port 0":      {row("127.0.0.1", 0, "0A"), "[]"},
		"cut off":     {row("127.0.0.1", 8000, "0A")[:20], "[]"},
		"garbage":     {"x y z 0A\n: : : 0A\n1: 01:1F40 x 0A\n1: 0100007F:1F400 x 0A\n1: 7F:1F40 x 0A\n", "[]"},
		"odd letters": {"1: 0100007:1F40 x 0A\n1: 0100007F x 0A\n", "[]"},
	} {
		found := map[int][]netip.Addr{}
		must.Do(t, collect(strings.NewReader(c.text), found))
		if got := fmt.Sprint(sorted(found)); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
}

// As many as there may be are returned, and the lowest.
func TestManyListeners(t *testing.T) {
	found := map[int][]netip.Addr{}
	for port := 65535; port > 0; port-- {
		must.Do(t, collect(strings.NewReader(row("127.0.0.1", port, "0A")), found))
	}
	if list := sorted(found); len(list) != MaxPorts || list[MaxPorts-1].Number != MaxPorts {
		t.Error(len(list), list[len(list)-1])
	}
}

// The tables are those of the process.
func TestListening(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	own := l.Addr().(*net.TCPAddr).AddrPort()
	dir := must.Get(os.Open("/proc/self"))(t)
	defer dir.Close()
	list := must.Get(Listening(dir))(t)
	if !slices.ContainsFunc(list, func(p Port) bool {
		return reflect.DeepEqual(p, Port{int(own.Port()), []netip.Addr{own.Addr()}})
	}) {
		t.Error(own, list)
	}
}
