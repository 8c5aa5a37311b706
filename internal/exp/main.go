package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"brig/nsjail"
)

func main() {
	pool := flag.Int("pool", 0, "")
	pre := flag.Int("pre", 0, "")
	n := flag.Int("n", 300, "")
	cold := flag.Bool("cold", false, "")
	reuse := flag.Bool("reuse", false, "")
	gap := flag.Duration("gap", 0, "")
	show := flag.Bool("show", false, "")
	work := flag.String("work", "", "")
	flag.Parse()
	r, err := nsjail.NewRunnerWith(nsjail.RunnerOptions{Pool: *pool, Cold: *cold, Reuse: *reuse})
	if err != nil {
		panic(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			panic(err)
		}
	}()
	spec := nsjail.Spec{Args: []string{"/bin/true"}}
	if *work != "" {
		spec.Mounts = []nsjail.Mount{{Type: "bind", Source: *work, Target: "/work", Writable: true}}
	}
	if *pre > 0 {
		if err := r.Prestart(spec, *pre); err != nil {
			panic(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	var ph [7][]int64
	var tot, bare []time.Duration
	for i := 0; i < *n; i++ {
		time.Sleep(*gap)
		t := time.Now()
		c := r.Command("/bin/true")
		c.Spec = spec
		res, err := c.Run()
		if err != nil || res.Status != "ok" {
			fmt.Println(err, res)
			os.Exit(1)
		}
		tot = append(tot, time.Since(t))
		if *show && i == 1 {
			fmt.Println(c.Plan())
		}
		p := res.Phases
		for k, v := range []int64{p.Look, p.Resolve, p.Prepare, p.Spawn, p.Exec, p.Run, p.End} {
			ph[k] = append(ph[k], v)
		}
		t = time.Now()
		cmd := exec.Command("/bin/true")
		if err := cmd.Run(); err != nil {
			panic(err)
		}
		bare = append(bare, time.Since(t))
	}
	for k, n := range []string{"look", "resolve", "prepare", "spawn", "exec", "run", "end"} {
		slices.Sort(ph[k])
		fmt.Printf("%s %d  ", n, ph[k][len(ph[k])/2])
	}
	slices.Sort(tot)
	slices.Sort(bare)
	fmt.Println("\ntotal", tot[len(tot)/2], "bare", bare[len(bare)/2], float64(tot[len(tot)/2])/float64(bare[len(bare)/2]))
}
