package spec

import (
	"fmt"
	"strings"

	"brig/internal/words"
)

const maxArgBytes = 128 << 10 // MAX_ARG_STRLEN of execve(2), with the closing NUL

// checkArgs checks what execve(2) can carry: the strings, and the size of them all under a limit on the stack.
func checkArgs(args, env []string, rlimits map[string]Rlimit) (c problems) {
	if len(args) == 0 {
		c.add("args", "there is no command to run", `name one, as in ["id"]`)
		return c
	}
	if args[0] == "" {
		c.add("args[0]", "the command is empty", "name a program")
	}
	total := 0
	for i, a := range args {
		total += len(a) + 1 + 8 // execve(2) counts each string with its NUL and a pointer
		c = append(c, checkWord(Index("args", i), a)...)
	}
	for i, e := range env {
		total += len(e) + 1 + 8
		if at := strings.IndexByte(e, 0); at >= 0 { // the value may be a secret
			name, _, _ := strings.Cut(e, "=")
			c.add(Index("env", i), fmt.Sprintf("%s has a NUL byte at offset %d, which no system call can carry",
				words.Quote(name), at), "remove it")
			continue
		}
		c = append(c, checkWord(Index("env", i), e)...)
	}
	if most := argMax(rlimits); total > most {
		c.add("args", fmt.Sprintf("arguments and environment take %d bytes, and execve(2) takes at most %d (E2BIG)", total,
			most),
			"pass the data in a file or on stdin")
	}
	return c
}

// checkWord checks one string for execve(2).
func checkWord(path, value string) (c problems) {
	if len(value) >= maxArgBytes {
		c.add(path, fmt.Sprintf("%d bytes is more than the %d that execve(2) takes in one string (E2BIG)", len(value),
			maxArgBytes-1),
			"pass the data in a file or on stdin")
		return c
	}
	c.bytes(path, value)
	return c
}

// argMax returns the size limit of execve(2) for all arguments: a quarter of the soft stack limit, at least 128 KiB and
// at most 6 MiB, minus a page for the file name.
func argMax(rlimits map[string]Rlimit) int {
	stack, ok := rlimits["stack"]
	if !ok {
		stack = DefaultRlimits["stack"]
	}
	if stack.Soft < 0 {
		return 6<<20 - 4096
	}
	return int(min(max(stack.Soft/4, 128<<10), 6<<20)) - 4096
}
