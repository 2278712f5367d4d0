# Public sets with ordered rows or known regimes as CSV files: columns, the response, and the regime where it is known (else -1).
# Rscript regimes.R FOLDER. A set that cannot be had is left out.
arguments <- commandArgs(TRUE)
folder <- arguments[1]
source(file.path(dirname(sub("--file=", "", grep("^--file=", commandArgs(), value = TRUE))), "fetched.R"))
dir.create(folder, showWarnings = FALSE, recursive = TRUE)

seats <- as.data.frame(Seatbelts)
sets <- list(beaver2 = data.frame(temperature = beaver2$temp, regime = beaver2$activ),
             Nile = data.frame(flow = as.numeric(Nile), regime = as.numeric(1871:1970 > 1898)),
             faithful = data.frame(eruption = faithful$eruptions, regime = -1),
             Seatbelts = data.frame(kms = seats$kms / 1000, drivers = seats$drivers, regime = -1))
if (requireNamespace("mixtools", quietly = TRUE)) {
  data(CO2data, NOdata, tonedata, package = "mixtools")
  sets$CO2data <- data.frame(GNP = CO2data$GNP, CO2 = CO2data$CO2, regime = -1)
  sets$NOdata <- data.frame(NO = NOdata$NO, equivalence = NOdata$Equivalence, regime = as.numeric(NOdata$Equivalence > 0.9))
  sets$tonedata <- data.frame(stretch = tonedata$stretchratio, tuned = tonedata$tuned, regime = -1)
}
traffic <- fetched("MSwM", "traffic")
if (!is.null(traffic)) sets$traffic <- data.frame(Temp = traffic$Temp, NDead = traffic$NDead, regime = -1)
energy <- fetched("MSwM", "energy")
if (!is.null(energy)) sets$energy <- data.frame(demand = energy$Demand, price = energy$Price, regime = -1)
demand <- fetched("tsibbledata", "vic_elec")
if (!is.null(demand)) {
  at <- as.POSIXlt(demand$Time)
  noon <- at$hour == 15 & at$min == 0
  sets$vic_elec <- data.frame(temperature = demand$Temperature[noon], demand = demand$Demand[noon] / 1000, regime = -1)
}
for (name in names(sets)) write.csv(sets[[name]], file.path(folder, paste0(name, ".csv")), row.names = FALSE, quote = FALSE)
