# One rival from R on rows that experiments wrote: Rscript rivals.R PACKAGE FILE ROWS LAWS RESTARTS SEED GAIN
# FILE holds (t, y) as doubles, row by row. Prints a JSON object for each restart: processor seconds of the fit
# alone (not of R's start or of reading), and the peak memory of the whole process in bytes, before the fits and after.
# A restart that the package gives up on is an object with "failed". GAIN: stop below this gain in log-likelihood a row;
# 0: the package's own rule.
arguments <- commandArgs(TRUE)
package <- arguments[1]
if (!requireNamespace(package, quietly = TRUE)) quit(status = 77)
suppressPackageStartupMessages(library(package, character.only = TRUE))
rows <- as.integer(as.numeric(arguments[3]))
laws <- as.integer(arguments[4])
gain <- as.numeric(arguments[7])
set.seed(as.integer(arguments[6]))
values <- matrix(readBin(arguments[2], "double", 2 * rows), 2)
t <- values[1, ]; y <- values[2, ]; rm(values)
x <- cbind(1, t, t^4, t^7); rm(t)
peak <- function() 1024 * as.numeric(sub("\\D*(\\d+).*", "\\1", grep("VmHWM", readLines("/proc/self/status"), value = TRUE)))
invisible(gc())
before <- peak()

# Each returns a matrix with one column a law.
fit_flexmix <- function() {
  control <- list(iter.max = 1000, minprior = 0)
  if (gain > 0) control$tolerance <- gain  # it is relative to the log-likelihood, which is near one a row here
  fit <- flexmix(y ~ x - 1, k = laws, control = control)
  parameters(fit)[1:ncol(x), , drop = FALSE]
}
fit_mixtools <- function() {
  stop_at <- if (gain > 0) gain * rows else 1e-08
  capture.output(fit <- regmixEM(y, x[, -1], k = laws, maxit = 1000, epsilon = stop_at))
  fit$beta
}
for (restart in seq_len(as.integer(arguments[5]))) {
  fit <- NULL
  spent <- system.time(fit <- tryCatch(if (package == "flexmix") fit_flexmix() else fit_mixtools(), error = function(e) NULL))
  seconds <- sum(spent[c("user.self", "sys.self")])
  found <- if (is.null(fit) || ncol(fit) != laws || !all(is.finite(fit))) '"failed":true' else
    paste0('"laws":[', paste(format(fit, digits = 17, trim = TRUE), collapse = ","), "]")
  cat(sprintf('{"seconds":%.3f,%s,"peak_before":%.0f,"peak":%.0f}\n', seconds, found, before, peak()))
}
