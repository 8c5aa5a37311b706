// Package doctor examines a machine: nsjail.Examine reads it and tries to make jails on it, and Diagnose, which is
// pure, turns these Facts into Findings with a remedy each. `brig doctor` prints them.
package doctor
