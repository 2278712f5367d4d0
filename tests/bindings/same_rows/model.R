# Rows through the R package: cut in two at a place of its own. The same words and output as model.c.
library(mixstream)
words <- commandArgs(TRUE)
columns <- as.integer(words[2])
values <- matrix(readBin(words[1], "double", file.size(words[1]) / 8), ncol = columns, byrow = TRUE)
rows <- data.frame(u = values[, 1], v = values[, 2], y = values[, 3], id = seq_len(nrow(values)) - 1)
first <- seq_len(12345)
model <- if (words[3] != "plain") {
  one <- mixstream(y ~ u + v, rows[first, ], k = 3, polish = "off", modes = "independent", noise = "shared", row = id,
                   source = as.numeric(words[3]))
  update(one, rows[-first, ], row = id)
} else {
  one <- mixstream(y ~ u + v, rows[first, ], k = 3, polish = "off", modes = "independent", noise = "shared")
  update(one, rows[-first, ])
}
cross <- unlist(lapply(1:3, function(p) mixstream_moments(model, p)$cross))
cat(sprintf('{"cross": [%s], "report": %s}\n', paste(sprintf("%.17g", cross), collapse = ", "), model$json))
writeBin(mixstream_bytes(model), words[4])
if (length(words) == 6) {  # two states of others, merged
  read <- function(path) mixstream_from_bytes(readBin(path, "raw", file.size(path)))
  both <- mixstream_merge(read(words[5]), read(words[6]))
  writeBin(mixstream_bytes(both), paste0(words[4], ".merged"))
}
