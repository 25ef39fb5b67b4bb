package main

import (
	"bytes"
	"os"
)

func main() {
	os.Stdout.Write(bytes.Repeat([]byte("x"), 1<<20))
}
