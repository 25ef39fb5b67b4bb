package main

type pair[A, B any] struct {
	a A
	b B
}

func again[A, B any](n int, a A, b B) {
	if n > 0 {
		again[pair[A, B], pair[B, A]](n-1, pair[A, B]{a, b}, pair[B, A]{b, a})
	}
}

func main() { again(100, 1, "x") }
