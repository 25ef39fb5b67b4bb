# R does not tell why it could not connect; without a route it is at once, and no timeout.
start <- proc.time()[["elapsed"]]
con <- tryCatch(
  suppressWarnings(socketConnection("192.0.2.1", 80, blocking = TRUE, open = "r+b", timeout = 2)),
  error = function(e) NULL
)
took <- proc.time()[["elapsed"]] - start
if (!is.null(con)) {
  cat("connected\n")
} else {
  cat(if (took < 1) "unreachable\n" else "denied\n")
}
