package main

const (
	a = "0123456789012345678901234567890123456789"
	b = a + a + a + a + a + a + a + a + a + a
	c = b + b + b + b + b + b + b + b + b + b
	d = c + c + c + c + c + c + c + c + c + c
	e = d + d + d + d + d + d + d + d + d + d
	f = e + e + e + e + e + e + e + e + e + e
	g = f + f + f + f + f + f + f + f + f + f
	h = g + g + g + g + g + g + g + g + g + g
)

func main() { print(len(h), h[len(h)/2:]) }
