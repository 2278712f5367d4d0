# Runs the examples of a page: every indented line with "> ". What stands under it must be in what it prints, up to its numbers.
# Rscript examples.R PAGE
options(warn = 2, width = 100)
lines <- sub("^    ", "", grep("^    ", readLines(commandArgs(TRUE)[1]), value = TRUE))
shape <- function(text) trimws(gsub("\\s+", " ", gsub("[-+]?[0-9][0-9.,e+-]*", "#", text)))
ran <- 0
printed <- character()
for (line in lines) {
  if (startsWith(line, "> ")) {
    code <- substring(line, 3)
    errors <- textConnection("message", "w", local = TRUE)
    sink(errors, type = "message")
    fault <- NULL
    value <- capture.output(seen <- tryCatch(withVisible(eval(parse(text = code), globalenv())), error = function(e) fault <<- e))
    if (is.null(fault) && seen$visible && !inherits(seen$value, "try-error")) value <- c(value, capture.output(print(seen$value)))
    sink(type = "message")
    close(errors)
    if (!is.null(fault)) stop(sprintf("%s: %s", code, conditionMessage(fault)))
    printed <- shape(c(value, message))
    ran <- ran + 1
  } else if (ran > 0 && nzchar(line)) {
    if (!any(grepl(shape(line), printed, fixed = TRUE)))
      stop(sprintf("'%s' is not printed by '%s', but\n%s", line, code, paste(printed, collapse = "\n")))
  }
}
cat(ran, "examples\n")
stopifnot(ran >= 15)
