// Command show is the program of an image in tests: it prints how it was started.
package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	dir, err := os.Getwd()
	if err != nil {
		dir = err.Error()
	}
	_, err = os.Create("new")
	fmt.Printf("%s in %s as %d:%d with COLOUR=%s HOME=%s; writable %v\n", strings.Join(os.Args, " "), dir, os.Getuid(),
		os.Getgid(), os.Getenv("COLOUR"), os.Getenv("HOME"), err == nil)
}
