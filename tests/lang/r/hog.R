held <- list()
repeat held[[length(held) + 1]] <- as.raw(rep_len(120L, 2^20))
