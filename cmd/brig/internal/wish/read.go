package wish

import (
	"fmt"
	"io"
	"os"

	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
)

// MaxFile bounds the size of the files of other tools and of lists: variables, rules, configurations.
const MaxFile = 1 << 20

// ReadFunc reads a file that a flag names, of at most limit bytes.
type ReadFunc func(name string, limit int) ([]byte, error)

// FileReader returns a function that reads files of the caller; "-" is stdin. The limit bounds the memory for a wrong
// name, such as that of a device.
func FileReader(stdin *os.File) ReadFunc {
	return func(name string, limit int) (data []byte, err error) {
		f := stdin
		if name != "-" {
			if err := nsjail.AnswerFile(name); err != nil {
				return nil, fmt.Errorf("cannot read %w", err)
			}
			if f, err = os.Open(name); err == nil {
				defer f.Close()
			}
		}
		if err == nil {
			data, err = io.ReadAll(io.LimitReader(f, int64(limit)+1))
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("cannot read %s: %s; name a file that can be read", words.Quote(name), cli.Reason(err))
		case len(data) > limit:
			return nil, fmt.Errorf("%s is larger than %d bytes; shorten it", words.Quote(name), limit)
		}
		return data, nil
	}
}
