# What a user of the package does. Run by R CMD check.
library(mixstream)

coefficients <- rbind(c(4, 3, 0.5), c(2, 1, 1), c(6, 0.5, -1))
shares <- c(0.5, 0.3, 0.2)

pump <- function(n, seed = 7) {
  set.seed(seed)
  flow <- runif(n, -1, 1)
  law <- sample(3, n, replace = TRUE, prob = shares)
  power <- rowSums(cbind(1, flow, flow^2) * coefficients[law, ]) + rnorm(n, sd = 0.2)
  data.frame(flow, power, law)
}

rows <- pump(20000)
model <- mixstream(power ~ flow + I(flow^2), rows, k = 3)

# The laws are those that made the rows; each in a column.
found <- coef(model)
stopifnot(identical(dimnames(found), list(c("(Intercept)", "flow", "I(flow^2)"), paste("law", 1:3))))
order <- apply(found, 2, function(law) which.min(colSums((t(coefficients) - law)^2)))
stopifnot(setequal(order, 1:3), max(abs(t(found) - coefficients[order, ])) < 0.05)
stopifnot(nobs(model) == 20000, model$report$status == "ok", identical(model$report$features, c("1", "flow", "flow^2")))

# A model is a value: update() leaves the old one, and half and half are the whole.
half <- mixstream(power ~ flow + I(flow^2), rows[1:9000, ], k = 3)
before <- mixstream_bytes(half)
whole <- update(half, rows[9001:20000, ])
stopifnot(identical(coef(whole), coef(model)), identical(mixstream_bytes(half), before), nobs(half) == 9000)

# Predictions follow from the laws.
at <- data.frame(flow = c(0, 0.5))
lines <- cbind(1, at$flow, at$flow^2) %*% found
prior <- vapply(model$report$components, `[[`, 0, "weight")
stopifnot(all.equal(unname(predict(model, at, "laws")), unname(lines)))
stopifnot(all.equal(unname(predict(model, at)), as.vector(lines %*% prior)))
interval <- predict(model, at, "interval")
stopifnot(all(interval[, "lwr"] < interval[, "fit"]), all(interval[, "fit"] < interval[, "upr"]))
fresh <- pump(2000, 99)
p <- predict(model, fresh, "probabilities")
z <- fresh$power - cbind(1, fresh$flow, fresh$flow^2) %*% found
density <- sweep(exp(-0.5 * z^2 / model$report$noise_variance), 2, prior, `*`)
stopifnot(all.equal(unname(p), unname(density / rowSums(density)), tolerance = 1e-8))
stopifnot(identical(unname(predict(model, fresh, "class")), unname(max.col(p))))
stopifnot(mean(order[predict(model, fresh, "class")] == fresh$law) > 0.9)
stopifnot(all.equal(unname(predict(model, fresh["flow"], "probabilities")[1, ]), prior))

# The likelihood is that of all rows where the sample holds them.
small <- mixstream(power ~ flow + I(flow^2), pump(3000), k = 3, modes = "independent", noise = "shared", polish = "off")
z <- outer(pump(3000)$power, rep(1, 3)) - cbind(1, pump(3000)$flow, pump(3000)$flow^2) %*% coef(small)
variance <- small$report$noise_variance
weights <- vapply(small$report$components, `[[`, 0, "weight")
exact <- sum(log((exp(-0.5 * z^2 / variance) / sqrt(2 * pi * variance)) %*% weights))
stopifnot(all.equal(as.numeric(logLik(small)), exact, tolerance = 1e-9), attr(logLik(small), "df") == 12)
stopifnot(all.equal(BIC(small), -2 * exact + 12 * log(3000)))

# summary, print and plot.
text <- capture.output(print(summary(model)))
stopifnot(any(grepl("prior", text)), any(grepl("post>0", text)), any(grepl("Std. Error", text)), any(grepl("^AIC", text)))
stopifnot(abs(sum(summary(model)$laws$size) - 20000) < 2)
stopifnot(any(grepl("3 laws of power ~ 1 \\+ flow \\+ flow\\^2", capture.output(print(model)))))
pdf(NULL)
plot(model)
plot(model, "I(flow^2)")
dev.off()

# States: merged, saved, read by the tool, and back.
other <- mixstream(power ~ flow + I(flow^2), pump(9000, 8), k = 3)
both <- mixstream_merge(half, other)
stopifnot(nobs(both) == 18000)
cross <- lapply(list(half, other, both), function(one) mixstream_moments(one, 2)$cross)
stopifnot(all.equal((cross[[1]] + cross[[2]]) / 2, cross[[3]], tolerance = 1e-12))
file <- tempfile(fileext = ".rds")
saveRDS(half, file)
stopifnot(identical(coef(update(readRDS(file), rows[9001:20000, ])), coef(model)))
again <- mixstream_from_bytes(mixstream_bytes(half))
stopifnot(all.equal(unname(coef(update(again, rows[9001:20000, ]))), unname(coef(model))))
tool <- Sys.getenv("MIXSTREAM_TOOL")
if (nzchar(tool)) {
  file <- tempfile(fileext = ".mix")
  writeBin(mixstream_bytes(model), file)
  seen <- jsonlite::fromJSON(system2(tool, c("inspect", "--json", file), stdout = TRUE))
  stopifnot(seen$rows == 20000, identical(seen$features, c("1", "flow", "flow^2")), seen$response == "power")
}

# Row numbers make the sample, whatever the order.
numbered <- function(which) mixstream(power ~ flow, transform(rows, id = seq_len(nrow(rows)) - 1)[which, ], row = id)
one <- suppressWarnings(numbered(1:20000))
two <- suppressWarnings(mixstream_merge(numbered(20000:7001), numbered(7000:1)))
stopifnot(identical(mixstream_sample(one)$y, mixstream_sample(two)$y))

# Weights, subsets, factors, missing values, interactions, no constant.
rows$kind <- factor(ifelse(rows$flow > 0, "up", "down"))
heavy <- mixstream(power ~ flow, rows, k = 1, weights = rep(2, 20000))
plain <- mixstream(power ~ flow, rbind(rows, rows), k = 1)
stopifnot(all.equal(mixstream_moments(heavy)$cross, mixstream_moments(plain)$cross), all.equal(coef(heavy), coef(plain)))
level <- mixstream(power ~ flow * kind, rows, k = 1)
least <- lm(power ~ flow * kind, rows)
stopifnot(all.equal(unname(coef(level)[, 1]), unname(coef(least)), tolerance = 1e-6))
stopifnot(all.equal(unname(predict(level, rows[1:5, ])), unname(predict(least, rows[1:5, ])), tolerance = 1e-6))
holes <- rows
holes$flow[3] <- NA
stopifnot(nobs(mixstream(power ~ flow, holes, k = 1)) == 19999)
stopifnot(identical(rownames(coef(mixstream(power ~ 0 + flow, rows, k = 1))), "flow"))
stopifnot(nobs(mixstream(power ~ flow, rows, k = 1, subset = flow > 0)) == sum(rows$flow > 0))
