package main

func name() string {
	return "not on this system"
}
