for (arg in commandArgs(trailingOnly = TRUE))
  cat("[", arg, "]\n", sep = "")
