package wire

import (
	"encoding/json"
	"fmt"
)

// flagAllow is before the rule in the field "allow", which payloads read: it is a part of the format.
const flagAllow = "--allow "

const maxEcho = 512 // bytes of each text that a refusal repeats

// Refusal returns a complete HTTP response with Connection: close. Its JSON body, which HEAD omits, reports what was
// refused and which rule would allow it, or "" if none would. "error" is egress_denied, or from
// status 500 on egress_failed: then the policy is not the reason.
func Refusal(status int, reason, host string, port uint16, method, path, rule string) []byte {
	denied := "egress_denied"
	if status >= 500 {
		denied = "egress_failed"
	}
	allow := rule
	if rule != "" {
		allow = flagAllow + rule
	}
	body, _ := json.Marshal(struct { // strings and a number always have a JSON form
		Error  string `json:"error"`
		Reason string `json:"reason"`
		Host   string `json:"host"`
		Port   uint16 `json:"port"`
		Method string `json:"method,omitempty"`
		Path   string `json:"path,omitempty"`
		Rule   string `json:"rule,omitempty"`  // the missing rule
		Allow  string `json:"allow,omitempty"` // the flag
	}{denied, cut(reason), cut(host), port, cut(method), cut(path),
		cut(rule), cut(allow)})
	body = append(body, '\n')
	texts := map[int]string{400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway", 504: "Gateway Timeout"}
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"+
		"Cache-Control: no-store\r\nConnection: close\r\n\r\n", status, texts[status], len(body))
	if method == "HEAD" {
		return []byte(head)
	}
	return append([]byte(head), body...)
}

// cut returns the start of a text that may come from the payload. json.Marshal escapes it and repairs a cut character.
func cut(s string) string {
	if len(s) > maxEcho {
		return s[:maxEcho] + "…"
	}
	return s
}
