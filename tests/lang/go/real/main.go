// A small language: numbers, strings, lists, functions that are values. Reads a
// program from standard input, runs it line by line, and ends with statistics.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"example.org/calc/lang"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	machine := lang.NewMachine(out)
	report := &report{}

	lines := bufio.NewScanner(os.Stdin)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			report.blank++
			continue
		}
		value, err := machine.Run(line)
		if err != nil {
			report.failed++
			fmt.Fprintf(out, "%d: %v\n", number, err)
			continue
		}
		report.ran++
		report.count(value)
		if value != nil {
			fmt.Fprintf(out, "%d: %s\n", number, lang.Show(value))
		}
	}
	report.print(out)
}
