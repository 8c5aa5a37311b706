package mcp

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/internal/test/must"
)

// TestReadPicture: read_file returns a picture as one, and its bytes as text only to who asks for them.
func TestReadPicture(t *testing.T) {
	f := newFake()
	client, _ := connect(t, service1(t, Options{Engine: f}, "", ordinary), nil)
	var b bytes.Buffer
	must.Do(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))))
	plot := b.Bytes()
	read := func(args map[string]any) *sdk.CallToolResult {
		args["path"] = "/work/plot.png"
		return must.Get(client.CallTool(t.Context(), &sdk.CallToolParams{Name: "read_file", Arguments: args}))(t)
	}
	must.Get(client.CallTool(t.Context(), &sdk.CallToolParams{Name: "write_file",
		Arguments: map[string]any{"path": "/work/plot.png", "content": plot, "encoding": "base64"}}))(t)
	r := read(map[string]any{})
	if len(r.Content) != 2 {
		t.Fatalf("%+v", r.Content)
	}
	if p, ok := r.Content[1].(*sdk.ImageContent); !ok || p.MIMEType != "image/png" || !bytes.Equal(p.Data, plot) {
		t.Errorf("%+v", r.Content[1])
	}
	for _, args := range []map[string]any{{"encoding": "base64"}, {"offset": 1}, {"limit": 10}} {
		for _, c := range read(args).Content {
			if _, ok := c.(*sdk.TextContent); !ok {
				t.Errorf("%v: %T", args, c)
			}
		}
	}
}
