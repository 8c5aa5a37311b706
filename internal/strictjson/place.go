package strictjson

import (
	"encoding/json"
	"fmt"
	"strconv"

	"brig/internal/words"
)

// join returns the path of an object's member. A key that is not a plain word is quoted.
func join(path, key string) string {
	for i, c := range []byte(key) {
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return path + "[" + words.Quote(key) + "]"
		}
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// Index returns the path of a list's entry.
func Index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Show names a token: "null", "a list", "the number 1", or the string in quotes.
func Show(t json.Token) string {
	switch v := t.(type) {
	case string:
		return words.QuoteASCII(v)
	case json.Number:
		return "the number " + words.Clip(v.String(), words.MaxShown)
	case nil:
		return "null"
	case json.Delim:
		if v == '{' {
			return "an object"
		}
		return "a list"
	}
	return fmt.Sprint(t)
}
