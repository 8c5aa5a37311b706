package changescmd

import (
	"testing"
	"time"

	"brig/changes"
)

func TestCounted(t *testing.T) {
	for want, c := range map[string]changes.Counts{
		"3 files changed (+41 -7, 12 KiB)":                  {Files: 3, Added: 41, Removed: 7, Bytes: 12 << 10},
		"1 file changed (+0 -0, 0 bytes)":                   {Files: 1},
		"1 directory changed":                               {Dirs: 1},
		"2 directories changed":                             {Dirs: 2},
		"1 file and 2 directories changed (+1 -0, 1 bytes)": {Files: 1, Dirs: 2, Added: 1, Bytes: 1},
	} {
		if got := Counted(c); got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", time.Minute: "1m", 90 * time.Minute: "1h", 47 * time.Hour: "1d", 800 * time.Hour: "33d",
	} {
		if got := age(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

func TestChangeLimits(t *testing.T) {
	usual := changes.DefaultLimits()
	with := func(change func(*changes.Limits)) changes.Limits {
		l := usual
		change(&l)
		return l
	}
	for text, want := range map[string]changes.Limits{
		"":                usual,
		"age=1h":          with(func(l *changes.Limits) { l.Age = time.Hour }),
		"count=0,size=8g": with(func(l *changes.Limits) { l.Count, l.Bytes = 0, 8<<30 }),
		"size=1k,,age=0s": with(func(l *changes.Limits) { l.Bytes, l.Age = 1024, 0 }),
	} {
		if got, err := changeLimits(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"age", "age=-1s", "count=-1", "count=x", "size=x", "inodes=1"} {
		if _, err := changeLimits(text); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
