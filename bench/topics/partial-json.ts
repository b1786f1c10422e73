import { deepStrictEqual } from "node:assert";
import { createPartialJSON } from "@sluice/core/partial-json";
import { type Figure, inTurns, measureMs, short, toFigure, toRatio } from "../harness.ts";
import { createInPlaceJSON } from "../in-place-json.ts";
import { incremental, type Reader, restarting } from "../peers/partial-json.js";
import { formatTable, type Report } from "../topic.ts";

export const title = "Partial JSON";

const own: Record<string, Reader> = {
  "in place, by hand (the floor)"(deltas) {
    const document = createInPlaceJSON();
    let value: unknown;
    for (const delta of deltas) {
      document.push(delta);
      value = document.root["value"];
    }
    return value;
  },
  Sluice(deltas) {
    const document = createPartialJSON();
    let value: unknown;
    for (const delta of deltas) {
      document.push(delta);
      value = document.value;
    }
    return value;
  },
  "JSON.parse, once": (deltas) => JSON.parse(deltas.join("")),
};
const [floor = ""] = Object.keys(own);
/** Parsers that start again after each delta take time that grows with the square of the length: only for short documents. */
const SHORT = 40_000;
const LONG = 200_000;

export async function measure(): Promise<Report> {
  const columns: Record<string, Record<string, Figure | string>> = {};
  for (const [name, make] of Object.entries({ array: arrayOfObjects, text: oneText })) {
    columns[`${name}, 40 KB`] = computeRatios(
      await measureTimes({ ...own, ...incremental, ...restarting }, make(SHORT)),
    );
    const times = await measureTimes({ ...own, ...incremental }, make(LONG));
    columns[`${name}, 200 KB`] = computeRatios(times);
    const { Sluice: large = [] } = await measureTimes({ Sluice: own["Sluice"] as Reader }, make(20 * LONG));
    const growth = toFigure(large).median / toFigure(times["Sluice"] ?? []).median;
    columns[`${name}, 4 MB over 200 KB`] = { Sluice: `× ${growth.toFixed(0)}` };
  }
  const { "array, 40 KB": array = {} } = columns;
  const texts = Object.entries(array).map(([name, figure]) => [name, short((figure as Figure).median)]);
  return {
    markdown: `Each parser gets tool arguments in deltas of 20 characters, and returns the value so far after each delta. The figures are its time, divided by the time of a parser that changes one value in place. \`array\` is a list of small objects, \`text\` one long string. Sluice returns a new value each time; @streamparser/json and jsonriver change the value that they returned before.\n\n${formatTable("Node", columns)}`,
    summary: [
      {
        measure: "time of tool arguments of 40 KB, over a parser in place, Node",
        texts: Object.fromEntries(texts),
      },
    ],
  };
}

function computeRatios(times: Record<string, number[]>): Record<string, Figure> {
  const bare = times[floor] ?? [];
  return Object.fromEntries(Object.entries(times).map(([name, values]) => [name, toRatio(values, bare)]));
}

function measureTimes(readers: Record<string, Reader>, text: string): Promise<Record<string, number[]>> {
  const deltas = splitDeltas(text);
  const whole = JSON.parse(text);
  return inTurns(
    Object.keys(readers),
    async (name) => {
      let value: unknown;
      const ms = await measureMs(async () => {
        value = await readers[name]?.(deltas);
      });
      deepStrictEqual(value, whole, `${name} has read a wrong value`);
      return ms;
    },
    { rounds: 15, warmUps: 3, budgetMs: 4000 },
  );
}

const words = ["stream", 'quoted "word"', "café", "東京", "🚀", "line\n", "value", "of", "the", "model"];

/** Words in an order that is the same in every run. */
function wordsFrom(seed: number): () => string {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return words[Math.floor((state / 2 ** 32) * words.length)] as string;
  };
}

function arrayOfObjects(characters: number): string {
  const word = wordsFrom(1);
  const items: string[] = [];
  for (let length = 0; length < characters; length += items.at(-1)?.length ?? 0)
    items.push(
      JSON.stringify({
        id: items.length,
        title: `${word()} ${word()} ${word()}`,
        tags: [word(), word()],
        done: items.length % 3 === 0,
        score: items.length * 1.25,
        owner: { name: word(), note: null },
      }),
    );
  return `{"items":[${items.join(",")}]}`;
}

function oneText(characters: number): string {
  const word = wordsFrom(2);
  const parts: string[] = [];
  for (let length = 0; length < characters; length += (parts.at(-1)?.length ?? 0) + 1) parts.push(word());
  return JSON.stringify({ text: parts.join(" ") });
}

function splitDeltas(text: string): string[] {
  const deltas: string[] = [];
  for (let at = 0; at < text.length; at += 20) deltas.push(text.slice(at, at + 20));
  return deltas;
}
