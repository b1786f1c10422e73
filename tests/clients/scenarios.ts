import { expect } from "vitest";
import type { Access, Ask, Client, OpenClient } from "./client.ts";
import type { Gateway } from "./gateway.ts";
import type { Place } from "./places.ts";
import { depth, dot, prompt, riverSchema, schemaInWords, width } from "./rivers.ts";
import { wordsOf } from "./words.ts";

/*
 * Everything that people do with a client, once for all clients. A scenario passes if the user of the client sees what was
 * asked for, or the error that was due.
 */

export interface Scenario {
  /** The methods without which a client does not have it. */
  readonly needs: readonly (keyof Client)[];
  readonly run: (world: World) => Promise<void>;
  /** The reason why the specification denies it, if it does. */
  readonly denial?: Denial;
  /** True where a proxy that adapts requests can change the outcome. */
  readonly adapts?: true;
}

interface Denial {
  /** The reason, as the specification has it. */
  readonly spec: string;
  /** The way out that the message names, as the user sees it. */
  readonly wayOut: RegExp;
  /** The places that deny it. At the others it is adapted. */
  readonly at: readonly Place[];
}

/** A client, and the gateway that it talks to. */
export interface World {
  readonly client: Required<Client>;
  readonly gateway: Gateway;
  readonly open: OpenClient;
  readonly access: Access;
}

const alpha = "alpha-v4.1-flash";
const gamma = "gamma-chat-1-6-251015";
const delta = "delta-5.3";

const ask = (text = prompt, more: Partial<Ask> = {}): Ask => ({
  model: alpha,
  turns: [{ role: "user", text }],
  ...more,
});

/** The body of the last request that reached the gateway. */
const sent = ({ gateway }: World) => gateway.requests.at(-1)?.body as Record<string, unknown>;
const messagesSent = (world: World) => sent(world)["messages"] as { role: string; content: unknown }[];

const answers = (text: string) => expect(text.length).toBeGreaterThan(20);
const fits = (object: unknown) => expect(riverSchema.safeParse(object).error).toBeUndefined();

async function wholeAndStreamed({ client }: World, model: string): Promise<void> {
  answers((await client.answer(ask(prompt, { model }))).text);
  answers((await client.stream(ask(prompt, { model }))).text);
}

/** Returns the words of the error that is due. */
async function failureOf(done: Promise<unknown>): Promise<string> {
  return done.then(() => Promise.reject(new Error("expected an error, and there was none")), wordsOf);
}

const directly = ["emulator"] as const;
const byProxy = ["proxy"] as const;
const unlessAdapted = ["emulator", "proxy"] as const;

const jsonSchema = {
  spec: "`response_format` is `text` or `json_object`",
  wayOut: /schema.*(in|into) the messages/s,
  at: unlessAdapted,
};
const stopList = { spec: "`stop` is a text, never a list", wayOut: /stop must be one text/ };
const noFormat = {
  spec: "`response_format` is a field of `alpha-v4.1-flash` alone",
  wayOut: /response_format.*schema.*(in|into) the messages/s,
  at: unlessAdapted,
};

export const scenarios = {
  "a whole answer": {
    needs: ["answer"],
    run: async ({ client }) => answers((await client.answer(ask())).text),
  },
  "a streamed answer": {
    needs: ["stream"],
    run: async ({ client }) => {
      const pieces: string[] = [];
      const { text } = await client.stream(ask(prompt, { onPiece: (piece) => pieces.push(piece) }));
      answers(text);
      expect(pieces.length).toBeGreaterThan(3);
      expect(pieces.join("")).toBe(text);
    },
  },
  "gamma-chat-1-6-251015": { needs: ["answer", "stream"], run: (world) => wholeAndStreamed(world, gamma) },
  "delta-5.3": { needs: ["answer", "stream"], run: (world) => wholeAndStreamed(world, delta) },
  "the tokens of an answer": {
    needs: ["answer"],
    run: async ({ client }) => expect((await client.answer(ask())).tokens).toBeGreaterThan(0),
  },
  "the tokens of a stream": {
    needs: ["stream"],
    run: async ({ client }) => expect((await client.stream(ask())).tokens).toBeGreaterThan(0),
  },
  "the thinking": {
    needs: ["answer"],
    run: async ({ client }) => expect((await client.answer(ask())).thinking?.length).toBeGreaterThan(3),
  },
  "a system prompt": {
    needs: ["answer"],
    run: async (world) => {
      await world.client.answer(ask(prompt, { system: "You know rivers." }));
      const [first] = messagesSent(world);
      expect(first?.role).toBe("system");
      expect(JSON.stringify(first?.content)).toContain("You know rivers.");
    },
  },
  "several turns": {
    needs: ["answer"],
    run: async (world) => {
      const turns = [
        { role: "user" as const, text: "Name a river" },
        { role: "assistant" as const, text: "The Elbe" },
        { role: "user" as const, text: "And its source?" },
      ];
      answers((await world.client.answer({ model: alpha, turns })).text);
      const messages = messagesSent(world).filter(({ role }) => role !== "system");
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
      expect(JSON.stringify(messages[1])).toContain("The Elbe");
    },
  },
  "a temperature": {
    needs: ["answer"],
    run: async (world) => {
      await world.client.answer(ask(prompt, { temperature: 0.3 }));
      expect(sent(world)["temperature"]).toBe(0.3);
    },
  },
  "a limit of tokens": {
    needs: ["answer"],
    run: async (world) => {
      await world.client.answer(ask(prompt, { maxTokens: 300 }));
      expect(sent(world)["max_tokens"]).toBe(300);
    },
  },
  "one stop text": {
    needs: ["answer"],
    run: async (world) => {
      await world.client.answer(ask(prompt, { stop: ["###"] }));
      expect([sent(world)["stop"]].flat()).toEqual(["###"]);
    },
  },
  "two stop texts": {
    needs: ["answer"],
    run: async (world) => {
      await world.client.answer(ask(prompt, { stop: ["###", "END"] }));
      expect(sent(world)["stop"]).toEqual(["###", "END"]);
    },
  },
  "one stop text for gamma-chat-1-6-251015": {
    needs: ["answer"],
    run: async (world) => {
      await world.client.answer(ask(prompt, { model: gamma, stop: ["###"] }));
      expect(sent(world)["stop"]).toBe("###");
    },
    denial: { ...stopList, at: directly },
  },
  "two stop texts for gamma-chat-1-6-251015": {
    needs: ["answer"],
    run: async (world) => {
      await world.client.answer(ask(prompt, { model: gamma, stop: ["###", "END"] }));
      expect(sent(world)["stop"]).toEqual(["###", "END"]);
    },
    denial: { ...stopList, at: unlessAdapted },
  },
  "a call of a tool": {
    needs: ["callTool"],
    run: async ({ client }) =>
      expect(await client.callTool(ask("Use get_depth for the Elbe"), depth)).toEqual({
        name: "get_depth",
        input: { river: expect.any(String) },
      }),
  },
  "a tool that the client runs": {
    needs: ["runTools"],
    run: async ({ client }) =>
      expect((await client.runTools(ask("Use get_depth for the Elbe"), [depth])).text).toContain("7 metres"),
  },
  "a tool in a stream": {
    needs: ["streamTools"],
    run: async ({ client }) =>
      expect((await client.streamTools(ask("Use get_depth for the Elbe"), [depth])).text).toContain(
        "7 metres",
      ),
  },
  "two tools at once": {
    needs: ["runTools"],
    run: async (world) => {
      await world.client.runTools(ask("Use both get_depth and get_width for the Elbe"), [depth, width]);
      const results = messagesSent(world).filter(({ role }) => role === "tool");
      expect(JSON.stringify(results)).toMatch(/7 metres.*300 metres/);
    },
  },
  "tools of delta-5.3": {
    needs: ["runTools"],
    run: async ({ client }) =>
      expect(
        (await client.runTools(ask("Use get_depth for the Elbe", { model: delta }), [depth])).text,
      ).toContain("7 metres"),
  },
  "an answer by a schema": {
    needs: ["bySchema"],
    run: async ({ client }) => fits(await client.bySchema(ask())),
    denial: jsonSchema,
    adapts: true,
  },
  "an answer of gamma-chat-1-6-251015 by a schema": {
    needs: ["bySchema"],
    run: async ({ client }) => fits(await client.bySchema(ask(prompt, { model: gamma }))),
    denial: noFormat,
    adapts: true,
  },
  "an answer of delta-5.3 by a schema": {
    needs: ["bySchema"],
    run: async ({ client }) => fits(await client.bySchema(ask(prompt, { model: delta }))),
    denial: noFormat,
    adapts: true,
  },
  "an answer by the schema of a tool": {
    needs: ["byTool"],
    run: async ({ client }) => fits(await client.byTool(ask())),
  },
  "an answer in JSON mode": {
    needs: ["byJSON"],
    run: async ({ client }) => fits(await client.byJSON(ask(prompt, { system: schemaInWords }))),
    adapts: true,
  },
  "an answer of delta-5.3 in JSON mode": {
    needs: ["byJSON"],
    run: async ({ client }) =>
      fits(await client.byJSON(ask(prompt, { system: schemaInWords, model: delta }))),
    // the emulator ignores it: the messages ask for JSON too
    denial: { ...noFormat, at: byProxy },
    adapts: true,
  },
  "an answer by `functions`": {
    needs: ["byFunctions"],
    run: async ({ client }) => fits(await client.byFunctions(ask())),
    denial: {
      spec: "there are `tools`, and no `functions`",
      wayOut: /function.*use `tools`/s,
      at: unlessAdapted,
    },
  },
  "an image in the question": {
    needs: ["answer"],
    run: async (world) => {
      answers((await world.client.answer(ask(prompt, { image: dot }))).text);
      expect(JSON.stringify(messagesSent(world).at(-1))).toContain(`"image_url":{"url":"${dot}"`);
    },
  },
  "an image drawn": {
    needs: ["draw"],
    run: async ({ client }) => {
      const [image] = await client.draw("gamma-image-5-0-260128", "A lock on a canal");
      expect(image?.length).toBeGreaterThan(20);
    },
  },
  "two images drawn by `n`": {
    needs: ["draw"],
    run: async ({ client }) =>
      expect(await client.draw("gamma-image-5-0-260128", "A lock on a canal", 2)).toHaveLength(2),
    denial: {
      spec: "several images are asked for with `sequential_image_generation`, not `n`",
      wayOut: /\bn\b.*sequential_image_generation/s,
      at: unlessAdapted,
    },
  },
  "a `developer` message": {
    needs: ["asDeveloper"],
    run: async (world) => {
      answers((await world.client.asDeveloper(ask(prompt, { system: "You know rivers." }))).text);
      expect(messagesSent(world)[0]?.role).toBe("system");
    },
    denial: {
      spec: "roles are `system`, `user`, `assistant` and `tool`",
      wayOut: /role expected .*system/s,
      at: directly,
    },
  },
  "several answers by `n`": {
    needs: ["several"],
    run: async ({ client }) => expect(await client.several(ask(), 2)).toHaveLength(2),
    denial: { spec: "there is no `n`", wayOut: /\bn\b.*(several requests|one result)/s, at: unlessAdapted },
  },
  "the endpoint `/responses`": {
    needs: ["respond"],
    run: async ({ client }) => answers((await client.respond(ask())).text),
    denial: {
      spec: "there is no such endpoint",
      wayOut: /by chat completions|serves \/v1\/chat\/completions/,
      at: unlessAdapted,
    },
  },
  "the list of models": {
    needs: ["listModels"],
    run: async ({ client }) => expect(await client.listModels()).not.toHaveLength(0),
    denial: {
      spec: "there is no such endpoint",
      wayOut: /no list of models|serves \/v1\/chat\/completions/,
      at: unlessAdapted,
    },
  },
  "a wrong key": {
    needs: ["answer"],
    run: async ({ open, access }) => {
      const { answer } = open({ ...access, apiKey: "sk-wrong" });
      expect(await failureOf(answer(ask()))).toMatch(/401|key|authentication/i);
    },
  },
  "a wrong value": {
    needs: ["answer"],
    run: async ({ client }) =>
      expect(await failureOf(client.answer(ask(prompt, { temperature: 3 })))).toMatch(/temperature.*0 to 2/s),
  },
  "too many requests for a moment": {
    needs: ["answer"],
    run: async ({ client, gateway }) => {
      const before = gateway.requests.length;
      // a text of its own: the emulator counts refusals by body
      answers((await client.answer(ask(`[[429:1]] ${prompt}, ${before}`))).text);
      expect(gateway.requests.slice(before).map(({ status }) => status)).toEqual([429, 200]);
    },
  },
  "a stream whose connection breaks": {
    needs: ["stream"],
    run: async ({ client, gateway }) => {
      await failureOf(client.stream(ask(`[[drop]] ${prompt}, ${gateway.requests.length}`)));
    },
  },
  "a stream that ends early": {
    needs: ["stream"],
    run: async ({ client, gateway }) => {
      await failureOf(client.stream(ask(`[[truncate]] ${prompt}, ${gateway.requests.length}`)));
    },
    adapts: true,
  },
  "an error in a stream": {
    needs: ["stream"],
    run: async ({ client, gateway }) => {
      await failureOf(client.stream(ask(`[[error-frame]] ${prompt}, ${gateway.requests.length}`)));
    },
  },
  "a stop by the user": {
    needs: ["stream"],
    run: async ({ client, gateway }) => {
      const stopping = new AbortController();
      const onPiece = () => stopping.abort();
      const stopped = client.stream(ask(`[[stall]] ${prompt}`, { signal: stopping.signal, onPiece }));
      await stopped.catch(() => undefined);
      await expect.poll(() => gateway.requests.at(-1)?.aborted).toBe(true);
    },
  },
} as const satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof scenarios;
