package doctor

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// linkTime bounds the search of /usr, which has some hundred thousand files.
const linkTime = 15 * time.Second

// lookLinks returns the names in /etc that programs in /usr have links to and a default jail lacks. Private files are
// not among them.
func lookLinks(h *host.Host) (names []string) {
	has := func(name string, list []string) bool {
		return slices.ContainsFunc(list, func(have string) bool { return sys.Under(name, have) })
	}
	carried := slices.Concat(spec.PrivateEtc, spec.OwnedEtc, h.Files, []string{"localtime"})
	for _, d := range h.System {
		carried = append(carried, d.Name)
	}
	for i, name := range carried {
		carried[i] = strings.TrimPrefix(name, "etc/")
	}
	_ = filepath.WalkDir("/usr", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() != os.ModeSymlink {
			return nil // a directory that cannot be read has no program for all users
		}
		text, err := os.Readlink(path)
		if err != nil {
			return nil
		}
		name, found := strings.CutPrefix(host.Leads(path, text), "/etc/")
		if !found || has(name, carried) || unix.Access("/etc/"+name, unix.F_OK) != nil {
			return nil
		}
		names, carried = append(names, name), append(carried, name)
		return nil
	})
	slices.Sort(names)
	return names
}

// checkEtc lists configuration of programs that a jail does not show.
func checkEtc(names []string) (state State, why, fix spec.Text) {
	if len(names) == 0 {
		return "", "", ""
	}
	return Note, "a jail shows public configuration of /etc, but not what /usr also has links to: " +
		words.Plain(strings.Join(names, ", ")), "for programs that need it, brig run " + words.Add("etc", names...)
}
