package peers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"brig/nsjail/spec"
)

// vars are what a command line is expanded with: lists of elements, whose parts are $1, $2 and $3. A value $name is the
// only part of a list with one element.
type vars map[string][][]string

func (v vars) set(name, value string) { v[name] = [][]string{{value}} }

// expand turns a command line of the table into words. Words are separated by blanks, and values keep theirs. A line
// that begins with @list is there once for each element of the list.
func expand(line string, v vars) (argv []string) {
	for text := range strings.Lines(line) {
		words, all := strings.Fields(text), [][]string{nil}
		if len(words) > 0 && words[0][0] == '@' {
			words, all = words[1:], v[words[0][1:]]
		}
		for _, element := range all {
			for _, w := range words {
				argv = append(argv, os.Expand(w, func(name string) string {
					if i, err := strconv.Atoi(name); err == nil {
						return element[i-1]
					}
					return v[name][0][0]
				}))
			}
		}
	}
	return argv
}

// vars returns the variables that depend on the caller, the machine and the job alone.
func (h *Host) vars(program string, j Job) vars {
	v := vars{"link": h.tree.Links, "hidden": one(h.tree.Hidden), "hiddendir": one(h.tree.HiddenDirs),
		"dir": one(h.tree.Dirs), "readonly": one(h.tree.ReadOnly), "tmpfs": one(j.scratch()),
		"disk": one(j.scratch()[1:]), "usr": one(h.tree.outsideEtc()), "arg": one(j.Args)}
	for name, value := range map[string]string{"program": program, "path": spec.DefaultPath, "home": spec.DefaultHome,
		"name": h.name(), "tmp": h.Dir, "processes": fmt.Sprint(spec.DefaultProcesses)} {
		v.set(name, value)
	}
	caller, uid, hostuid, hostgid := "asuser", 0, os.Geteuid(), os.Getegid()
	if h.Root {
		caller, uid, hostuid, hostgid = "asroot", 1000, stranger, stranger
	}
	v.set(caller, "")
	v.set("uid", fmt.Sprint(uid))
	v.set("hostuid", fmt.Sprint(hostuid))
	v.set("hostgid", fmt.Sprint(hostgid))
	for _, r := range rlimits {
		v["rlimit"] = append(v["rlimit"], []string{r.name, fmt.Sprint(r.soft), fmt.Sprint(r.hard)})
	}
	if j.Show != "" {
		v.set("show", j.Show)
	}
	v.set(map[bool]string{true: "limits", false: "nolimits"}[j.Limited], "")
	v.set(map[bool]string{true: "job", false: "nojob"}[j.Dir != ""], j.Dir)
	return v
}

// one makes a list whose elements have one part.
func one(values []string) (list [][]string) {
	for _, s := range values {
		list = append(list, []string{s})
	}
	return list
}

// files makes the files that the lines name, and sets their names.
func (h *Host) files(v vars, lines string, j Job) (err error) {
	program := v["program"][0][0]
	v.set("state", filepath.Join(h.Dir, filepath.Base(program)))
	for name, file := range map[string]func() (string, error){
		"root":    h.rootfs,
		"profile": h.profile,
		"bundle":  func() (string, error) { return h.bundle(filepath.Base(program), j) },
		"calls":   func() (string, error) { return h.allowed(program) },
	} {
		if strings.Contains(lines, "$"+name) {
			value, ferr := file()
			v.set(name, value)
			err = errors.Join(err, ferr)
		}
	}
	if path, lerr := lookPath("runc"); lerr == nil { // podman's choice may not be installed
		v.set("runc", path)
	}
	return err
}
