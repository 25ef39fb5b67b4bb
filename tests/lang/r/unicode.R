text <- "héllo wörld ✓ 日本語 🎉"
cat(text, "\n", nchar(text), "\n", sep = "")
