package cgroup

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// parseList returns the numbers of a cpuset(7) list, sorted.
func parseList(s string) (list []int, err error) {
	const most = 1 << 16
	var have [most / 64]uint64 // a list may repeat numbers
	for part := range strings.SplitSeq(strings.TrimSpace(s), ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		a, err1 := strconv.ParseUint(first, 10, 16)
		b, err2 := strconv.ParseUint(last, 10, 16)
		if err := errors.Join(err1, err2); err != nil || a > b {
			return nil, fmt.Errorf("%s is not a list of numbers", quote(s))
		}
		for n := a; n <= b; n++ {
			have[n/64] |= 1 << (n % 64)
		}
	}
	for n := range most {
		if have[n/64]&(1<<(n%64)) != 0 {
			list = append(list, n)
		}
	}
	return list, nil
}

// Count returns the number of processors or nodes in a list; 0 if it is not a list.
func Count(list string) int {
	all, err := parseList(list)
	if err != nil {
		return 0
	}
	return len(all)
}

// Lacks returns the members of the list want that are not in have.
func Lacks(want, have string) string {
	w, err1 := parseList(want)
	h, err2 := parseList(have)
	if err1 != nil || err2 != nil {
		return ""
	}
	return formatList(slices.DeleteFunc(w, func(n int) bool {
		_, found := slices.BinarySearch(h, n)
		return found
	}))
}

// formatList returns sorted numbers in the kernel's notation.
func formatList(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		part := strconv.Itoa(list[i])
		if j > i {
			part += "-" + strconv.Itoa(list[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}
