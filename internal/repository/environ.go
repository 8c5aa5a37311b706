package repository

import (
	"strconv"
	"strings"
)

// fromEnvironment returns the settings that the caller's environment has: GIT_CONFIG_COUNT, and GIT_CONFIG_PARAMETERS
// of git -c, whose forms are 'name=value' and 'name'='value'.
func (f *finder) fromEnvironment() (list []setting) {
	add := func(key, value string) {
		first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
		if first < 0 {
			return
		}
		s := setting{section: strings.ToLower(key[:first]), name: strings.ToLower(key[last+1:]), value: value}
		if last > first {
			s.sub = key[first+1 : last]
		}
		s.key = s.section + "." + s.name
		list = append(list, s)
		at := f.expand(value)
		if s.name == "path" && strings.HasPrefix(s.section, "include") && strings.HasPrefix(at, "/") {
			f.add(Path{Dir: "/", Rel: at})
			list = append(list, f.settings("/", strings.TrimLeft(at, "/"), 1)...)
		}
	}
	count, _ := strconv.Atoi(f.Env("GIT_CONFIG_COUNT"))
	for i := range min(count, 1024) {
		n := strconv.Itoa(i)
		add(f.Env("GIT_CONFIG_KEY_"+n), f.Env("GIT_CONFIG_VALUE_"+n))
	}
	for _, word := range strings.Split(strings.ReplaceAll(f.Env("GIT_CONFIG_PARAMETERS"), "'='", "="), "' '") {
		if key, value, ok := strings.Cut(strings.Trim(word, "'"), "="); ok {
			add(key, value)
		}
	}
	return list
}
