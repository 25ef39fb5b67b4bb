area <- function(width, height) width * height
