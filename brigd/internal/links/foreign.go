package links

import "net/http"

// Foreign reports whether a request to an origin may be one that a page of another origin has made its visitor's
// browser send: that carries the visitor's rights, too. A person may follow a link to the origin, and nothing else may.
//
// A page can neither set nor remove Sec-Fetch-Site and Origin (the Fetch standard). A browser sends Origin with each
// WebSocket, and with each request that is no GET or HEAD.
func Foreign(r *http.Request, origin string) bool {
	site, origins := r.Header.Get("Sec-Fetch-Site"), r.Header.Values("Origin")
	reads := (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Upgrade") == ""
	switch {
	case len(origins) > 1 || len(r.Header.Values("Sec-Fetch-Site")) > 1:
		return true
	case len(origins) == 1 && origins[0] == "null" && site == "same-origin": // a page that hides its address
		return false
	case len(origins) == 1:
		return origins[0] != origin
	case site == "same-origin", site == "none", site == "": // the last is no browser's
		return false
	}
	return !reads || r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}
