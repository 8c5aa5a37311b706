package changes_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"brig/changes"
)

// Result.Changes of a jail has the upper directory and the base of each mount of type nsjail.MountCOW. Here the upper
// directory is made by hand.
func Example() {
	dir, err := os.MkdirTemp("", "changes-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	repo, written := filepath.Join(dir, "repo"), filepath.Join(dir, "upper")
	for name, text := range map[string]string{repo: "Hello\n", written: "Hello, world\n"} {
		if err := os.Mkdir(name, 0o755); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(name, "greeting"), []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	store, err := changes.Open(filepath.Join(dir, "store"))
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	base, err := os.Open(repo)
	if err != nil {
		log.Fatal(err)
	}
	defer base.Close()
	upper, err := os.Open(written)
	if err != nil {
		log.Fatal(err)
	}
	defer upper.Close()

	kept, err := store.Capture(context.Background(), base, upper, repo, &changes.Run{Status: "ok", Started: time.Now(), Ended: time.Now()})
	if err != nil {
		log.Fatal(err)
	}
	if err := kept.Set.Diff(os.Stdout, &changes.DiffOptions{}); err != nil {
		log.Fatal(err)
	}
	done, err := kept.Set.Apply(&changes.ApplyOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range done.Files {
		fmt.Println(f.Op(), f.Path)
	}
	// Output:
	// diff --git a/greeting b/greeting
	// --- a/greeting
	// +++ b/greeting
	// @@ -1,1 +1,1 @@
	// -Hello
	// +Hello, world
	// changed greeting
}
