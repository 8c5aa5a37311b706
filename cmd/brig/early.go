package main

/*
// The stage's constructor (nsjail/internal/stage) forks a stage before the Go runtime starts when a binary defines
// this symbol and is called with this word.
const char *const brig_stage_early = "run";
*/
import "C"
