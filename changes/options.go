package changes

import "brig/internal/words"

// ApplyOptions are for Set.Apply.
type ApplyOptions struct {
	Paths []string // the changes at and below these; empty means all
	// Force applies changes of files that the host has changed since, or that it has changed while the payload ran. It
	// does not remove a directory that the host has put in a file's place, or files that the run has not seen.
	Force bool
	// Allow are protected paths of the set (Run.Protect) that may change. "." accepts another directory at the path of
	// Header.Dir.
	Allow []string
	// Named lets whatever Paths name come to a git directory, but for links and what is no regular file, and so do
	// Allow's. Without it only data comes to one, and what stays behind is in Applied.Stayed.
	Named bool
	// DryRun prepares all of it under temporary names, to see whether there is room and the right to, removes that, and
	// changes nothing.
	DryRun bool

	rest bool               // finish an interrupted Apply and do nothing else
	undo bool               // take an interrupted Apply back and do nothing else
	step func(string) error // called between the steps, by tests
}

// ConflictError lists the changes that Apply refuses. Apply has then changed nothing.
type ConflictError struct{ List []Refused }

// Error names every path.
func (e *ConflictError) Error() string { return e.Text().String() }

// Text returns the text of Error with its references to fields.
func (e *ConflictError) Text() words.Text {
	lines := make([]words.Text, 0, len(e.List))
	for _, c := range e.List {
		lines = append(lines, words.Plain(GitQuote(string(c.Path))+": ")+c.Reason)
	}
	return words.Join(lines, "\n")
}
