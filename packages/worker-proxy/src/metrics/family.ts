/** Values of the labels of one series. Each series of a family has the same labels. */
type Labels = Readonly<Record<string, string>>;

/** Series of one name: counters, or the histograms of durations. */
export interface Family {
  /** Adds an amount to a counter, or a value to a histogram. What is no number from 0 up changes nothing. */
  add(labels: Labels, value: unknown): void;
  /** Writes all series in the text format of Prometheus. */
  text(): string;
}

interface Series {
  readonly labels: Labels;
  sum: number;
  count: number;
  /** Numbers of the durations within each bound. */
  readonly within: number[];
}

/** Most series of a family: what is beyond it counts under labels that are all `other`. */
const MOST_SERIES = 1000;
/** Longest value of a label, in characters. */
const MOST_CHARACTERS = 100;

/**
 * Opens the series of one name.
 *
 * @param bounds upper bounds of a histogram's buckets; a counter has none
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/
 */
export function openFamily(name: string, help: string, bounds?: readonly number[]): Family {
  const all = new Map<string, Series>();
  return { add, text };

  function add(labels: Labels, value: unknown): void {
    if (typeof value !== "number" || !Number.isFinite(value) || value < 0) return;
    const series = seriesOf(labels);
    series.sum += value;
    series.count += 1;
    bounds?.forEach((bound, at) => {
      if (value <= bound) series.within[at] = (series.within[at] ?? 0) + 1;
    });
  }

  function seriesOf(labels: Labels): Series {
    const key = JSON.stringify(Object.values(labels));
    const found = all.get(key);
    if (found) return found;
    if (all.size >= MOST_SERIES && Object.values(labels).some((value) => value !== "other"))
      return seriesOf(Object.fromEntries(Object.keys(labels).map((label) => [label, "other"])));
    const series = { labels, sum: 0, count: 0, within: (bounds ?? []).map(() => 0) };
    all.set(key, series);
    return series;
  }

  function text(): string {
    if (all.size === 0) return "";
    const type = bounds ? "histogram" : "counter";
    const lines = [...all.values()].flatMap(bounds ? histogramOf : counterOf);
    return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("\n")}\n`;
  }

  function counterOf({ labels, sum }: Series): string[] {
    return [`${name}${inBraces(labels)} ${sum}`];
  }

  function histogramOf({ labels, sum, count, within }: Series): string[] {
    const bucket = (le: string, number: number) => `${name}_bucket${inBraces({ ...labels, le })} ${number}`;
    return [
      ...(bounds ?? []).map((bound, at) => bucket(`${bound}`, within[at] ?? 0)),
      bucket("+Inf", count),
      `${name}_sum${inBraces(labels)} ${sum}`,
      `${name}_count${inBraces(labels)} ${count}`,
    ];
  }
}

function inBraces(labels: Labels): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`);
  return `{${pairs.join(",")}}`;
}

function escaped(value: string): string {
  const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", '"': '\\"', "\n": "\\n" };
  return value.slice(0, MOST_CHARACTERS).replace(/[\\"\n]/g, (letter) => escapes[letter] ?? "");
}
