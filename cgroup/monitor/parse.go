package monitor

import (
	"fmt"
	"strconv"
	"strings"
)

// parseValues reads lines "key number".
func parseValues(s string) (map[string]*uint64, error) {
	values := map[string]*uint64{}
	for line := range strings.Lines(s) {
		key, number, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil || key == "" {
			return nil, fmt.Errorf("line %s is not a key and a number", strconv.Quote(line))
		}
		values[key] = &n
	}
	return values, nil
}
