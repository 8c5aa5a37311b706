// Package docs holds no code: its tests keep the project's documents true. A link leads somewhere, a test that is named
// exists, and a number is the code's.
package docs
