package main

var block = [1 << 34]byte{1 << 33: 1}

func main() { println(block[5]) }
