package cli

import (
	"fmt"
	"strconv"

	"brig/internal/words"
)

// Text returns a setter of a field whose zero value means the default. An empty value is refused.
func Text[T ~string](to *T, example string) func([]string) error {
	return func(v []string) error {
		if v[0] == "" {
			return fmt.Errorf("it is empty; write it as in %s, or leave the flag out", example)
		}
		*to = T(v[0])
		return nil
	}
}

// Whole reads a whole number within bounds. What is wrong with any other value follows its text in the error.
func Whole[T int | int64](to *T, s string, least, most int64, wrong string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < least || n > most {
		return fmt.Errorf("%s %s", words.Quote(s), wrong)
	}
	*to = T(n)
	return nil
}
