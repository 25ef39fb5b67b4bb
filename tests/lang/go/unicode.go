package main

import (
	"fmt"
	"unicode/utf8"
)

func main() {
	line := "héllo wörld ✓ 日本語 🎉"
	fmt.Println(line)
	fmt.Println(utf8.RuneCountInString(line))
}
