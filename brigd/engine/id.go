package engine

import (
	"crypto/rand"
	"strings"
)

// NewID returns a random name with 130 random bits, which cannot be guessed.
func NewID(kind string) string {
	return kind + "_" + strings.ToLower(rand.Text())
}
