package main

import (
	_ "embed"
	"strings"
)

//go:embed name.txt
var text string

func name() string {
	return strings.TrimSpace(text)
}
