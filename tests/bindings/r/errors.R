# Wrong input: every message says what is wrong, where, and what to do. Run by R CMD check.
library(mixstream)
options(warn = 1)

refused <- function(words, expression) {
  message <- tryCatch({
    force(expression)
    "nothing was refused"
  }, error = conditionMessage)
  if (!grepl(words, message)) stop(sprintf("'%s' does not say '%s'", message, words))
  cat(message, "\n")
}

set.seed(1)
rows <- data.frame(flow = runif(3000))
rows$power <- ifelse(runif(3000) < 0.4, 1 + 2 * rows$flow, 3 - rows$flow) + rnorm(3000, sd = 0.1)
rows$mode <- "eco"
model <- mixstream(power ~ flow, rows)

refused("k takes a whole number from 1 to 32, or auto; not '0'", mixstream(power ~ flow, rows, k = 0))
refused("sometimes", mixstream(power ~ flow, rows, modes = "sometimes"))
refused("no option \"windows\"", mixstream(power ~ flow, rows, windows = 3))
refused("no response", mixstream(~flow, rows))
refused("no terms", mixstream(power ~ 0, rows))
refused("the response mode is character", mixstream(mode ~ flow, rows))
infinite <- rows
infinite$flow[7] <- Inf
refused("'flow' is Inf in row 7", mixstream(power ~ flow, infinite))
refused("'log\\(flow\\)' is -Inf in row 2", mixstream(power ~ log(flow), transform(rows, flow = replace(flow, 2, 0))))
refused("newdata lacks 'flow'", predict(model, data.frame(speed = 1)))
refused("predict\\(\\) takes the rows", predict(model))
refused("update\\(\\) takes the new rows", update(model))
refused("there is no term 'speed': the model has 'flow'", plot(model, "speed"))
refused("sensor takes whole numbers", mixstream(power ~ flow, rows, sensor = rep(0.5, 3000)))
refused("takes two models", mixstream_merge(model, 3))
refused("differ|merge", mixstream_merge(model, suppressWarnings(mixstream(power ~ flow + I(flow^2), rows))))
refused("raw vector", mixstream_from_bytes("text"))
refused("not a mixstream state", mixstream_from_bytes(as.raw(1:100)))
refused("no modes are followed", mixstream_modes(model))
refused("degree 1, 2 or 3", mixstream_moments(model, 4))

# Too few rows: a warning that says so, a model that waits for more, and no predictions.
warned <- NULL
few <- withCallingHandlers(mixstream(power ~ flow, rows[1:5, ]), warning = function(w) {
  warned <<- conditionMessage(w)
  invokeRestart("muffleWarning")
})
stopifnot(grepl("too_few_rows", warned))
refused("there is no fit \\(too_few_rows\\)", predict(few, rows))
stopifnot(all.equal(coef(update(few, rows[6:3000, ])), coef(model)))

# Errors leak nothing: what was refused a thousand times left no models behind.
memory <- function() {
  gc()
  as.numeric(sub("\\D+(\\d+) kB", "\\1", grep("VmRSS", readLines("/proc/self/status"), value = TRUE)))
}
bytes <- mixstream_bytes(model)
fail <- function() try(.Call(mixstream:::C_absorb, .Call(mixstream:::C_load_model, bytes), matrix(0, 5, 1), numeric(5), NULL, NULL,
                             rep(-1, 5), NULL), silent = TRUE)
fail_often <- function() for (i in 1:300) {
  fail()
  if (i %% 20 == 0) gc()
}
if (file.exists("/proc/self/status")) {
  fail_often()
  begin <- memory()
  fail_often()
  cat("grown by", memory() - begin, "kB\n")
  stopifnot(memory() - begin < 20000)
}
