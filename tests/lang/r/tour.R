# What comes with R, in a box; each part checks itself. JSON is no part of it: R's own text form is written and read.
check <- function(got, want) {
  if (!isTRUE(all.equal(got, want)))
    stop(deparse1(got), " is not ", deparse1(want))
}

# Files
place <- tempfile("tour")
dir.create(file.path(place, "a"), recursive = TRUE)
path <- file.path(place, "a", "b.txt")
writeLines(c("é", "b"), path)
check(file.size(path), 5)
check(readLines(path, encoding = "UTF-8"), c("é", "b"))
stopifnot(file.symlink(path, file.path(place, "link")), file.copy(path, file.path(place, "c.txt")))
check(list.files(place, pattern = "txt$", recursive = TRUE), c("a/b.txt", "c.txt"))
write.csv(data.frame(x = 1:2, y = c("a", "b,c")), file.path(place, "t.csv"), row.names = FALSE)
check(read.csv(file.path(place, "t.csv"))$y, c("a", "b,c"))
saveRDS(list(1, "é"), file.path(place, "x.rds"))
check(readRDS(file.path(place, "x.rds")), list(1, "é"))
zipped <- gzfile(file.path(place, "z.gz"), "w")
cat("squeezed\n", file = zipped)
close(zipped)
check(readLines(file.path(place, "z.gz")), "squeezed")
unlink(place, recursive = TRUE)
check(dir.exists(place), FALSE)

# Text
check(regmatches("name = Ember;", regexec("(\\w+)\\s*=\\s*([^;]+);", "name = Ember;"))[[1]][2:3], c("name", "Ember"))
check(gsub("(\\d+)", "<\\1>", "a1 b22", perl = TRUE), "a<1> b<22>")
check(sprintf("%.2f|%5d|%x", pi, 42L, 255L), "3.14|   42|ff")
check(toupper("àé"), "ÀÉ")
check(nchar("日本", "bytes"), 6L)
check(strsplit("a , b,c", " *, *")[[1]], c("a", "b", "c"))
check(rev(utf8ToInt("é1")), c(49L, 233L))
check(formatC(1234567.891, big.mark = ",", format = "f", digits = 2), "1,234,567.89")

# Data
value <- list(a = c(1, 2.5, NA), b = "é", c = list(TRUE, NULL))
check(eval(parse(text = deparse(value))), value)
check(unserialize(serialize(value, NULL)), value)
m <- matrix(c(2, 1, 1, 3), 2)
check(solve(m) %*% m, diag(2))
check(unname(sapply(split(mtcars$mpg, mtcars$cyl), length)), c(11L, 7L, 14L))
model <- lm(dist ~ speed, cars)
check(round(unname(coef(model)), 3), c(-17.579, 3.932))
set.seed(1)
check(length(unique(sample(1:100))), 100L)
check(Reduce(`+`, 1:5, accumulate = TRUE), c(1L, 3L, 6L, 10L, 15L))
check(aggregate(x ~ g, data.frame(x = 1:4, g = c("a", "b", "a", "b")), sum)$x, c(4L, 6L))
check((\(x) x^2)(7) |> sqrt(), 7)
setClass("Point", representation(x = "numeric"))
setGeneric("move", function(point, by) standardGeneric("move")) -> generic
setMethod("move", "Point", function(point, by) initialize(point, x = point@x + by))
check(move(new("Point", x = 1), 2)@x, 3)
got <- tryCatch(stop("inner"), error = conditionMessage, finally = done <- TRUE)
check(list(got, done), list("inner", TRUE))

# Dates
check(format(as.POSIXct("2024-02-28 23:59:59", tz = "UTC") + 1, "%Y-%m-%dT%H:%M:%SZ"), "2024-02-29T00:00:00Z")
check(as.numeric(as.Date("2024-03-01") - as.Date("2024-02-01")), 29)
check(format(as.Date("2024-02-29"), "%a %d %b"), "Thu 29 Feb")
check(seq(as.Date("2024-01-31"), by = "day", length.out = 2)[2], as.Date("2024-02-01"))

# Processes
check(system2("/bin/sh", c("-c", shQuote("cat; exit 3")), input = "in", stdout = FALSE), 3L)
check(system("echo shell", intern = TRUE), "shell")
check(unlist(parallel::mclapply(1:3, function(n) n * n, mc.cores = 2)), c(1, 4, 9))

# Sockets: a forked child answers.
repeat {
  port <- sample(20000:30000, 1)
  server <- tryCatch(serverSocket(port), error = function(e) NULL)
  if (!is.null(server)) break
}
child <- parallel::mcparallel({
  con <- socketConnection("127.0.0.1", port, open = "r+", blocking = TRUE, timeout = 10)
  writeLines("loopback", con)
  answer <- readLines(con, 1)
  close(con)
  answer
})
con <- socketAccept(server, open = "r+", blocking = TRUE, timeout = 10)
writeLines(toupper(readLines(con, 1)), con)
flush(con)
check(parallel::mccollect(child)[[1]], "LOOPBACK")
close(con)
close(server)

cat("tour ok\n")
