# update() of the model beside update() of biglm.  Rscript rows.R FOLDER
library(mixstream)
file <- file.path(commandArgs(TRUE)[1], "rows.f64")
values <- matrix(readBin(file, "double", file.size(file) / 8), ncol = 5, byrow = TRUE)
rows <- data.frame(a = values[, 1], b = values[, 2], c = values[, 3], d = values[, 4], y = values[, 5])
part <- 50000L
parts <- split(rows, (seq_len(nrow(rows)) - 1L) %/% part)

rate <- function(begin, go_on) {
  seconds <- replicate(3, {
    started <- sum(proc.time()[1:2])
    model <- begin(parts[[1]])
    for (one in parts[-1]) model <- go_on(model, one)
    sum(proc.time()[1:2]) - started
  })
  nrow(rows) / min(seconds)
}

# The rows alone: a model of one law solves in no time, at every update.
ours <- function(...) rate(function(one) mixstream(y ~ a + b + c + d, one, k = 1, modes = "independent", noise = "shared", ...), update)
if (!requireNamespace("biglm", quietly = TRUE)) stop("biglm is missing: run apps/setup rivals")
rival <- rate(function(one) biglm::biglm(y ~ a + b + c + d, one), function(model, one) stats::update(model, one))
for (polish in c("off", "scoring")) {
  own <- ours(polish = polish)
  cat(sprintf('{"name": "R update, polish %s, beside biglm", "rows_per_s": %.0f, "rival_rows_per_s": %.0f, "ratio": %.3f}\n', polish,
              own, rival, own / rival))
}
