package nsjail

import (
	"os"
	"strconv"
	"sync"
	"testing"
)

// BenchmarkStart is a Runner's jail from Start to Wait, of one client and of four at once. BRIG_ROOT names the
// directory of a root with /bin/true, if it is to be other than the default.
func BenchmarkStart(b *testing.B) {
	root := Rootfs{Path: os.Getenv("BRIG_ROOT")}
	for _, clients := range []int{1, 4} {
		b.Run(strconv.Itoa(clients), func(b *testing.B) {
			r := runnerWith(b, RunnerOptions{})
			var all sync.WaitGroup
			for k := range clients {
				all.Go(func() {
					for i := k; i < b.N; i += clients {
						c := r.Command("/bin/true")
						if c.Spec.Rootfs = root; root.Path != "" {
							c.Spec.User = "0:0" // an image's default
						}
						if _, err := c.Run(); err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
		})
	}
}
