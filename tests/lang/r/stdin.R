for (line in readLines(file("stdin")))
  cat(toupper(line), "\n", sep = "")
