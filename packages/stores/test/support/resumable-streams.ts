import { type ChatDelta, type ClientOptions, streamChat } from "@sluice/core";
import { expect } from "vitest";
import { createRandom, DONE, event, question, stoppedClock } from "../../../core/test/support/gateway.js";
import { addIds, type Cut, type Ending, serveStored } from "../../../core/test/support/stored-streams.js";

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
/** Creates a short frame, because the tests lose the connection at each of its bytes. */
export const createFrame = (delta: object, finish_reason: string | null = null, rest: object = {}) =>
  event({ choices: [{ index: 0, delta, finish_reason }], ...rest });
const createCallFrame = (fields: object) => createFrame({ tool_calls: [{ index: 0, ...fields }] });
/** The events of one response with reasoning, text and a tool call. */
export const storedEvents = [
  createFrame({ reasoning_content: "Hm, \u{1f914}" }),
  createFrame({ content: "Gr\u00fc" }),
  createFrame({ content: "\u00df Gott" }),
  createCallFrame({ id: "c1", type: "function", function: { name: "weather", arguments: "" } }),
  createCallFrame({ function: { arguments: '{"city":' } }),
  createCallFrame({ function: { arguments: '"Wien"}' } }),
  createFrame({}, "tool_calls", { usage }),
  DONE,
];
export const countBytes = (events: readonly string[]) => new TextEncoder().encode(addIds(events)).length;
/** Returns the cut after `count` complete events. */
export const cutAfter = (count: number, ending: Ending = "end"): Cut => ({
  bytes: countBytes(storedEvents.slice(0, count)),
  ending,
});
export async function readAll(stream: AsyncIterable<ChatDelta>): Promise<ChatDelta[]> {
  const deltas: ChatDelta[] = [];
  for await (const delta of stream) deltas.push(delta);
  return deltas;
}

export function streamAll(
  cuts: Parameters<typeof serveStored>[1],
  options: Partial<ClientOptions> = {},
  events = storedEvents,
) {
  const proxy = serveStored(events, cuts, { retry: { limit: 0 }, ...options });
  return { ...proxy, stream: streamChat(proxy.client, question) };
}

export const readWhole = async () => {
  const { stream } = streamAll([]);
  const deltas = await readAll(stream);
  const { timing: _, ...turn } = await stream.result();
  return { deltas, turn };
};

/** Loses the connection twice: at each `step`th byte, and then at a random byte. */
export async function expectCompleteAfterCuts(step: number) {
  const expected = await readWhole();
  const random = createRandom(11);
  const endings: Ending[] = ["end", "drop"];
  for (let bytes = 0; bytes <= countBytes(storedEvents); bytes += step) {
    const secondCut = Math.floor(random() * countBytes(storedEvents));
    const cuts = [bytes, secondCut].map((position, nth) => ({
      bytes: position,
      ending: endings[(bytes + nth) % 2] as Ending,
    }));
    const clock = stoppedClock();
    const { stream, attempts } = streamAll(cuts, { clock });
    expect(await clock.advanceUntil(readAll(stream), 1000)).toEqual(expected.deltas);
    const { timing: _, ...turn } = await stream.result();
    expect(turn).toEqual(expected.turn);
    expect(attempts().filter((method) => method === "POST")).toEqual(["POST"]);
  }
}
