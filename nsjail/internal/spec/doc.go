// Package spec defines what a jail is asked to be: Spec with its limits and units, its JSON form, and Check, which
// examines it. All of it is pure: the same on every machine. It also defines the errors of the whole library.
package spec
