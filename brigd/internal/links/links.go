package links

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"sync"
	"time"

	"brig/brigd/engine"
	"brig/brigd/job"
)

const (
	// KeyLife is how long a link can be opened.
	KeyLife = 10 * time.Minute
	// visitLife is how long the cookie holds that the key of a link becomes.
	visitLife = 8 * time.Hour
	// most is how many links and cookies there are. One caller has at most a quarter of what the others leave.
	most, part = 4096, 4
	// param is the query parameter that has the key of a link.
	param = "brig-key"
)

// Links are those that callers have made, by the first half of their keys.
type Links struct {
	*Site
	now func() time.Time
	mu  sync.Mutex
	all map[string]*link
}

// link stands for a caller at one port, by its key or by a cookie.
type link struct {
	caller  engine.Caller
	sandbox string
	port    int
	secret  [sha256.Size]byte // of the second half of the key
	until   time.Time
	opened  bool // the key has become a cookie
}

// New returns Links below a site.
func New(s *Site) *Links { return &Links{Site: s, now: time.Now, all: map[string]*link{}} }

// Below reports whether a request's Host is below the site's name. Without Links none is.
func (l *Links) Below(host string) bool { return l != nil && l.Site.Below(host) }

// half is the length of each half of a key: 130 random bits.
const half = 26

// Open returns a URL of a port of a sandbox that a browser can open once until some time. Who opens it has the rights
// of the caller at that port, as long as the caller has them.
func (l *Links) Open(c engine.Caller, sandbox string, port int) (url string, until time.Time, no *job.Refusal) {
	at := l.origin(sandbox, port)
	if at == "" {
		return "", until, &job.Refusal{Layer: "request", Code: "bad_port", Rule: "port", NextSteps: []string{"use its path"},
			Message: "the sandbox's id is none that a host name can have"}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.room(c.Key()) {
		return "", until, &job.Refusal{Layer: "quota", Code: "too_many_links", Rule: "port",
			Message:   "you have as many links to ports as you may have",
			NextSteps: []string{"use one that you have", "delete sandboxes that you do not need, and ask again in 10 minutes"}}
	}
	x := &link{caller: c, sandbox: sandbox, port: port, until: l.now().Add(KeyLife)}
	return at + "/?" + param + "=" + l.add(x), x.until, nil
}

// room reports whether a caller may have one link more. It forgets those whose time is over.
func (l *Links) room(key string) bool {
	mine := 0
	for id, x := range l.all {
		if !l.now().Before(x.until) {
			delete(l.all, id)
		} else if x.caller.Key() == key {
			mine++
		}
	}
	left := most - len(l.all)
	return left > 0 && (mine == 0 || mine < (left+mine)/part)
}

// add puts a link under a new key, which it returns.
func (l *Links) add(x *link) (key string) {
	id, secret := rand.Text(), rand.Text()
	x.secret = sha256.Sum256([]byte(secret))
	l.all[id] = x
	return id + secret
}

// find returns the link of a key, if it is one to this port now. How long it takes tells nothing of the second half.
func (l *Links) find(key, sandbox string, port int) (id string, x *link) {
	if len(key) != 2*half {
		return "", nil
	}
	id, sum := key[:half], sha256.Sum256([]byte(key[half:]))
	x = l.all[id]
	if x == nil || subtle.ConstantTimeCompare(sum[:], x.secret[:]) == 0 || x.sandbox != sandbox || x.port != port ||
		!l.now().Before(x.until) {
		return "", nil
	}
	return id, x
}

// redeem takes the key of a link to the port that a request names, and returns the cookie that it becomes, or nil.
func (l *Links) redeem(host, key string) *http.Cookie {
	sandbox, port, ok := l.Port(host)
	if !ok {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id, x := l.find(key, sandbox, port)
	if x == nil || x.opened {
		return nil
	}
	delete(l.all, id)
	x.opened, x.until = true, l.now().Add(visitLife)
	return l.cookie(l.add(x), visitLife)
}

// Visitor returns the caller for whom a cookie of a request stands at the port that it names.
func (l *Links) Visitor(r *http.Request) (engine.Caller, bool) {
	if !l.Below(r.Host) {
		return engine.Caller{}, false
	}
	sandbox, port, ok := l.Port(r.Host)
	if !ok {
		return engine.Caller{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range l.keys(r.Header) {
		if _, x := l.find(key, sandbox, port); x != nil && x.opened {
			return x.caller, true
		}
	}
	return engine.Caller{}, false
}
