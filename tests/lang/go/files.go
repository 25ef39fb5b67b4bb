package main

import (
	"os"
	"strings"
)

func main() {
	text, err := os.ReadFile("data/in.txt")
	if err != nil {
		panic(err)
	}
	runes := []rune(strings.TrimSpace(string(text)))
	for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
		runes[i], runes[j] = runes[j], runes[i]
	}
	if err := os.WriteFile("/sandbox/output/out.txt", []byte(string(runes)), 0o644); err != nil {
		panic(err)
	}
}
