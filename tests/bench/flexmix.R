# Processor seconds of one EM iteration of flexmix. Rscript flexmix.R FILE ROWS FEATURES COMPONENTS
# FILE: doubles; the rows' features, then responses, then the starting probabilities, each row by row.
arguments <- commandArgs(TRUE)
size <- as.integer(arguments[2:4])
suppressPackageStartupMessages(library(flexmix))
read <- function(source, columns) matrix(readBin(source, "double", size[1] * columns), size[1], byrow = TRUE)
source <- file(arguments[1], "rb")
x <- read(source, size[2]); y <- read(source, 1)[, 1]; start <- read(source, size[3])
close(source)
seconds <- function(iterations) {
  gc()
  spent <- system.time(flexmix(y ~ x - 1, k = size[3], cluster = start,
                               control = list(iter.max = iterations, tolerance = -1, minprior = 0)))
  sum(spent[c("user.self", "sys.self")])  # not the clock: it would count what else the machine does against flexmix
}
few <- min(replicate(3, seconds(3)))
many <- min(replicate(3, seconds(13)))  # the difference leaves out what is done once
cat(paste0((many - few) / 10, "\n"))
