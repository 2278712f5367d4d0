# A design's columns as features of mixstream's language, so that the tool reads the states that R writes.

# "(Intercept)", "I(flow^2)", "flow:speed" become "1", "flow^2", "flow*speed"; what the language has no words for
# becomes the name of a column: `sin(t)`.
spelled_features <- function(names) {
  spelled <- names
  spelled[names == "(Intercept)"] <- "1"
  inner <- grepl("^I\\(.*\\)$", names)
  spelled[inner] <- gsub(" ", "", sub("^I\\((.*)\\)$", "\\1", names[inner]))
  spelled <- gsub(":", "*", spelled, fixed = TRUE)
  known <- vapply(spelled, knows_feature, NA)
  spelled[!known] <- paste0("`", gsub("`", "'", names[!known]), "`")
  spelled[duplicated(spelled)] <- paste0("`", names[duplicated(spelled)], "`")
  spelled
}

# Whether the language reads the text as one feature that means what R means by it.
knows_feature <- function(text) {
  name <- "[A-Za-z_][A-Za-z0-9_.]*"
  power <- paste0(name, "(\\^[0-9]+)?")
  product <- paste0("^", power, "(\\*", power, ")*$")
  called <- paste0("^(log|sqrt)\\(", name, "\\)$")
  text == "1" || grepl(product, text) || grepl(called, text)
}

# The design of rows: numbers, names, and what else belongs to a row. `data` may be missing where the variables
# stand in the formula's environment.
design_of <- function(frame, terms, contrasts = NULL) {
  x <- model.matrix(terms, frame, contrasts.arg = contrasts)
  storage.mode(x) <- "double"
  x
}

check_numbers <- function(x, y) {
  refuse <- function(name, row, value)
    stop(sprintf(paste("'%s' is %s in row %d: drop such rows or mend them (NA is left out by na.action, infinity is not)"),
                 name, format(value), row), call. = FALSE)
  bad <- which(!is.finite(x), arr.ind = TRUE)
  if (nrow(bad)) refuse(colnames(x)[bad[1, 2]], bad[1, 1], x[bad[1, 1], bad[1, 2]])
  bad <- which(!is.finite(y))
  if (length(bad)) refuse("the response", bad[1], y[bad[1]])
}
