import { type Figure, short } from "../harness.ts";
import { openPage } from "../page.ts";
import { peers } from "../peers/streams.js";
import { FRAMES, measureRatios, type Size, sizes } from "../stream-ratios.ts";
import { own } from "../subjects.ts";
import { formatTable, type Report, type SummaryRow } from "../topic.ts";

export const title = "From bytes to pieces";

type Columns = Record<string, Record<string, Figure>>;

export async function measure(): Promise<Report> {
  const subjects = { ...own, ...peers };
  const node: Columns = {};
  const chromium: Columns = {};
  const page = await openPage("pages/stream.ts");
  for (const size of Object.keys(sizes) as Size[]) {
    node[size] = await measureRatios(subjects, size);
    chromium[size] = await page.run(size);
  }
  await page.close();
  const frames = FRAMES.toLocaleString("en");
  const markdown = [
    `Each client reads a response of ${frames} frames from memory; with reads of 7 bytes, a fifth of them. The figures are its time, divided by the time of the floor: a hand-written loop that parses each frame and stores nothing. Sluice also builds the message.`,
    formatTable("Node, reads of", node),
    formatTable("Chromium, reads of", chromium),
  ].join("\n\n");
  // while a model writes, each read has one frame
  const size = "one frame";
  return {
    markdown,
    summary: [createSummaryRow("Node", size, node), createSummaryRow("Chromium", size, chromium)],
  };
}

function createSummaryRow(platform: string, size: Size, { [size]: column = {} }: Columns): SummaryRow {
  const texts = Object.entries(column).map(([name, { median }]) => [name, short(median)]);
  return {
    measure: `time of a stream in reads of ${size}, over a loop by hand, ${platform}`,
    texts: Object.fromEntries(texts),
  };
}
