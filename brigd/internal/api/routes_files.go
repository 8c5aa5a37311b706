package api

import "brig/brigd/engine"

func toolRoutes(h *toolHandlers) []route {
	file := param{"path", "the file, absolute or below /work", nil}
	mode := param{"mode", "the permissions in octal, such as 755", nil}
	made := func(name, id, summary string, handle func(*call) (any, error), query ...param) route {
		return route{method: "POST", path: "/v1/sandboxes/{id}/" + name, id: id, summary: summary, query: query, status: 200,
			out: engine.FileInfo{}, fails: []int{409, 507}, handle: handle}
	}
	return []route{
		{method: "GET", path: "/v1/sandboxes/{id}/stat", id: "statFile",
			summary: "Describe a file of a sandbox, of any type, without following a symbolic link.", query: []param{file},
			status: 200, out: engine.FileInfo{}, fails: []int{409}, handle: h.stat},
		made("mkdir", "makeDirectory", "Make a directory of a sandbox, and missing ones above it. One that is there stays.",
			h.mkdir, file, mode),
		made("move", "moveFile", "Rename a file or directory of a sandbox, and make missing directories above its new path.",
			h.move, file, param{"to", "the new path", nil},
			param{"overwrite", "1: replace a file, or an empty directory by a directory", yesNo}),
		made("chmod", "chmodFile", "Set the permissions of a file of a sandbox.", h.chmod, file, mode),
		{method: "POST", path: "/v1/sandboxes/{id}/edit", id: "editFile",
			summary: "Replace a text of a file of a sandbox. It must occur once, unless all are to be replaced.",
			query:   []param{file}, in: engine.Edit{}, status: 200, out: Edited{},
			fails: []int{408, 409, 413, 415, 429, 507}, handle: h.edit},
	}
}

func searchRoutes(h *searchHandlers) []route {
	most := param{"max", "at most so many, 1 to 10000; 1000 if left out", nil}
	return []route{
		{method: "GET", path: "/v1/sandboxes/{id}/glob", id: "globFiles",
			summary: "Find the files of a sandbox whose paths match a pattern, such as **/*.{go,py}.",
			query: []param{{"pattern", "*, ? and [a-z] in a name, {a,b}, ** for any directories; relative to path, or " +
				"absolute without one", nil}, {"path", "the directory, absolute or below /work; /work if left out", nil}, most},
			status: 200, out: FileList{}, fails: []int{409}, handle: h.glob},
		{method: "GET", path: "/v1/sandboxes/{id}/grep", id: "grepFiles",
			summary: "Find the lines in text files of a sandbox that a regular expression matches.",
			query: []param{{"pattern", "a regular expression of RE2, as Go has it, for one line", nil},
				{"path", "the file or directory, absolute or below /work; /work if left out", nil},
				{"glob", "only files with such a path below it, as of glob; without a slash: with such a last name", nil},
				{"ignore_case", "1: letters match in both cases", yesNo}, most},
			status: 200, out: engine.Found{}, fails: []int{409}, handle: h.grep},
		{method: "GET", path: "/v1/sandboxes/{id}/watch", id: "watchFiles",
			summary: "Tell what happens to the files in a directory of a sandbox, until the client closes the connection.",
			query: []param{{"path", "the directory, absolute or below /work; /work if left out", nil},
				{"recursive", "1: everything below it, new directories too", yesNo}},
			status: 200, stream: engine.Notice{}, fails: []int{406, 409, 429}, handle: h.watch},
	}
}
