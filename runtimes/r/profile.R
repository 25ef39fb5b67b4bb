# Rscript reads the code expression by expression and says neither where it cannot, nor where an error happened. So the
# code is read whole before it is run, where parse() tells the line; and the place of an error that nobody catches is
# looked up in it. Nothing else of the session changes: the code runs at top level, as with Rscript alone.
local({
	entry <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
	read <- function(...) parse(entry, ..., encoding = "UTF-8")

	# The lines of the statements that hold this call.
	lines_of <- function(call, code) {
		found <- integer()
		visit <- function(part, line) {
			if (!is.call(part) && !is.expression(part) && !is.pairlist(part))
				return()
			if (identical(part, call, ignore.srcref = TRUE))
				found <<- c(found, line)
			places <- attr(part, "srcref")
			for (i in seq_along(part))
				if (!identical(part[[i]], quote(expr = )))
					visit(part[[i]], if (is.list(places) && i <= length(places)) places[[i]][[1]] else line)
		}
		visit(code, 0L)
		unique(found)
	}

	# Of the innermost call that stands in the code once. Those of operators have no frame, only the condition has them.
	line_of <- function(condition, calls) {
		code <- read(keep.source = TRUE)
		last <- conditionCall(condition)
		inside <- any(vapply(calls, identical, NA, last))
		for (call in c(if (!inside) list(last), rev(calls))) {
			lines <- if (is.call(call)) lines_of(call, code)
			if (length(lines) == 1)
				return(lines)
		}
	}

	if (length(entry) == 1 && file.exists(entry)) {
		tryCatch(read(keep.source = FALSE), error = function(e) {
			cat("Error: ", conditionMessage(e), "\nExecution halted\n", sep = "", file = stderr())
			quit(save = "no", status = 1, runLast = FALSE)
		})
		# Since R 4.0. It is asked after all handlers of the program, and leaves the error as it is.
		if (exists("globalCallingHandlers", baseenv()))
			globalCallingHandlers(error = function(condition) {
				line <- tryCatch(line_of(condition, sys.calls()), error = function(e) NULL)
				if (length(line) == 1)
					cat("At ", entry, ":", line, "\n", sep = "", file = stderr())
			})
	}
	# This file stands in for the one that R would have read.
	if (file.exists(".Rprofile"))
		sys.source(".Rprofile", globalenv())
})
