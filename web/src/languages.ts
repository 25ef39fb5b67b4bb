// Syntax, file name and examples of each language.

interface Known {
  /** Monaco's name of its syntax. */
  syntax: string;
  /** The program's file. */
  file: string;
  templates: Record<string, string>;
}

const sh = {
  Hello: `name=world
echo "Hello, $name!"
for i in 1 2 3; do
	printf 'square of %d: %d\\n' "$i" "$((i * i))"
done
`,
  "Who am I?": `echo "$(id -un), uid $(id -u), in $(pwd)"
cat /etc/hostname 2>/dev/null
ls -la /
`,
};

const sql = {
  Hello: `create table planets (name text, moons integer, radius_km numeric);
insert into planets values
  ('Mercury', 0, 2439.7), ('Venus', 0, 6051.8), ('Earth', 1, 6371.0),
  ('Mars', 2, 3389.5), ('Jupiter', 95, 69911), ('Saturn', 146, 58232);

select name, moons, round(radius_km / 6371.0, 2) as earths
from planets order by moons desc;
`,
  Windows: `with recursive n(i) as (select 1 union all select i + 1 from n where i < 10)
select i, i * i as square, sum(i) over (order by i) as running_total from n;
`,
};

const known: Record<string, Known> = {
  python: {
    syntax: "python",
    file: "main.py",
    templates: {
      Hello: `from collections import Counter

text = "the fox and the dog and the cat"
for word, count in Counter(text.split()).most_common(3):
    print(f"{word:>6} {'█' * count} {count}")
`,
      "Ask for input": `name = input("What is your name? ")
print(f"Hello, {name}!")
`,
      Plot: `import math
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt

x = [i / 20 for i in range(200)]
plt.figure(figsize=(6, 3.2))
plt.plot(x, [math.sin(v) for v in x], label="sin", color="#ff7a3d")
plt.plot(x, [math.cos(v) for v in x], label="cos", color="#4c7a8a")
plt.legend()
plt.title("Two waves")
plt.savefig("/sandbox/output/waves.png", dpi=110)
`,
      "Slow output": `import time

for i in range(1, 11):
    print(f"\\x1b[3{1 + i % 6}m{'■' * i}\\x1b[0m {i * 10} %", flush=True)
    time.sleep(0.15)
`,
      "Write a file": `import csv

with open("/sandbox/output/squares.csv", "w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["n", "square"])
    rows.writerows((n, n * n) for n in range(10))
print("wrote /sandbox/output/squares.csv")
`,
    },
  },
  javascript: {
    syntax: "javascript",
    file: "main.js",
    templates: {
      Hello: `const fibonacci = function* () {
  let [a, b] = [0n, 1n];
  for (;;) {
    yield a;
    [a, b] = [b, a + b];
  }
};

for (const n of fibonacci()) {
  if (n > 10_000n) break;
  process.stdout.write(\`\${n} \`);
}
console.log();
`,
      "Promises": `const wait = (ms) => new Promise((done) => setTimeout(done, ms));

const began = Date.now();
await Promise.all([300, 100, 200].map(async (ms) => {
  await wait(ms);
  console.log(\`\${ms} ms, after \${Date.now() - began}\`);
}));
`,
    },
  },
  typescript: {
    syntax: "typescript",
    file: "main.ts",
    templates: {
      Hello: `interface Shape {
  name: string;
  area(): number;
}

const circle = (r: number): Shape => ({ name: "circle", area: () => Math.PI * r ** 2 });
const square = (a: number): Shape => ({ name: "square", area: () => a ** 2 });

for (const shape of [circle(1), square(2)]) {
  console.log(\`\${shape.name}: \${shape.area().toFixed(2)}\`);
}
`,
      "A type error": `const total: number = "six";
console.log(total);
`,
    },
  },
  bash: { syntax: "shell", file: "main.sh", templates: sh },
  sh: { syntax: "shell", file: "main.sh", templates: sh },
  zsh: { syntax: "shell", file: "main.zsh", templates: sh },
  go: {
    syntax: "go",
    file: "main.go",
    templates: {
      Hello: `package main

import "fmt"

func primes(until int) []int {
	var found []int
next:
	for n := 2; n <= until; n++ {
		for _, p := range found {
			if n%p == 0 {
				continue next
			}
		}
		found = append(found, n)
	}
	return found
}

func main() {
	fmt.Println("primes:", primes(50))
}
`,
      Channels: `package main

import (
	"fmt"
	"sync"
)

func main() {
	results := make(chan int)
	var group sync.WaitGroup
	for i := 1; i <= 5; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			results <- i * i
		}()
	}
	go func() { group.Wait(); close(results) }()
	sum := 0
	for square := range results {
		sum += square
	}
	fmt.Println("sum of squares:", sum)
}
`,
    },
  },
  rust: {
    syntax: "rust",
    file: "main.rs",
    templates: {
      Hello: `use std::collections::BTreeMap;

fn main() {
    let text = "one two three two three three";
    let mut counts = BTreeMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word).or_insert(0) += 1;
    }
    for (word, count) in &counts {
        println!("{word:>6}: {}", "*".repeat(*count));
    }
}
`,
    },
  },
  c: {
    syntax: "c",
    file: "main.c",
    templates: {
      Hello: `#include <stdio.h>

int main(void)
{
	for (int n = 0, a = 0, b = 1; n < 12; n++) {
		printf("%d ", a);
		int next = a + b;
		a = b;
		b = next;
	}
	putchar('\\n');
	return 0;
}
`,
      "A crash": `#include <stdio.h>

int main(void)
{
	int *nowhere = NULL;

	puts("about to fall");
	fflush(stdout);
	return *nowhere;
}
`,
    },
  },
  cpp: {
    syntax: "cpp",
    file: "main.cpp",
    templates: {
      Hello: `#include <algorithm>
#include <iostream>
#include <numeric>
#include <vector>

int main()
{
	std::vector<int> numbers(10);
	std::iota(numbers.begin(), numbers.end(), 1);
	std::reverse(numbers.begin(), numbers.end());
	for (int n : numbers)
		std::cout << n << ' ';
	std::cout << "\\nsum " << std::accumulate(numbers.begin(), numbers.end(), 0) << '\\n';
}
`,
    },
  },
  java: {
    syntax: "java",
    file: "Main.java",
    templates: {
      Hello: `import java.util.stream.*;

public class Main {
    record Point(int x, int y) {}

    public static void main(String[] args) {
        var points = IntStream.range(0, 5).mapToObj(i -> new Point(i, i * i)).collect(Collectors.toList());
        points.forEach(System.out::println);
    }
}
`,
    },
  },
  ruby: {
    syntax: "ruby",
    file: "main.rb",
    templates: {
      Hello: `words = %w[ember box warm cold fast]
words.group_by(&:size).sort.each do |size, group|
  puts "#{size}: #{group.join(', ')}"
end
`,
    },
  },
  php: {
    syntax: "php",
    file: "main.php",
    templates: {
      Hello: `<?php
$squares = array_map(fn($n) => $n ** 2, range(1, 5));
foreach ($squares as $i => $square) {
    printf("%d squared is %d\\n", $i + 1, $square);
}
`,
    },
  },
  perl: {
    syntax: "perl",
    file: "main.pl",
    templates: {
      Hello: `use strict;
use warnings;

my %count;
$count{$_}++ for split //, "mississippi";
print "$_: $count{$_}\\n" for sort keys %count;
`,
    },
  },
  lua: {
    syntax: "lua",
    file: "main.lua",
    templates: {
      Hello: `local function map(list, f)
  local out = {}
  for i, v in ipairs(list) do out[i] = f(v) end
  return out
end

print(table.concat(map({1, 2, 3, 4}, function(n) return n * n end), ", "))
`,
    },
  },
  r: {
    syntax: "r",
    file: "main.R",
    templates: {
      Hello: `heights <- c(anna = 168, ben = 182, carl = 175)
print(summary(heights))
cat("tallest:", names(which.max(heights)), "\\n")
`,
    },
  },
  sqlite: { syntax: "sql", file: "main.sql", templates: sql },
  postgres: { syntax: "pgsql", file: "main.sql", templates: sql },
};

const plain: Known = { syntax: "plaintext", file: "main.txt", templates: { Empty: "" } };

export const knownOf = (name: string): Known => known[name] ?? plain;
export const syntaxes = [...new Set(Object.values(known).map((item) => item.syntax))];

const bySuffix: Record<string, string> = {
  py: "python", js: "javascript", mjs: "javascript", cjs: "javascript", ts: "typescript", tsx: "typescript", sh: "shell", bash: "shell",
  zsh: "shell", go: "go", rs: "rust", c: "c", h: "cpp", hpp: "cpp", cpp: "cpp", cc: "cpp", java: "java", rb: "ruby", php: "php",
  pl: "perl", pm: "perl", lua: "lua", r: "r", sql: "sql", json: "javascript", csv: "plaintext",
};

/** Suffixes of files that are read, in whatever language: data, texts, headers. */
const DATA = new Set(("csv tsv psv dat data json jsonl json5 ndjson geojson ipynb txt text md rst tex xml xsd yaml yml toml ini cfg conf env properties lock log out diff patch "
  + "html htm css svg h hh hpp png jpg jpeg gif webp bmp ico pdf db sqlite sqlite3 parquet feather arrow npy npz pkl pickle xls xlsx ods zip gz bz2 xz zst tar tgz bin").split(" "));

/** Whether a file is code of the language, and not data; a file without a suffix counts as code. */
export function isProgram(file: string, language: string): boolean {
  const own = knownOf(language);
  if (file === own.file || !file.includes(".")) return true;
  const suffix = file.split(".").pop()!.toLowerCase();
  if (DATA.has(suffix)) return false;
  const syntax = bySuffix[suffix];
  return syntax === undefined || syntax === own.syntax || (syntax === "sql" && own.syntax === "pgsql");
}

/** The syntax of a file by its name; that of the language where the name says nothing. */
export function syntaxOf(file: string, language: string): string {
  const own = knownOf(language);
  if (file === own.file) return own.syntax;
  return bySuffix[file.split(".").pop()?.toLowerCase() ?? ""] ?? "plaintext";
}
