import { createPartialJSON } from "@sluice/core/partial-json";

/*
 * Tool arguments in deltas of 20 characters, and how much it costs to read their `value` meanwhile. Every figure is a
 * ratio of medians of runs that take turns in this process: machines differ, ratios hardly do.
 */

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

function oneString(characters: number): string {
  const word = wordsFrom(2);
  const parts: string[] = [];
  for (let length = 0; length < characters; length += (parts.at(-1)?.length ?? 0) + 1) parts.push(word());
  return JSON.stringify({ text: parts.join(" ") });
}

function deltasOf(text: string): string[] {
  const deltas: string[] = [];
  for (let at = 0; at < text.length; at += 20) deltas.push(text.slice(at, at + 20));
  return deltas;
}

const QUOTE = 0x22;

/** What any reader has to do: look at each character, and keep what came. */
function floor(deltas: readonly string[]): number {
  let seen = 0;
  let text = "";
  for (const delta of deltas) {
    for (let at = 0; at < delta.length; at += 1) if (delta.charCodeAt(at) === QUOTE) seen += 1;
    text += delta;
  }
  return seen + text.length;
}

function parseOnce(deltas: readonly string[]): unknown {
  return JSON.parse(deltas.join(""));
}

/** Reads the value after each so many deltas, and when all have come. */
function reader(readEvery: number): Subject {
  return (deltas) => {
    const document = createPartialJSON();
    let last: unknown;
    for (const [at, delta] of deltas.entries()) {
      document.push(delta);
      if ((at + 1) % readEvery === 0) last = document.value;
    }
    return [last, document.value];
  };
}

const eachDelta = reader(1);
/** What a store does that publishes 20 times a second, at 1,000 deltas a second. */
const each50th = reader(50);
const atTheEnd = reader(Number.POSITIVE_INFINITY);

type Subject = (deltas: readonly string[]) => unknown;

/** The median time of each subject, in milliseconds, over runs in turns; the first few warm up and do not count. */
function mediansOf(subjects: readonly (() => void)[], runs: number, warmUps: number): number[] {
  const times = subjects.map(() => [] as number[]);
  for (let run = 0; run < runs + warmUps; run += 1)
    for (const [at, subject] of subjects.entries()) {
      const startedAt = performance.now();
      subject();
      if (run >= warmUps) times[at]?.push(performance.now() - startedAt);
    }
  return times.map((own) => own.sort((a, b) => a - b)[Math.floor(own.length / 2)] ?? Number.NaN);
}

/** How many times the time 20 times the text takes, against 20 small texts in a row: collecting garbage included. */
function growth(subject: Subject, small: readonly string[], large: readonly string[], runs: number): number {
  const twenty = () => {
    for (let document = 0; document < 20; document += 1) subject(small);
  };
  const [together = 1, one = 0] = mediansOf([twenty, () => subject(large)], runs, 1);
  return (one / together) * 20;
}

const kilobytes = 200;
console.log(`${kilobytes} KB of arguments in deltas of 20 characters\n`);
console.log("                        time over JSON.parse, once   over the floor   for 20 times the text");
for (const [name, make] of Object.entries({ "array of objects": arrayOfObjects, "one string": oneString })) {
  const small = deltasOf(make(kilobytes * 1000));
  const large = deltasOf(make(20 * kilobytes * 1000));
  const readers = { "each delta": eachDelta, "each 50th": each50th, "at the end": atTheEnd };
  const subjects = [floor, parseOnce, ...Object.values(readers)].map((subject) => () => subject(small));
  const [bare = 1, parsed = 1, ...times] = mediansOf(subjects, 30, 5);
  console.log(`${name}: JSON.parse ${parsed.toFixed(2)} ms, the floor ${bare.toFixed(2)} ms`);
  for (const [at, [when, subject]] of Object.entries(readers).entries()) {
    const time = times[at] ?? Number.NaN;
    // a reading copies the open array: 31,000 items at each of 200,000 deltas take their time
    const runs = subject === eachDelta && make === arrayOfObjects ? 1 : 7;
    const columns = [
      (time / parsed).toFixed(1),
      (time / bare).toFixed(1),
      `× ${growth(subject, small, large, runs).toFixed(0)}`,
    ];
    console.log(`  read ${when.padEnd(17)}${columns[0]?.padEnd(29)}${columns[1]?.padEnd(17)}${columns[2]}`);
  }
}
console.log(
  "\nA reading copies the array that is open: read at each delta, a wide one costs the square of its items.",
);
