# A model is a value: update() gives another one and leaves the old one as it was. What it has seen is in `bytes`,
# which save(), saveRDS() and other processes keep, and which the tool reads; the library's own memory lives
# as long as a call.

mixstream <- function(formula, data, k = 2, ..., subset, weights, na.action, contrasts = NULL, time = NULL, sensor = NULL,
                      row = NULL) {
  call <- match.call()
  frame <- frame_of(call, parent.frame())
  terms <- attr(frame, "terms")
  x <- design_of(frame, terms, contrasts)
  if (!ncol(x)) stop("the formula has no terms: write what the response depends on, such as power ~ flow", call. = FALSE)
  options <- c(list(k = k), list(...))
  options$features <- paste(spelled_features(colnames(x)), collapse = ",")
  options$response <- response_label(terms)
  model <- .Call(C_new_model, ncol(x), json_of(options))
  absorb(model, x, frame)
  object <- structure(list(call = call, terms = terms, xlevels = stats::.getXlevels(terms, frame),
                           contrasts = attr(x, "contrasts"), coefficient_names = colnames(x)), class = "mixstream")
  seen(object, model)
}

# New rows: the same formula, other data. A new formula or option makes a new model of those rows instead.
update.mixstream <- function(object, data, ..., weights = NULL, time = NULL, sensor = NULL, row = NULL) {
  if (missing(data)) stop("update() takes the new rows as `data`; for another formula or k call mixstream() again", call. = FALSE)
  call <- match.call()
  call$formula <- formula(object)
  frame <- frame_of(call, parent.frame(), object)
  model <- loaded(object)
  absorb(model, design_of(frame, object$terms, object$contrasts), frame)
  seen(object, model)
}

# Two models of the same formula, of different rows: one of both.
mixstream_merge <- function(x, y) {
  if (!inherits(x, "mixstream") || !inherits(y, "mixstream"))
    stop("mixstream_merge() takes two models made by mixstream()", call. = FALSE)
  model <- loaded(x)
  .Call(C_merge, model, loaded(y))
  seen(x, model)
}

# What the model has seen as bytes, as the tool's --save writes them; and a model made of such bytes.
mixstream_bytes <- function(object) object$bytes

mixstream_from_bytes <- function(bytes) {
  if (!is.raw(bytes))
    stop("the bytes of a state are a raw vector, such as readBin(\"a.mix\", \"raw\", file.size(\"a.mix\"))", call. = FALSE)
  object <- structure(list(call = match.call(), bytes = bytes), class = "mixstream")
  object <- seen(object, loaded(object))
  formula <- formula_of_report(object$report)
  object$terms <- terms(formula)
  object$coefficient_names <- object$report$features
  object
}

# ---- inside ----

frame_of <- function(call, where, object = NULL) {
  kept <- match(c("formula", "data", "subset", "weights", "na.action", "time", "sensor", "row"), names(call), 0L)
  call <- call[c(1L, kept)]
  call[[1L]] <- quote(stats::model.frame)
  call$drop.unused.levels <- TRUE
  if (!is.null(object$xlevels)) call$xlev <- object$xlevels
  frame <- eval(call, where)
  if (is.null(model.response(frame))) stop("the formula has no response: write response ~ terms", call. = FALSE)
  if (!is.numeric(model.response(frame)) || NCOL(model.response(frame)) != 1L)
    stop(sprintf("the response %s is %s: it must be one column of numbers", names(frame)[1L], class(model.response(frame))[1L]),
         call. = FALSE)
  frame
}

response_label <- function(terms) {
  label <- deparse1(attr(terms, "variables")[[2L]])
  gsub("`", "", label, fixed = TRUE)
}

absorb <- function(model, x, frame) {
  y <- as.double(model.response(frame))
  check_numbers(x, y)
  extra <- function(name) {
    values <- frame[[paste0("(", name, ")")]]
    if (is.null(values)) return(NULL)
    if (!is.numeric(values)) stop(sprintf("%s takes numbers, not %s", name, class(values)[1L]), call. = FALSE)
    as.double(values)
  }
  .Call(C_absorb, model, x, y, extra("weights"), extra("time"), extra("sensor"), extra("row"))
}

loaded <- function(object) .Call(C_load_model, object$bytes)

# The object with what the model holds now, and its fit.
seen <- function(object, model) {
  object$bytes <- .Call(C_bytes, model)
  fit <- .Call(C_fit, model)
  object$report <- fromJSON(fit[[1L]], simplifyVector = TRUE, simplifyDataFrame = FALSE, simplifyMatrix = TRUE)
  object$json <- fit[[1L]]
  object$table <- fit[[2L]]
  if (!object$report$status %in% c("ok", "approximate"))
    warning(sprintf("%s: %s", object$report$status, object$report$words), call. = FALSE)
  object
}

json_of <- function(options) {
  unnamed <- !nzchar(names(options))
  if (any(unnamed)) stop("options have names, such as modes = \"persistent\"", call. = FALSE)
  as.character(toJSON(options[!vapply(options, is.null, NA)], auto_unbox = TRUE, digits = NA))
}

# A formula that a state's own words give: for states that were made elsewhere.
formula_of_report <- function(report) {
  names <- report$features
  has_constant <- "1" %in% names
  others <- setdiff(names, "1")
  words <- ifelse(grepl("[*^]", others), paste0("I(", others, ")"), others)
  right <- paste(c(if (has_constant) "1" else "0", words), collapse = " + ")
  stats::as.formula(paste0("`", report$response, "` ~ ", right), env = globalenv())
}
