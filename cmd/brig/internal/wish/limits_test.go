package wish

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

func TestParseLimits(t *testing.T) {
	for line, want := range map[string]nsjail.Limits{
		"--idle-timeout 5s --grace 0.5": {Idle: 5e9, Grace: 5e8},
		"--output-limit 1m":             {OutputLimit: 1 << 20},
		"-m 512m --memory-swap -1":      {Memory: 512 << 20, MemorySwap: -1},
		"-m512m":                        {Memory: 512 << 20},
		"-m=512m":                       {Memory: 512 << 20},
		"--memory-high 1m --memory-reservation 2m": {MemoryHigh: 1 << 20, MemoryLow: 2 << 20},
		"--memory-zswap 4m":                        {MemoryZswap: 4 << 20},
		"--memory-min 1 --no-oom-group":            {MemoryMin: 1, NoOOMGroup: true},
		"--cpus .5 --cpu-period 50ms":              {CPUs: 0.5, CPUPeriod: 50e6},
		"--cpu-burst 1ms --cpu-weight 10000":       {CPUBurst: 1e6, CPUWeight: 10000},
		"--cpuset-cpus 0-3 --cpuset-mems 0":        {CPUSet: "0-3", CPUSetMems: "0"},
		"--io-weight 1":                            {IOWeight: 1},
		"--hugetlb 2MB=64m --hugetlb 1GB=0":        {HugeTLB: map[string]nsjail.Bytes{"2MB": 64 << 20, "1GB": 0}},
		"--cgroup a.b=c=d --cgroup a.b=e":          {Cgroup: []string{"a.b=c=d", "a.b=e"}},
		"--device-read-bps /dev/sda:1mb --device-write-iops a:b:7 --device-write-bps /dev/sda:2m --device-read-iops a:b:8": {
			IO: []spec.IOLimit{{Path: "/dev/sda", ReadBps: 1 << 20, WriteBps: 2 << 20}, {Path: "a:b", ReadIOPS: 8, WriteIOPS: 7}}},
	} {
		w, _, err := Parse("run", nil, strings.Fields(line), noFiles)
		if err != nil || !reflect.DeepEqual(w.Spec.Limits, want) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", line, err, w.Spec.Limits, want)
		}
	}
	w, _, err := Parse("run", nil, strings.Fields("--cgroup-parent /a --systemd-scope"), noFiles)
	if err != nil || w.Spec.CgroupParent != "/a" || !w.SystemdScope {
		t.Errorf("%+v, %v", w, err)
	}
}

func TestParseLimitsRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"--idle-timeout -1s":       `--idle-timeout: "-1s" is negative; write 0 for no limit`,
		"--grace soon":             `--grace: "soon" is not a duration of at most 292 years; write it as in 500ms, 30s or 1h`,
		"--output-limit 1.5m":      `--output-limit: "1.5m" is not a size; write a whole number with k, m, g or t, as in 64m`,
		"--memory 8192p":           `--memory: size "8192p" is too large; write at most 8191p`,
		"--memory=-1":              `--memory: "-1" is not a size; write a whole number with k, m, g or t, as in 64m`,
		"--memory-swap -2":         `--memory-swap: "-2" is not a size; write a whole number with k, m, g or t, as in 64m`,
		"--memory-swap 0":          `--memory-swap: a limit of 0 leaves no room; write a size, as in 512m, or leave it out`,
		"--memory-high 0":          `--memory-high: a limit of 0 leaves no room; write a size, as in 512m, or leave it out`,
		"--memory-zswap 0":         `--memory-zswap: a limit of 0 leaves no room; write a size, as in 64m, or leave it out`,
		"--memory-reservation 0":   `--memory-reservation: a size of 0 protects nothing; write a size, as in 512m, or leave it out`,
		"-m 1m --memory 2m":        `--memory: it is given twice; keep one`,
		"--no-oom-group=1":         `--no-oom-group: it takes no value; write --no-oom-group alone`,
		"--cpus 0":                 `--cpus: "0" is not a number of processors; write it as in 0.5 or 2`,
		"--cpus -1":                `--cpus: "-1" is not a number of processors; write it as in 0.5 or 2`,
		"--cpus 1e999":             `--cpus: "1e999" is not a number of processors; write it as in 0.5 or 2`,
		"--cpu-period 0":           `--cpu-period: "0" is not a time span; write it as in 50ms, or leave it out`,
		"--cpu-burst -1ms":         `--cpu-burst: "-1ms" is not a time span; write it as in 20ms, or leave it out`,
		"--cpu-weight 0":           `--cpu-weight: "0" is not a weight; write 1 to 10000, where 100 is the kernel's default`,
		"--io-weight 10001":        `--io-weight: "10001" is not a weight; write 1 to 10000, where 100 is the kernel's default`,
		"--io-weight 1.5":          `--io-weight: "1.5" is not a weight; write 1 to 10000, where 100 is the kernel's default`,
		"--cpuset-cpus=":           `--cpuset-cpus: it is empty; write it as in 0-3, or leave the flag out`,
		"--device-read-bps a":      `--device-read-bps: "a" has no rate; write PATH:RATE, as in /dev/sda:10m`,
		"--device-read-bps :1":     `--device-read-bps: ":1" has no rate; write PATH:RATE, as in /dev/sda:10m`,
		"--device-read-bps a:0":    `--device-read-bps: a rate of 0 would stop everything; write 10m, or leave the flag out for no limit`,
		"--device-read-bps a:-1":   `--device-read-bps: "-1" is not a size; write a whole number with k, m, g or t, as in 64m`,
		"--device-write-iops a:1k": `--device-write-iops: "1k" is not a number of operations a second; write it as in /dev/sda:1000`,
		"--device-write-iops a:0":  `--device-write-iops: a rate of 0 would stop everything; write 1000, or leave the flag out for no limit`,
		"--device-read-bps a:1 --device-read-bps a:2": `--device-read-bps: "a" is given twice; keep one`,
		"--hugetlb 2MB":                   `--hugetlb: "2MB" has no limit; write SIZE=LIMIT, as in 2MB=64m`,
		"--hugetlb 2MB=":                  `--hugetlb: "" is not a size; write a whole number with k, m, g or t, as in 64m`,
		"--hugetlb 2MB=1 --hugetlb 2MB=2": `--hugetlb: "2MB" is given twice; keep one`,
		"--cgroup-parent=":                `--cgroup-parent: it is empty; write it as in /batch.slice, or leave the flag out`,
	} {
		_, _, err := Parse("run", nil, strings.Fields(line), noFiles)
		if err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", line, err, want)
		}
	}
	for _, command := range []string{"explain", "spec"} {
		if _, _, err := Parse(command, nil, []string{"--systemd-scope"}, noFiles); err == nil ||
			err.Error() != "--systemd-scope: only brig run, learn and verify make a scope; leave it out" {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// everyLimit is a command line with each limit that a jail can have.
const everyLimit = "--timeout 30s --idle-timeout 5s --grace 2s --cpu-time 10s --pids-limit 64 --max-output 64k --output-limit 1m --ulimit nofile=64:128 " +
	"-m 512m --memory-high 256m --memory-swap 1g --memory-zswap 16m --memory-reservation 64m --memory-min 32m --no-oom-group --cpus 1.5 --cpu-period 50ms --cpu-burst 10ms " +
	"--cpu-weight 200 --cpuset-cpus 0-1 --cpuset-mems 0 --device-read-bps /dev/sda:10m --device-write-bps /dev/sda:5m --device-read-iops .:100 " +
	"--device-write-iops .:50 --io-weight 50 --hugetlb 2MB=64m --cgroup misc.max=res_a --cgroup-parent /batch.slice --require memory --optional io -- id"

// The same limits as flags, as JSON, and as flags over that JSON: one Spec, with one digest.
func TestLimitsRoundTrip(t *testing.T) {
	w, _, err := Parse("spec", nil, strings.Fields(everyLimit), noFiles)
	if err != nil || len(w.Problems(words.Neutral)) > 0 {
		t.Fatal(err, w.Problems(words.Neutral))
	}
	back, err := spec.ParseSpec(w.Spec.JSON())
	if err != nil || !reflect.DeepEqual(back, &w.Spec) || back.Digest() != w.Spec.Digest() {
		t.Errorf("%v\n got %+v\nwant %+v", err, back, w.Spec)
	}
	again, _, err := Parse("run", nil, []string{"--spec", "f", "--device-read-bps", "/dev/sda:10m", "--hugetlb", "2MB=64m", "--memory", "512m"},
		files(map[string]string{"f": string(w.Spec.JSON())}))
	if err != nil || again.Spec.Digest() != w.Spec.Digest() {
		t.Errorf("%v\n%s", err, again.Spec.JSON())
	}
	limits := reflect.ValueOf(w.Spec.Limits)
	for i := range limits.NumField() {
		if limits.Field(i).IsZero() {
			t.Errorf("no flag here sets %s: there is none, or everyLimit is stale", limits.Type().Field(i).Name)
		}
	}
}

// Every limit that people know from judges, sandboxes and container engines has a flag and a place in the Spec, and
// its other name as a flag leads there.
func TestEveryUsualLimit(t *testing.T) {
	for _, usual := range []struct {
		name  string // what others call it
		flags string
		path  string // where it stands in the JSON of the Spec
		value any
	}{
		{"timeout", "--timeout 2s", "limits.wall", "2s"},
		{"max_wall_time", "--timeout 2s", "limits.wall", "2s"},
		{"idle timeout", "--idle-timeout 2s", "limits.idle", "2s"},
		{"stop_timeout", "--timeout 2s --grace 1s", "limits.grace", "1s"},
		{"max_cpu_time", "--cpu-time 2s", "limits.cpu_time", "2s"},
		{"cpu_percent", "--cpus 0.5", "limits.cpus", 0.5},
		{"cpu_quota", "--cpus 0.5 --cpu-period 10ms", "limits.cpu_period", "10ms"},
		{"cpu_shares", "--cpu-weight 50", "limits.cpu_weight", 50.},
		{"cpu burst", "--cpus 1 --cpu-burst 5ms", "limits.cpu_burst", "5ms"},
		{"max_cpus", "--cpuset-cpus 0", "limits.cpuset", "0"},
		{"AllowedMemoryNodes", "--cpuset-mems 0", "limits.cpuset_mems", "0"},
		{"max_memory", "--memory 64m", "limits.memory", "64m"},
		{"MemoryHigh", "--memory-high 64m", "limits.memory_high", "64m"},
		{"MemoryZSwapMax", "--memory-zswap 64m", "limits.memory_zswap", "64m"},
		{"memory reservation", "--memory-reservation 64m", "limits.memory_low", "64m"},
		{"MemoryMin", "--memory-min 64m", "limits.memory_min", "64m"},
		{"swap", "-m 64m --memory-swap 128m", "limits.memory_swap", "128m"},
		{"OOMPolicy", "--no-oom-group", "limits.no_oom_group", true},
		{"max_processes", "--pids-limit 5", "limits.processes", 5.},
		{"pids-limit", "--pids-limit 5", "limits.processes", 5.},
		{"max_open_files", "--ulimit nofile=5", "limits.rlimits.nofile.hard", 5.},
		{"max_file_size", "--ulimit fsize=5", "limits.rlimits.fsize.soft", 5.},
		{"max_stack", "--ulimit stack=8388608", "limits.rlimits.stack.soft", 8388608.},
		{"max_output_size", "--output-limit 1m", "limits.output_limit", "1m"},
		{"max-output", "--max-output 1m", "limits.output", "1m"},
		{"disk_size", "--rootfs r --rootfs-writable=1g", "rootfs.size", "1g"},
		{"storage_size", "--tmpfs /t:size=64m", "mounts.0.size", "64m"},
		{"tmpfs", "--tmpfs /t:size=64m,inodes=10", "mounts.0.inodes", 10.},
		{"IOReadBandwidthMax", "--device-read-bps /:1m", "limits.io.0.read_bps", "1m"},
		{"IOWriteBandwidthMax", "--device-write-bps /:1m", "limits.io.0.write_bps", "1m"},
		{"IOReadIOPSMax", "--device-read-iops /:5", "limits.io.0.read_iops", 5.},
		{"IOWriteIOPSMax", "--device-write-iops /:5", "limits.io.0.write_iops", 5.},
		{"blkio_weight", "--io-weight 5", "limits.io_weight", 5.},
		{"hugetlb", "--hugetlb 2MB=64m", "limits.hugetlb.2MB", "64m"},
	} {
		w, _, err := Parse("run", nil, append(strings.Fields(usual.flags), "id"), noFiles)
		if err != nil || len(w.Problems(words.Neutral)) > 0 {
			t.Errorf("%s: %v", usual.flags, err)
			continue
		}
		var spec any
		if err := json.Unmarshal(w.Spec.JSON(), &spec); err != nil {
			t.Fatal(err)
		}
		if got := at(spec, usual.path); got != usual.value {
			t.Errorf("%s: %s is %v, want %v", usual.flags, usual.path, got, usual.value)
		}
		named := strings.Fields(usual.flags)
		other := "--" + strings.ReplaceAll(usual.name, " ", "-")
		if _, _, err := Parse("run", nil, []string{other, "1", "id"}, noFiles); err != nil && !namesOne(err.Error(), named) {
			t.Errorf("%s leads elsewhere: %v", other, err)
		}
	}
}

// at follows a path of keys and indices through decoded JSON; nil where it ends.
func at(v any, path string) any {
	for _, key := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			v = x[len(key)-1] // "0" is the only index that is asked for
		default:
			return nil
		}
	}
	return v
}

// namesOne reports whether an error names one of the flags of a command line, or shows how the flag itself is written.
func namesOne(line string, words []string) bool {
	for _, w := range words {
		name, _, _ := strings.Cut(w, "=")
		if strings.HasPrefix(name, "--") && strings.Contains(line, name) {
			return true
		}
	}
	return false
}
