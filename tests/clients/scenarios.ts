import { expect } from "vitest";
import type { Access, ChatCall, Client, OpenClient } from "./client.ts";
import type { Endpoint } from "./endpoints.ts";
import type { Gateway } from "./gateway.ts";
import { joinMessages } from "./join-messages.ts";
import { depth, dot, prompt, riverSchema, schemaInWords, width } from "./rivers.ts";

/*
 * Everything that people do with a client, shared by all clients. A scenario passes if the client returns the requested
 * result, or the expected error.
 */

export interface Scenario {
  /** The methods without which a client does not have it. */
  readonly needs: readonly (keyof Client)[];
  readonly run: (fixture: Fixture) => Promise<void>;
  /** The reason why the specification denies it, if it does. */
  readonly denial?: Denial;
  /** True where a proxy that adapts requests can change the outcome. */
  readonly adapts?: true;
}

interface Denial {
  /** The reason, as the specification has it. */
  readonly spec: string;
  /** The fix that the message names, as the user sees it. */
  readonly advice: RegExp;
  /** The endpoints that deny it. The others adapt it. */
  readonly at: readonly Endpoint[];
}

/** A client, and the gateway that it talks to. */
export interface Fixture {
  readonly client: Required<Client>;
  readonly gateway: Gateway;
  readonly open: OpenClient;
  readonly access: Access;
}

const alpha = "alpha-v4.1-flash";
const gamma = "gamma-chat-1-6-251015";
const delta = "delta-5.3";

const call = (text = prompt, more: Partial<ChatCall> = {}): ChatCall => ({
  model: alpha,
  turns: [{ role: "user", text }],
  ...more,
});

/** The body of the last request that reached the gateway. */
const sent = ({ gateway }: Fixture) => gateway.requests.at(-1)?.body as Record<string, unknown>;
const messagesSent = (fixture: Fixture) => sent(fixture)["messages"] as { role: string; content: unknown }[];

const expectText = (text: string) => expect(text.length).toBeGreaterThan(20);
const fits = (object: unknown) => expect(riverSchema.safeParse(object).error).toBeUndefined();

async function wholeAndStreamed({ client }: Fixture, model: string): Promise<void> {
  expectText((await client.complete(call(prompt, { model }))).text);
  expectText((await client.stream(call(prompt, { model }))).text);
}

/** Returns the words of the error that is due. */
async function readFailure(done: Promise<unknown>): Promise<string> {
  return done.then(() => Promise.reject(new Error("expected an error, and there was none")), joinMessages);
}

const directly = ["emulator"] as const;
const byProxy = ["proxy"] as const;
const unlessAdapted = ["emulator", "proxy"] as const;

const jsonSchema = {
  spec: "`response_format` is `text` or `json_object`",
  advice: /schema.*(in|into) the messages/s,
  at: unlessAdapted,
};
const stopList = { spec: "`stop` is a text, never a list", advice: /stop must be one text/ };
const noFormat = {
  spec: "`response_format` is a field of `alpha-v4.1-flash` alone",
  advice: /response_format.*schema.*(in|into) the messages/s,
  at: unlessAdapted,
};

export const scenarios = {
  "a whole response": {
    needs: ["complete"],
    run: async ({ client }) => expectText((await client.complete(call())).text),
  },
  "a streamed response": {
    needs: ["stream"],
    run: async ({ client }) => {
      const pieces: string[] = [];
      const { text } = await client.stream(call(prompt, { onPiece: (piece) => pieces.push(piece) }));
      expectText(text);
      expect(pieces.length).toBeGreaterThan(3);
      expect(pieces.join("")).toBe(text);
    },
  },
  "gamma-chat-1-6-251015": {
    needs: ["complete", "stream"],
    run: (fixture) => wholeAndStreamed(fixture, gamma),
  },
  "delta-5.3": { needs: ["complete", "stream"], run: (fixture) => wholeAndStreamed(fixture, delta) },
  "the tokens of a response": {
    needs: ["complete"],
    run: async ({ client }) => expect((await client.complete(call())).tokens).toBeGreaterThan(0),
  },
  "the tokens of a stream": {
    needs: ["stream"],
    run: async ({ client }) => expect((await client.stream(call())).tokens).toBeGreaterThan(0),
  },
  "the thinking": {
    needs: ["complete"],
    run: async ({ client }) => expect((await client.complete(call())).thinking?.length).toBeGreaterThan(3),
  },
  "a system prompt": {
    needs: ["complete"],
    run: async (fixture) => {
      await fixture.client.complete(call(prompt, { system: "You know rivers." }));
      const [first] = messagesSent(fixture);
      expect(first?.role).toBe("system");
      expect(JSON.stringify(first?.content)).toContain("You know rivers.");
    },
  },
  "several turns": {
    needs: ["complete"],
    run: async (fixture) => {
      const turns = [
        { role: "user" as const, text: "Name a river" },
        { role: "assistant" as const, text: "The Elbe" },
        { role: "user" as const, text: "And its source?" },
      ];
      expectText((await fixture.client.complete({ model: alpha, turns })).text);
      const messages = messagesSent(fixture).filter(({ role }) => role !== "system");
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
      expect(JSON.stringify(messages[1])).toContain("The Elbe");
    },
  },
  "a temperature": {
    needs: ["complete"],
    run: async (fixture) => {
      await fixture.client.complete(call(prompt, { temperature: 0.3 }));
      expect(sent(fixture)["temperature"]).toBe(0.3);
    },
  },
  "a limit of tokens": {
    needs: ["complete"],
    run: async (fixture) => {
      await fixture.client.complete(call(prompt, { maxTokens: 300 }));
      expect(sent(fixture)["max_tokens"]).toBe(300);
    },
  },
  "one stop text": {
    needs: ["complete"],
    run: async (fixture) => {
      await fixture.client.complete(call(prompt, { stop: ["###"] }));
      expect([sent(fixture)["stop"]].flat()).toEqual(["###"]);
    },
  },
  "two stop texts": {
    needs: ["complete"],
    run: async (fixture) => {
      await fixture.client.complete(call(prompt, { stop: ["###", "END"] }));
      expect(sent(fixture)["stop"]).toEqual(["###", "END"]);
    },
  },
  "one stop text for gamma-chat-1-6-251015": {
    needs: ["complete"],
    run: async (fixture) => {
      await fixture.client.complete(call(prompt, { model: gamma, stop: ["###"] }));
      expect(sent(fixture)["stop"]).toBe("###");
    },
    denial: { ...stopList, at: directly },
  },
  "two stop texts for gamma-chat-1-6-251015": {
    needs: ["complete"],
    run: async (fixture) => {
      await fixture.client.complete(call(prompt, { model: gamma, stop: ["###", "END"] }));
      expect(sent(fixture)["stop"]).toEqual(["###", "END"]);
    },
    denial: { ...stopList, at: unlessAdapted },
  },
  "a call of a tool": {
    needs: ["callTool"],
    run: async ({ client }) =>
      expect(await client.callTool(call("Use get_depth for the Elbe"), depth)).toEqual({
        name: "get_depth",
        input: { river: expect.any(String) },
      }),
  },
  "a tool that the client runs": {
    needs: ["runTools"],
    run: async ({ client }) =>
      expect((await client.runTools(call("Use get_depth for the Elbe"), [depth])).text).toContain("7 metres"),
  },
  "a tool in a stream": {
    needs: ["streamTools"],
    run: async ({ client }) =>
      expect((await client.streamTools(call("Use get_depth for the Elbe"), [depth])).text).toContain(
        "7 metres",
      ),
  },
  "two tools at once": {
    needs: ["runTools"],
    run: async (fixture) => {
      await fixture.client.runTools(call("Use both get_depth and get_width for the Elbe"), [depth, width]);
      const results = messagesSent(fixture).filter(({ role }) => role === "tool");
      expect(JSON.stringify(results)).toMatch(/7 metres.*300 metres/);
    },
  },
  "tools of delta-5.3": {
    needs: ["runTools"],
    run: async ({ client }) =>
      expect(
        (await client.runTools(call("Use get_depth for the Elbe", { model: delta }), [depth])).text,
      ).toContain("7 metres"),
  },
  "a response by a schema": {
    needs: ["bySchema"],
    run: async ({ client }) => fits(await client.bySchema(call())),
    denial: jsonSchema,
    adapts: true,
  },
  "a response of gamma-chat-1-6-251015 by a schema": {
    needs: ["bySchema"],
    run: async ({ client }) => fits(await client.bySchema(call(prompt, { model: gamma }))),
    denial: noFormat,
    adapts: true,
  },
  "a response of delta-5.3 by a schema": {
    needs: ["bySchema"],
    run: async ({ client }) => fits(await client.bySchema(call(prompt, { model: delta }))),
    denial: noFormat,
    adapts: true,
  },
  "a response by the schema of a tool": {
    needs: ["byTool"],
    run: async ({ client }) => fits(await client.byTool(call())),
  },
  "a response in JSON mode": {
    needs: ["byJSON"],
    run: async ({ client }) => fits(await client.byJSON(call(prompt, { system: schemaInWords }))),
    adapts: true,
  },
  "a response of delta-5.3 in JSON mode": {
    needs: ["byJSON"],
    run: async ({ client }) =>
      fits(await client.byJSON(call(prompt, { system: schemaInWords, model: delta }))),
    // the emulator ignores it: the messages ask for JSON too
    denial: { ...noFormat, at: byProxy },
    adapts: true,
  },
  "a response by `functions`": {
    needs: ["byFunctions"],
    run: async ({ client }) => fits(await client.byFunctions(call())),
    denial: {
      spec: "there are `tools`, and no `functions`",
      advice: /function.*use `tools`/s,
      at: unlessAdapted,
    },
  },
  "an image in the question": {
    needs: ["complete"],
    run: async (fixture) => {
      expectText((await fixture.client.complete(call(prompt, { image: dot }))).text);
      expect(JSON.stringify(messagesSent(fixture).at(-1))).toContain(`"image_url":{"url":"${dot}"`);
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
      advice: /\bn\b.*sequential_image_generation/s,
      at: unlessAdapted,
    },
  },
  "a `developer` message": {
    needs: ["asDeveloper"],
    run: async (fixture) => {
      expectText((await fixture.client.asDeveloper(call(prompt, { system: "You know rivers." }))).text);
      expect(messagesSent(fixture)[0]?.role).toBe("system");
    },
    denial: {
      spec: "roles are `system`, `user`, `assistant` and `tool`",
      advice: /role expected .*system/s,
      at: directly,
    },
  },
  "several choices by `n`": {
    needs: ["several"],
    run: async ({ client }) => expect(await client.several(call(), 2)).toHaveLength(2),
    denial: { spec: "there is no `n`", advice: /\bn\b.*(several requests|one result)/s, at: unlessAdapted },
  },
  "the endpoint `/responses`": {
    needs: ["respond"],
    run: async ({ client }) => expectText((await client.respond(call())).text),
    denial: {
      spec: "there is no such endpoint",
      advice: /by chat completions|serves \/v1\/chat\/completions/,
      at: unlessAdapted,
    },
  },
  "the list of models": {
    needs: ["listModels"],
    run: async ({ client }) => expect(await client.listModels()).not.toHaveLength(0),
    denial: {
      spec: "there is no such endpoint",
      advice: /no list of models|serves \/v1\/chat\/completions/,
      at: unlessAdapted,
    },
  },
  "a wrong key": {
    needs: ["complete"],
    run: async ({ open, access }) => {
      const { complete } = open({ ...access, apiKey: "sk-wrong" });
      expect(await readFailure(complete(call()))).toMatch(/401|key|authentication/i);
    },
  },
  "a wrong value": {
    needs: ["complete"],
    run: async ({ client }) =>
      expect(await readFailure(client.complete(call(prompt, { temperature: 3 })))).toMatch(
        /temperature.*0 to 2/s,
      ),
  },
  "too many requests for a moment": {
    needs: ["complete"],
    run: async ({ client, gateway }) => {
      const before = gateway.requests.length;
      // a unique text, because the emulator counts refusals by body
      expectText((await client.complete(call(`[[429:1]] ${prompt}, ${before}`))).text);
      expect(gateway.requests.slice(before).map(({ status }) => status)).toEqual([429, 200]);
    },
  },
  "a stream whose connection breaks": {
    needs: ["stream"],
    run: async ({ client, gateway }) => {
      await readFailure(client.stream(call(`[[drop]] ${prompt}, ${gateway.requests.length}`)));
    },
  },
  "a stream that ends early": {
    needs: ["stream"],
    run: async ({ client, gateway }) => {
      await readFailure(client.stream(call(`[[truncate]] ${prompt}, ${gateway.requests.length}`)));
    },
    adapts: true,
  },
  "an error in a stream": {
    needs: ["stream"],
    run: async ({ client, gateway }) => {
      await readFailure(client.stream(call(`[[error-frame]] ${prompt}, ${gateway.requests.length}`)));
    },
  },
  "a stop by the user": {
    needs: ["stream"],
    run: async ({ client, gateway }) => {
      const stopping = new AbortController();
      const onPiece = () => stopping.abort();
      const stopped = client.stream(call(`[[stall]] ${prompt}`, { signal: stopping.signal, onPiece }));
      await stopped.catch(() => undefined);
      await expect.poll(() => gateway.requests.at(-1)?.aborted).toBe(true);
    },
  },
} as const satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof scenarios;
