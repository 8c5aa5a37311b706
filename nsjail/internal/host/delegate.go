package host

import "fmt"

// DelegateCommand returns the command that delegates control groups to a uid: doctor.DelegateScript.
func DelegateCommand(uid int) string { return fmt.Sprintf("brig doctor --delegate %d | sudo sh", uid) }
