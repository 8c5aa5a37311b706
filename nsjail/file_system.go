package nsjail

// FileSystem is a tmpfs(5) of the jail. Its peaks are those that init has seen. It looks before a writer of 4 GB a
// second could have filled what was free, but at most every millisecond, and less often where nothing changes: four
// times a second.
type FileSystem struct {
	Targets   []string `json:"targets"` // what lies in it
	Size      int64    `json:"size_bytes"`
	Used      int64    `json:"used_bytes"` // when the payload ended
	Peak      int64    `json:"peak_bytes"`
	Inodes    int64    `json:"inodes"`
	Files     int64    `json:"used_inodes"`
	PeakFiles int64    `json:"peak_inodes"`
}
