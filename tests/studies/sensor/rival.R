# One rival from R: Rscript rival.R PACKAGE FILE LAWS SEED
# FILE holds (u, v, y) as doubles, row by row. Prints {"laws":[...]}, law after law; exit 77 where the package is missing.
arguments <- commandArgs(TRUE)
package <- arguments[1]
if (!requireNamespace(package, quietly = TRUE)) quit(status = 77)
suppressPackageStartupMessages(library(package, character.only = TRUE))
laws <- as.integer(arguments[3])
set.seed(as.integer(arguments[4]))
size <- file.size(arguments[2]) / 8
values <- matrix(readBin(arguments[2], "double", size), 3)
rows <- data.frame(u = values[1, ], v = values[2, ], y = values[3, ])

# Each returns a matrix with one column a law.
fit_depmixS4 <- function() {
  model <- depmix(y ~ u + v, data = rows, nstates = laws, family = gaussian())
  found <- fit(model, verbose = FALSE, emcontrol = em.control(random.start = TRUE))
  sapply(seq_len(laws), function(h) getpars(found@response[[h]][[1]])[1:3])
}
fit_MSwM <- function() {
  found <- msmFit(lm(y ~ u + v, data = rows), k = laws, sw = c(TRUE, TRUE, TRUE, FALSE), control = list(parallelization = FALSE))
  t(as.matrix(found@Coef))
}
fit_flexmix <- function() {
  found <- flexmix(y ~ u + v, data = rows, k = laws, concomitant = FLXPmultinom(~ u + v),
                   control = list(iter.max = 1000, minprior = 0))
  parameters(found)[1:3, , drop = FALSE]
}
found <- switch(package, depmixS4 = fit_depmixS4(), MSwM = fit_MSwM(), flexmix = fit_flexmix())
if (ncol(found) != laws || !all(is.finite(found))) stop("no fit of ", laws, " laws")
cat(sprintf('{"laws":[%s]}\n', paste(format(found, digits = 10, trim = TRUE), collapse = ",")))
