text <- readLines("data/in.txt")
cat(rev(strsplit(text, "")[[1]]), sep = "", file = "/sandbox/output/out.txt")
