cat(strrep("x", 2^20))
