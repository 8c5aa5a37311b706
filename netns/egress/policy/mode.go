package policy

import (
	"strings"

	"brig/internal/words"
)

// Mode is how a connection is checked before it is relayed.
type Mode string

// The modes. ModeDefault is the mode that the port suggests: 443 tls, 80 http, any other tcp; addresses tcp.
const (
	ModeDefault Mode = ""
	ModeTCP     Mode = "tcp"  // the bytes are not checked
	ModeTLS     Mode = "tls"  // the ClientHello must name the server
	ModeHTTP    Mode = "http" // each HTTP/1 request's Host, method and path are checked
	ModeUDP     Mode = "udp"  // datagrams; addresses only
)

func parseMode(s string) (Mode, *Problem) {
	switch m := Mode(s); m {
	case ModeTCP, ModeTLS, ModeHTTP, ModeUDP:
		return m, nil
	}
	if strings.EqualFold(s, "https") {
		return "", &Problem{Reason: "there is no mode https", Fix: "write tls"}
	}
	return "", &Problem{Reason: words.QuoteASCII(s) + " is no mode",
		Fix: words.DidYouMean(s, []string{"tcp", "tls", "http", "udp"})}
}
