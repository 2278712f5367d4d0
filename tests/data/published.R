# Writes data sets of installed R packages, and the fits that R finds on them, for tests/data/published.cpp.
# Rscript published.R FOLDER; ends with 77 (skipped) where a package is missing.
folder <- commandArgs(TRUE)[1]
for (package in c("mixtools", "flexmix")) {
  if (!requireNamespace(package, quietly = TRUE)) {
    message("R package ", package, " is missing: run apps/setup test")
    quit(status = 77)
  }
}
suppressPackageStartupMessages({ library(mixtools); library(flexmix) })
dir.create(folder, showWarnings = FALSE, recursive = TRUE)
data(CO2data); data(NOdata); data(tonedata)
sets <- list(CO2data = data.frame(x = CO2data$GNP, y = CO2data$CO2),
             NOdata = data.frame(x = NOdata$NO, y = NOdata$Equivalence),
             tonedata = data.frame(x = tonedata$stretchratio, y = tonedata$tuned))

number <- function(values) paste(format(values, digits = 17, trim = TRUE), collapse = " ")
write_fit <- function(name, how, likelihood, weights, coefficients, sigma) {
  lines <- c(number(likelihood), sapply(1:2, function(h) number(c(weights[h], coefficients[, h], sigma[h]))))
  writeLines(lines, file.path(folder, paste0(name, ".", how)))
}

set.seed(1)
for (name in names(sets)) {
  rows <- sets[[name]]
  write.table(format(rows, digits = 17), file.path(folder, paste0(name, ".rows")), quote = FALSE,
              row.names = FALSE, col.names = FALSE)
  # The best of a few random starts, each run to a tight tolerance; R's own printing goes nowhere.
  best <- NULL
  capture.output(for (start in 1:4) {
    fit <- tryCatch(regmixEM(rows$y, rows$x, k = 2, epsilon = 1e-11, maxit = 20000), error = function(e) NULL)
    if (!is.null(fit) && min(fit$sigma) > 0.05 * max(fit$sigma) && (is.null(best) || fit$loglik > best$loglik)) best <- fit
  })
  write_fit(name, "regmixEM", best$loglik, best$lambda, best$beta, best$sigma)
  best <- NULL
  for (start in 1:4) {
    fit <- tryCatch(flexmix(y ~ x, rows, k = 2, control = list(tolerance = 1e-13, iter.max = 20000, minprior = 0)),
                    error = function(e) NULL)
    if (is.null(fit) || fit@k != 2) next
    sigma <- parameters(fit)["sigma", ]
    if (min(sigma) > 0.05 * max(sigma) && (is.null(best) || logLik(fit) > logLik(best))) best <- fit
  }
  sigma <- parameters(best)["sigma", ]
  write_fit(name, "flexmix", as.numeric(logLik(best)), prior(best), parameters(best)[1:2, ], sigma)
}
