laws_of <- function(object) object$report$components

law_count <- function(object) length(laws_of(object))

has_laws <- function(object) {
  if (law_count(object) == 0L)
    stop(sprintf("there is no fit (%s): %s", object$report$status, object$report$words), call. = FALSE)
  invisible(TRUE)
}

law_names <- function(object) paste("law", seq_len(law_count(object)))

# One column of numbers a law.
by_law <- function(object, what, names = object$coefficient_names) {
  values <- vapply(laws_of(object), function(law) as.double(unlist(nulls_as_na(law[[what]]))), numeric(length(names)))
  matrix(values, nrow = length(names), dimnames = list(names, law_names(object)))
}

nulls_as_na <- function(values) if (is.null(values)) NA else lapply(values, function(value) if (is.null(value)) NA else value)

coef.mixstream <- function(object, ...) {
  has_laws(object)
  by_law(object, "coefficients")
}

formula.mixstream <- function(x, ...) formula(x$terms)

nobs.mixstream <- function(object, ...) object$report$rows

# The likelihood of all rows as far as the sample tells it: exact while the sample holds all rows.
logLik.mixstream <- function(object, ...) {
  has_laws(object)
  structure(object$report$log_likelihood * object$report$effective_rows, df = parameter_count(object), nobs = nobs(object),
            class = "logLik")
}

# Of laws, weights or what stands in their place, and noise.
parameter_count <- function(object) {
  report <- object$report
  k <- law_count(object)
  choosing <- switch(if (is.null(report$modes)) "independent" else report$modes$kind, persistent = k * (k - 1L),
                     gated = (k - 1L) * length(report$modes$gate), k - 1L)
  variances <- if (is.null(report$noise_variance)) k else if (identical(report$noise_source, "known")) 0L else 1L
  k * length(report$features) + choosing + variances + length(report$noise$memory) + length(report$noise$degrees_of_freedom)
}

print.mixstream <- function(x, ...) {
  cat("\nCall:\n", paste(deparse(x$call), collapse = "\n"), "\n\n", x$table, sep = "")
  invisible(x)
}

summary.mixstream <- function(object, ...) {
  has_laws(object)
  sample <- mixstream_sample(object)
  p <- probabilities_of(object, sample$x, sample$y)
  best <- max.col(p, ties.method = "first")
  sample$weights <- sample$weights * object$report$effective_rows / sum(sample$weights)
  size <- vapply(seq_len(ncol(p)), function(h) sum(sample$weights[best == h]), 0)
  positive <- vapply(seq_len(ncol(p)), function(h) sum(sample$weights[p[, h] > 1e-4]), 0)
  laws <- data.frame(prior = by_law(object, "weight", "weight")[1L, ], size = round(size), `post>0` = round(positive),
                     ratio = size / pmax(positive, 1e-300), check.names = FALSE, row.names = law_names(object))
  structure(list(call = object$call, laws = laws, coefficients = lapply(seq_len(ncol(p)), tests_of_law, object = object),
                 noise = sqrt(by_law(object, "noise_variance", "noise")[1L, ]), rows = nobs(object), sampled = nrow(p),
                 logLik = logLik(object), AIC = AIC(object), BIC = BIC(object), status = object$report$status,
                 words = object$report$words), class = "summary.mixstream")
}

tests_of_law <- function(object, h) {
  estimate <- coef(object)[, h]
  errors <- by_law(object, "coefficients_se")[, h]
  z <- estimate / errors
  cbind(Estimate = estimate, `Std. Error` = errors, `z value` = z, `Pr(>|z|)` = 2 * pnorm(-abs(z)))
}

print.summary.mixstream <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("\nCall:\n", paste(deparse(x$call), collapse = "\n"), "\n\n", sep = "")
  print(x$laws, digits = digits)
  if (x$sampled < x$rows)
    cat(sprintf("\nsizes are those of all %s rows, as a sample of %s tells them\n", format(x$rows, big.mark = ","),
                format(x$sampled, big.mark = ",")))
  for (h in seq_along(x$coefficients)) {
    cat(sprintf("\nlaw %d, noise sd %s\n", h, format(x$noise[h], digits = digits)))
    printCoefmat(x$coefficients[[h]], digits = digits)
  }
  cat(sprintf("\n'log Lik.' %s (df=%d)\nAIC: %s   BIC: %s\n%s: %s\n", format(as.numeric(x$logLik)), attr(x$logLik, "df"),
              format(x$AIC), format(x$BIC), x$status, x$words))
  invisible(x)
}

# response: E[y | x]. laws: every law's line. probabilities and class: of the laws, given y too where newdata has it.
# interval: what holds y with probability `level`.
predict.mixstream <- function(object, newdata, type = c("response", "laws", "probabilities", "class", "interval"), level = 0.95,
                              ...) {
  has_laws(object)
  type <- match.arg(type)
  if (missing(newdata)) stop("predict() takes the rows as `newdata`: the model holds none but a sample", call. = FALSE)
  design <- new_design(object, newdata, type %in% c("probabilities", "class"))
  if (type == "laws") return(design$x %*% coef(object))
  predicted <- .Call(C_predict, object$json, design$x, design$y, as.double(level))
  named <- function(values, names) {
    matrix(values, ncol = length(names), byrow = type == "probabilities", dimnames = list(rownames(design$x), names))
  }
  switch(type, response = stats::setNames(predicted$expected, rownames(design$x)),
         probabilities = named(predicted$probabilities, law_names(object)),
         class = stats::setNames(predicted$component, rownames(design$x)),
         interval = named(cbind(predicted$expected, predicted$low, predicted$high), c("fit", "lwr", "upr")))
}

# The design of rows to predict, with their response where it is wanted and there.
new_design <- function(object, newdata, with_response) {
  terms <- object$terms
  response <- all.vars(terms[[2L]])
  has_response <- with_response && all(response %in% names(newdata))
  if (!has_response) terms <- delete.response(terms)
  lacking <- setdiff(all.vars(terms), names(newdata))
  if (length(lacking)) stop(sprintf("newdata lacks %s", paste0("'", lacking, "'", collapse = ", ")), call. = FALSE)
  frame <- model.frame(terms, newdata, na.action = stats::na.pass, xlev = object$xlevels)
  x <- design_of(frame, terms, object$contrasts)
  check_numbers(x, if (has_response) model.response(frame) else numeric())
  list(x = x, y = if (has_response) as.double(model.response(frame)))
}

probabilities_of <- function(object, x, y) {
  matrix(.Call(C_predict, object$json, x, y, 0.95)$probabilities, ncol = law_count(object), byrow = TRUE)
}

# Rows of the sample as x, y and the weights with which they speak for all rows, 1 in the mean.
mixstream_sample <- function(object) {
  sample <- .Call(C_sample, loaded(object))
  sample$x <- matrix(sample$x, nrow = length(sample$y), byrow = TRUE, dimnames = list(NULL, object$coefficient_names))
  sample
}

# sigma = E[phi phi'], cross = E[y^p phi], mean = E[phi], phi all products of p terms (docs/guide/embedding.md).
mixstream_moments <- function(object, degree = 1L) {
  moments <- .Call(C_moments, loaded(object), as.integer(degree))
  moments$sigma <- matrix(moments$sigma, nrow = length(moments$mean))
  moments
}

# Probabilities of the mode that a sensor is in after its last row; of models whose modes persist.
mixstream_modes <- function(object, sensor = 0) {
  has_laws(object)
  stats::setNames(.Call(C_modes, loaded(object), as.double(sensor), law_count(object)), law_names(object))
}

# The whole report: a list with the names of docs/reference/json.md.
mixstream_report <- function(object) object$report

# The sample's rows against one of the formula's variables or terms, coloured by their likeliest law, and the laws'
# lines where everything else is at its mean.
plot.mixstream <- function(x, term, ..., points = 2000L) {
  has_laws(x)
  sample <- mixstream_sample(x)
  shown <- seq_len(min(points, nrow(sample$x)))
  choices <- setdiff(colnames(sample$x), "(Intercept)")
  if (missing(term)) term <- choices[1L]
  if (!term %in% choices)
    stop(sprintf("there is no term '%s': the model has %s", term, paste0("'", choices, "'", collapse = ", ")), call. = FALSE)
  law <- max.col(probabilities_of(x, sample$x, sample$y), ties.method = "first")
  plot(sample$x[shown, term], sample$y[shown], col = law[shown] + 1L, pch = 20, cex = 0.5, xlab = term,
       ylab = x$report$response, ...)
  grid <- seq(min(sample$x[, term]), max(sample$x[, term]), length.out = 200L)
  matlines(grid, lines_along(x, sample$x, term, grid), lty = 1, lwd = 2, col = seq_len(law_count(x)) + 1L)
  legend("topleft", legend = law_names(x), col = seq_len(law_count(x)) + 1L, lty = 1, lwd = 2, bty = "n")
  invisible(x)
}

# The laws along a term: terms that follow from a variable move with it, such as I(flow^2) with flow.
lines_along <- function(object, design, term, grid) {
  means <- as.list(colMeans(design))
  means[[term]] <- grid
  variables <- all.vars(delete.response(object$terms))
  if (term %in% variables && all(variables %in% names(means)))
    return(predict(object, as.data.frame(means[variables]), type = "laws"))
  do.call(cbind, means[colnames(design)]) %*% coef(object)
}
