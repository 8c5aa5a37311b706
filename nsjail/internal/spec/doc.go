// Package spec defines the description of a jail: Spec with its limits and units, its JSON form, and Check, which
// validates it. All functions are pure: they return the same on every machine. The package also defines the errors of
// the whole library.
package spec
