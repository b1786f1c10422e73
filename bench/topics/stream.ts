import { type Figure, short } from "../harness.ts";
import { openPage } from "../page.ts";
import { peers } from "../peers/streams.js";
import { FRAMES, ratiosFor, type Size, sizes } from "../stream-ratios.ts";
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
    node[size] = await ratiosFor(subjects, size);
    chromium[size] = await page.run(size);
  }
  await page.close();
  const frames = FRAMES.toLocaleString("en");
  const markdown = [
    `Time over the floor's for a response in memory: ${frames} frames, a fifth of them for 7 bytes. The floor is a loop by hand that parses each frame and keeps nothing; Sluice folds the message, too.`,
    formatTable("Node, reads of", node),
    formatTable("Chromium, reads of", chromium),
  ].join("\n\n");
  // a response that is being written comes in reads of one frame
  const size = "one frame";
  return { markdown, summary: [toSummary("Node", size, node), toSummary("Chromium", size, chromium)] };
}

function toSummary(platform: string, size: Size, { [size]: column = {} }: Columns): SummaryRow {
  const texts = Object.entries(column).map(([name, { median }]) => [name, short(median)]);
  return {
    measure: `time of a stream in reads of ${size}, over a loop by hand, ${platform}`,
    texts: Object.fromEntries(texts),
  };
}
