library(stats)


reach <- function(data, key) {
  if (is.null(data[[key]])) stop("nothing at ", key)
}

reach(list(), "ember")
