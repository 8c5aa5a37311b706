package main

func doctor(asJSON bool, std stdio) int { return emit(std, "stub doctor\n") }
