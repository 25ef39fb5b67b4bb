package main

import (
	"fmt"
	"io"
	"sort"
)

type report struct {
	ran, failed, blank int
	kinds              map[string]int
}

func (r *report) count(value any) {
	if r.kinds == nil {
		r.kinds = map[string]int{}
	}
	if value != nil {
		r.kinds[fmt.Sprintf("%T", value)]++
	}
}

func (r *report) print(out io.Writer) {
	fmt.Fprintf(out, "%d lines ran, %d failed, %d were blank\n", r.ran, r.failed, r.blank)
	names := make([]string, 0, len(r.kinds))
	for name := range r.kinds {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(out, "%-14s %d\n", name, r.kinds[name])
	}
}
