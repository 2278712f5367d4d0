// Grafana's own types say what a dashboard is; the compiler of TypeScript checks ours against them. dashboard.py writes a
// file that calls these functions with what stands in the dashboard. There, values of enumerations are plain texts and numbers.
import type { Dashboard, GraphFieldConfig, OptionsWithLegend, OptionsWithTooltip } from "./schema";

type Plain<T> = T extends string
  ? `${T}`
  : T extends number
    ? T
    : T extends (infer Entry)[]
      ? Plain<Entry>[]
      : T extends object
        ? { [Key in keyof T]: Plain<T[Key]> }
        : T;

export declare function dashboard(whole: Plain<Dashboard>): void;
export declare function timeseries(options: Plain<OptionsWithLegend & OptionsWithTooltip>, custom: Plain<GraphFieldConfig>): void;
