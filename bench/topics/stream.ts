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
    `Time divided by the floor's time, for a response in memory of ${frames} frames; reads of 7 bytes get a fifth of the frames. The floor is a hand-written loop that parses each frame and keeps nothing. Sluice also folds the message.`,
    formatTable("Node, reads of", node),
    formatTable("Chromium, reads of", chromium),
  ].join("\n\n");
  // a response that is being written comes in reads of one frame
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
