package isolate

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"brig/internal/words"
)

// errorf returns an error in the words of isolate, which begin with a capital.
func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// oneLine makes a message safe for a terminal and for a line of the meta file.
func oneLine(message string) string {
	return words.Printable(strings.ReplaceAll(message, "\n", "; "))
}

// strerror returns the text of an error as strerror(3) writes it.
func strerror(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// number reads a count that fits an int of C.
func number(v string) (int64, error) {
	n, err := strconv.ParseUint(v, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%s is not a number from 0 to %d", words.Quote(v), math.MaxInt32)
	}
	return int64(n), nil
}

// seconds reads a time with a fraction. Isolate counts in milliseconds.
func seconds(v string) (time.Duration, error) {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f >= 0 && f <= math.MaxInt32/1000) {
		return 0, fmt.Errorf("%s is not a time in seconds, from 0 to %d", words.Quote(v), math.MaxInt32/1000)
	}
	return time.Duration(f*1000) * time.Millisecond, nil
}
