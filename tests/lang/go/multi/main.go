package main

import (
	"fmt"

	"example.org/multi/shape"
)

func main() {
	fmt.Println(name(), shape.Area(6, 7))
}
