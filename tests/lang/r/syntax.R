cat("never\n")

broken <- = 3
