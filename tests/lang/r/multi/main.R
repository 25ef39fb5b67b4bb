source("numbers.R")
shapes <- new.env()
sys.source("shapes/rectangle.R", shapes)

cat("multi ", shapes$area(width, height), "\n", sep = "")
