package main

/*
#cgo LDFLAGS: -Wl,--wrap=mmap

// The stage's constructor (nsjail/internal/stage) forks a stage before the Go runtime starts when a binary defines
// this symbol and is called with this word.
const char *const brig_stage_early = "run";

// With a flag that begins so the jail has a control group, and nothing is made ahead.
const char *const brig_stage_grouped[] = {"--memory", "-m", "--cpu", "--pids-limit", "--no-oom-group", "--device-", "--io-", "--hugetlb", "--cgroup",
	"--systemd-scope", 0};

// With these Go starts a stage of its own, which inherits the keeper's processors: keeper.c must not have set them.
const char *const brig_stage_late[] = {"--systemd-scope", 0};
*/
import "C"
