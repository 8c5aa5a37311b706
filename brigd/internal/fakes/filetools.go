package fakes

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"brig/brigd/engine"
)

// fileTools implement front.FileTools for the files of an Engine.
type fileTools struct{ of *Engine }

// StatFile implements front.Engine.
func (t fileTools) StatFile(c engine.Caller, id, path string) (info *engine.FileInfo, err error) {
	err = t.inFile(c, id, path, func(_ *Box, data []byte) error {
		info = entry(path, data)
		return nil
	})
	return info, err
}

// inFile calls do for a file of a sandbox of the caller's.
func (t fileTools) inFile(c engine.Caller, id, path string, do func(b *Box, data []byte) error) error {
	return t.of.inBox(c, id, func(b *Box) error {
		data, ok := b.Files[path]
		if !ok {
			return Refuse("not_found", "there is no such file")
		}
		return do(b, data)
	})
}

// MakeDir implements front.Engine. It makes nothing.
func (t fileTools) MakeDir(c engine.Caller, id, path string, mode fs.FileMode) (*engine.FileInfo, error) {
	return &engine.FileInfo{Path: path, Type: "dir", Mode: octal(mode), ModTime: epoch},
		t.of.inBox(c, id, func(*Box) error { return nil })
}

func octal(mode fs.FileMode) string { return fmt.Sprintf("%04o", mode.Perm()) }

// MoveFile implements front.Engine.
func (t fileTools) MoveFile(c engine.Caller, id, from, to string, overwrite bool) (info *engine.FileInfo, err error) {
	err = t.inFile(c, id, from, func(b *Box, data []byte) error {
		if _, there := b.Files[to]; there && !overwrite {
			return Refuse("exists", "it is there")
		}
		delete(b.Files, from)
		b.Files[to], info = data, entry(to, data)
		return nil
	})
	return info, err
}

// ChmodFile implements front.Engine. It changes nothing.
func (t fileTools) ChmodFile(c engine.Caller, id, path string, mode fs.FileMode) (info *engine.FileInfo, err error) {
	info, err = t.StatFile(c, id, path)
	if err == nil {
		info.Mode = octal(mode)
	}
	return info, err
}

// EditFile implements front.Engine.
func (t fileTools) EditFile(c engine.Caller, id, path string, edit *engine.Edit) (info *engine.FileInfo, n int,
	err error) {
	err = t.inFile(c, id, path, func(b *Box, data []byte) error {
		n = strings.Count(string(data), edit.Old)
		if n != 1 && !edit.All {
			return Refuse("text_not_unique", "it is there more or less than once")
		}
		b.Files[path] = []byte(strings.ReplaceAll(string(data), edit.Old, edit.New))
		info = entry(path, b.Files[path])
		return nil
	})
	return info, n, err
}

// GlobFiles implements front.Engine. The pattern is one of path.Match for a whole path.
func (t fileTools) GlobFiles(_ context.Context, c engine.Caller, id, pattern, _ string, max int) (
	list []engine.FileInfo, more bool, err error) {
	all, _, err := t.of.ListFiles(c, id, "/", true, "")
	for _, e := range all {
		if ok, _ := path.Match(pattern, e.Path); ok {
			list = append(list, e)
		}
	}
	return list[:min(len(list), max)], len(list) > max, err
}

// GrepFiles implements front.Engine.
func (t fileTools) GrepFiles(_ context.Context, c engine.Caller, id string, g *engine.Grep) (*engine.Found, error) {
	re, err := regexp.Compile(g.Pattern)
	if err != nil {
		return nil, Refuse("bad_pattern", "it is no pattern")
	}
	found := &engine.Found{Lines: []engine.Line{}}
	return found, t.of.inBox(c, id, func(b *Box) error {
		for path, data := range b.Files {
			if re.Match(data) {
				found.Lines = append(found.Lines, engine.Line{Path: path, Line: 1, Column: 1, Text: string(data)})
			}
		}
		return nil
	})
}

// WatchFiles implements front.Engine. It tells that a file was created, and waits; /work/ends ends at once.
func (t fileTools) WatchFiles(ctx context.Context, c engine.Caller, id, path string, _ bool,
	tell func([]engine.Notice) error) error {
	if err := t.of.inBox(c, id, func(*Box) error { return nil }); err != nil {
		return err
	}
	if err := tell([]engine.Notice{{Type: "watching", Path: path}, {Type: "create", Path: "/work/a"}}); err != nil {
		return err
	}
	if path == "/work/ends" {
		return tell([]engine.Notice{{Type: "end", Note: "it ends"}})
	}
	<-ctx.Done()
	return context.Cause(ctx)
}
