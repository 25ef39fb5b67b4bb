reached <- FALSE

fails <- function(path, action) {
  done <- tryCatch(suppressWarnings(action(path)), error = function(e) FALSE)
  if (!identical(done, FALSE)) {
    cat("within reach:", path, "\n")
    reached <<- TRUE
  }
}
listing <- function(path) dir.exists(path) && length(list.files(path, all.files = TRUE)) > 0

stopifnot(listing("/usr")) # so a listing works as such
fails("/etc/shadow", readLines)
fails("/root", listing)
fails("/home", listing)
fails("/usr/x", file.create)
if (!reached) cat("host is out of reach\n")
