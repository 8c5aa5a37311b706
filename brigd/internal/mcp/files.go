package mcp

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/brigd/engine"
	"brig/brigd/internal/picture"
	"brig/brigd/job"
	"brig/internal/text"
)

type pathIn struct {
	Path string `json:"path"` // a path as programs see it, such as /work/a.txt; a relative one is below /work
}

type readIn struct {
	pathIn
	Offset int64 `json:"offset,omitempty"` // the byte to begin with
	Limit  int64 `json:"limit,omitempty"`  // how many bytes to read at most: 131072 if left out, 1048576 at most
	// text, base64, or auto if left out: text where it is UTF-8, and a whole picture of at most 1 MiB as an image
	As string `json:"encoding,omitempty"`
}

type readOut struct {
	File     *engine.FileInfo `json:"file,omitempty"`        // what was read
	Content  string           `json:"content"`               // its content, from offset on
	Encoding string           `json:"encoding,omitempty"`    // text, base64, or a picture's type: it is an image block
	Offset   int64            `json:"offset"`                // the first byte of content
	Next     int64            `json:"next_offset,omitempty"` // where to go on; left out at the end of the file
	Error    *job.Refusal     `json:"error,omitempty"`
}

type writeIn struct {
	pathIn
	Content    string `json:"content"`              // what the file is to hold
	As         string `json:"encoding,omitempty"`   // text if left out, or base64
	Executable bool   `json:"executable,omitempty"` // it is a program or script that is to be run by its name
}

type fileOut struct {
	File    *engine.FileInfo `json:"file,omitempty"`    // what was written
	Deleted string           `json:"deleted,omitempty"` // the path that is gone
	Error   *job.Refusal     `json:"error,omitempty"`
}

type listIn struct {
	Path      string `json:"path,omitempty"`      // a directory; /work if left out
	Recursive bool   `json:"recursive,omitempty"` // list what is in its directories, too
}

type listOut struct {
	Files []engine.FileInfo `json:"files"` // what is there
	More  bool              `json:"more"`  // there are files that are not listed: list a directory of it
	Error *job.Refusal      `json:"error,omitempty"`
}

func fileTools() []*tool {
	return []*tool{
		define[readIn, readOut]("read_file", "Read a file", "Reads a file of the session: below /input, /work or /output.",
			sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: no()},
			func(no *job.Refusal) any { return &readOut{Error: no} }, readFile),
		define[writeIn, fileOut]("write_file", "Write a file",
			"Writes a file of the session, with the directories above it: below /input (read-only for programs), /work or "+
				"/output. What it held is replaced.",
			sdk.ToolAnnotations{DestructiveHint: yes(), IdempotentHint: true, OpenWorldHint: no()}, refusedFile, writeFile),
		define[listIn, listOut]("list_files", "List files",
			fmt.Sprintf("Lists a directory of the session, %d entries at most.", maxListed),
			sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: no()},
			func(no *job.Refusal) any { return &listOut{Files: []engine.FileInfo{}, Error: no} }, listFiles),
		define[pathIn, fileOut]("delete_file", "Delete a file",
			"Deletes a file of the session, or a directory with everything in it.",
			sdk.ToolAnnotations{DestructiveHint: yes(), IdempotentHint: true, OpenWorldHint: no()}, refusedFile, deleteFile),
	}
}

func refusedFile(no *job.Refusal) any { return &fileOut{Error: no} }

func readFile(ctx context.Context, c *call, in *readIn) *sdk.CallToolResult {
	mayBePicture := in.Limit == 0 && in.Offset == 0 && (in.As == "" || in.As == "auto")
	in.Limit = cmp.Or(in.Limit, defaultRead)
	switch {
	case in.Limit < 0 || in.Limit > maxRead:
		return c.bad("limit", fmt.Sprintf("it is not from 1 to %d", maxRead), "Read the file in pieces, with offset.")
	case in.Offset < 0:
		return c.bad("offset", "it is negative", "Count from 0, the first byte.")
	case in.As != "" && in.As != "auto" && in.As != "text" && in.As != "base64":
		return c.bad("encoding", fmt.Sprintf("%.20q is none", in.As), "Write auto, text or base64.")
	}
	id, no := c.box(ctx)
	if no != nil {
		return c.refuse(no)
	}
	f, info, err := c.Engine.GetFile(c.who(), id, in.Path)
	if err != nil {
		return c.failed(id, err)
	}
	defer f.Close()
	data, err := pieceOf(f, in.Offset, in.Limit)
	if err != nil {
		return c.failed(id, err)
	}
	if mayBePicture && !utf8.Valid(data) && info.Size <= picture.Max {
		rest, err := io.ReadAll(io.LimitReader(f, picture.Max))
		if err != nil {
			return c.failed(id, err)
		}
		whole := append(data, rest...)
		if kind := picture.Type(whole); kind != "" {
			res := result(&readOut{File: info, Encoding: kind}, false,
				fmt.Sprintf("%q: a picture of %d bytes, %s.\n", info.Path, len(whole), kind))
			res.Content = append(res.Content, &sdk.ImageContent{Data: whole, MIMEType: kind})
			return res
		}
	}
	out := &readOut{File: info, Offset: in.Offset, Encoding: "text"}
	whole := data
	if in.Offset+int64(len(data)) < info.Size && text.Incomplete(data) < len(data) {
		whole = data[:len(data)-text.Incomplete(data)] // the next piece begins with the character that is cut off
	}
	if in.As == "base64" || in.As != "text" && !utf8.Valid(whole) {
		out.Encoding, out.Content = "base64", base64.StdEncoding.EncodeToString(data)
	} else {
		data, out.Content = whole, strings.ToValidUTF8(string(whole), "\uFFFD")
	}
	if next := in.Offset + int64(len(data)); next < info.Size && len(data) > 0 {
		out.Next = next
	}
	head := fmt.Sprintf("%q: %d of %d bytes from byte %d, as %s.\n",
		info.Path, len(data), info.Size, in.Offset, out.Encoding)
	if out.Next > 0 {
		head += fmt.Sprintf("There is more: read on with offset %d.\n", out.Next)
	}
	return result(out, false, head, out.Content)
}

// pieceOf reads at most limit bytes from offset.
func pieceOf(f io.Reader, offset, limit int64) ([]byte, error) {
	if s, ok := f.(io.Seeker); ok {
		if _, err := s.Seek(offset, io.SeekStart); err != nil {
			return nil, fmt.Errorf("the file cannot be read from byte %d: %w", offset, err)
		}
	} else if _, err := io.CopyN(io.Discard, f, offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the file cannot be read: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil, fmt.Errorf("the file cannot be read: %w", err)
	}
	return data, nil
}

func writeFile(ctx context.Context, c *call, in *writeIn) *sdk.CallToolResult {
	var content io.Reader = strings.NewReader(in.Content)
	switch in.As {
	case "", "text":
	case "base64":
		data, err := base64.StdEncoding.DecodeString(in.Content)
		if err != nil {
			return c.bad("content", "it is no base64", "Encode it as RFC 4648 says, with padding, or send text.")
		}
		content = strings.NewReader(string(data))
	default:
		return c.bad("encoding", fmt.Sprintf("%.20q is none", in.As), "Write text or base64.")
	}
	mode := fs.FileMode(0o644)
	if in.Executable {
		mode = 0o755
	}
	id, no := c.box(ctx)
	if no != nil {
		return c.refuse(no)
	}
	info, err := c.Engine.PutFile(c.who(), id, in.Path, content, mode)
	if err != nil {
		return c.failed(id, err)
	}
	return result(&fileOut{File: info}, false, fmt.Sprintf("%q: %d bytes written.", info.Path, info.Size))
}

func listFiles(ctx context.Context, c *call, in *listIn) *sdk.CallToolResult {
	if in.Path == "" {
		in.Path = "/work"
	}
	id, no := c.box(ctx)
	if no != nil {
		return c.refuse(no)
	}
	list, more, err := c.Engine.ListFiles(c.who(), id, in.Path, in.Recursive, "")
	if err != nil {
		return c.failed(id, err)
	}
	if len(list) > maxListed {
		list, more = list[:maxListed], true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d entries:\n", len(list))
	for _, f := range list {
		name := f.Path
		if f.Target != "" {
			name += " -> " + f.Target
		}
		fmt.Fprintf(&b, "%s\t%d\t%q\n", f.Type, f.Size, name)
	}
	if more {
		b.WriteString("There are more: list a directory of it.\n")
	}
	return result(&listOut{Files: append([]engine.FileInfo{}, list...), More: more}, false, b.String())
}

func deleteFile(ctx context.Context, c *call, in *pathIn) *sdk.CallToolResult {
	id, no := c.box(ctx)
	if no != nil {
		return c.refuse(no)
	}
	if err := c.Engine.DeleteFile(c.who(), id, in.Path); err != nil {
		return c.failed(id, err)
	}
	return result(&fileOut{Deleted: in.Path}, false, fmt.Sprintf("%q is deleted.", in.Path))
}
