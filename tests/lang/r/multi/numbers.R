width <- 6
height <- 7
