package main

import (
	"io"
	"os"
	"strings"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	io.WriteString(os.Stdout, strings.ToUpper(string(text)))
}
