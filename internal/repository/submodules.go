package repository

import (
	"bytes"
	"os"
	"path"
	"path/filepath"

	"brig/internal/gitdata"
)

// maxIndex bounds the index that is read for submodules, in bytes: some 40,000 files. .gitmodules names those of more.
const maxIndex = 4 << 20

// submodules adds the file .git of each submodule of a work tree, also where the submodule is not checked out: git
// status looks into a directory that the index calls a submodule, with the settings of the repository that it finds.
func (f *finder) submodules(dir, top string) {
	if f.tops[top] {
		return
	}
	f.tops[top] = true
	text, err := f.read(top + "/.gitmodules")
	if err == nil {
		list, _ := parse(text) // what git would not read is no submodule for it either
		for _, s := range list {
			if s.section == "submodule" && s.name == "path" {
				f.submodule(top, s.value)
			}
		}
	}
	if st, err := os.Stat(dir + "/index"); err != nil || st.Size() > maxIndex {
		return
	}
	index, err := f.readBytes(dir + "/index")
	if err != nil || !bytes.Contains(index, []byte(gitdata.GitlinkMode)) {
		return
	}
	hash := gitdata.ObjectHash(func(name string) string {
		text, _ := f.read(join(dir, name)) // f has noted what it may not read
		return text
	})
	for _, name := range gitdata.Gitlinks(string(index), hash) {
		f.submodule(top, name)
	}
}

func (f *finder) submodule(top, name string) {
	if !filepath.IsLocal(name) || len(f.paths) > MaxEntries {
		return
	}
	if full := path.Join(top, name); f.exists(full + "/.git") {
		f.open(full, ".git", full)
		return
	}
	f.add(Path{Dir: top, Rel: path.Clean(name) + "/.git", Inside: true})
}
