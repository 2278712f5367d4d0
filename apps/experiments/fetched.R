# A data set of a CRAN package that is not installed, fetched by name; NULL where it cannot be had.
fetched <- function(package, name) {
  work <- tempfile(); dir.create(work)
  if (is.na(getOption("repos")["CRAN"]) || getOption("repos")["CRAN"] == "@CRAN@") chooseCRANmirror(ind = 1)
  got <- tryCatch(download.packages(package, destdir = work, type = "source", quiet = TRUE), error = function(e) NULL)
  if (is.null(got) || nrow(got) == 0) return(NULL)
  untar(got[1, 2], exdir = work)
  file <- list.files(file.path(work, package, "data"), paste0("^", name, "[.]"), full.names = TRUE)[1]
  if (grepl("[.]csv", file)) return(read.table(file, header = TRUE, sep = if (grepl(";", readLines(file, 1))) ";" else ","))
  content <- new.env()
  load(file, envir = content)
  unclass(content[[name]])
}
