import { createTapeRecorder, type NamedTape, type Tape } from "@sluice/emulator/tapes";
import { describe, expect, test } from "vitest";
// the command `check` has them, and no entry
import { checkTapes } from "../src/tapes/check/check.js";
import { writeReport } from "../src/tapes/check/report.js";
import { ask, createFastEmulator, type EmulatorRequest, send } from "./support.js";

/** Records requests to the emulator, without a folder. */
async function recorded(...requests: readonly EmulatorRequest[]): Promise<NamedTape[]> {
  const tapes: NamedTape[] = [];
  const emulator = createFastEmulator({ durations: { videoMs: 0 } });
  const save = (tape: Tape) => {
    const name = `${tapes.length + 1}`;
    tapes.push({ name, tape });
    return name;
  };
  const recorder = createTapeRecorder({ gateway: "https://gateway.test", save, fetch: emulator.fetch });
  for (const { path, body } of requests) await (await send(recorder, path, body)).text();
  return tapes;
}

const chat = (fields: object = {}): EmulatorRequest => ({
  path: "/v1/chat/completions",
  body: ask("hi", fields),
});
const textsOf = (tapes: readonly NamedTape[], kind: string) =>
  checkTapes(tapes).findings.flatMap((finding) => (finding.kind === kind ? [finding.text] : []));

/** A tape of a chat with another answer. */
async function chatWith(
  change: (body: Record<string, unknown>) => unknown,
  head: Partial<Tape["response"]> = {},
) {
  const [{ tape } = expect.fail("no tape")] = await recorded(chat());
  const body = change(structuredClone(tape.response.body) as Record<string, unknown>);
  return [{ name: "1", tape: { ...tape, response: { ...tape.response, body, ...head } } }];
}

describe("recorded traffic", () => {
  test("Recorded traffic of the emulator differs nowhere from the specification", async () => {
    const video = { model: "beta3.0-video", input: { prompt: "A reef" } };
    const asset = {
      model: "gamma-asset",
      GroupId: "g",
      Name: "n",
      AssetType: "Image",
      URL: "https://a.test/b.png",
    };
    const tapes = await recorded(
      chat(),
      chat({ model: "gamma-chat-1-6-251015" }),
      chat({ model: "delta-5.3" }),
      chat({ stream: true }),
      chat({ max_tokens: 0 }),
      { path: "/v1/images/generations", body: { model: "gamma-image-4-0-250828", prompt: "A reef" } },
      { path: "/v1/video/generations", body: video },
      {
        path: "/v1/video/generations",
        body: { model: "gamma-video-2.0", content: [{ type: "text", text: "A reef" }] },
      },
      { path: "/gamma/asset/CreateAsset", body: asset },
      { path: "/v1/video/generations/none" },
    );
    expect(textsOf(tapes, "differs")).toEqual([]);
    const { tape } = tapes[6] ?? expect.fail("no tape");
    const { id } = tape.response.body as { id: string };
    const more = await recorded(
      { path: "/v1/video/generations", body: video },
      { path: `/v1/video/generations/${id}` },
    );
    expect(textsOf(more, "differs")).toEqual([]);
  });

  test("shows what the specification does not: chunks, and the queries of a task", async () => {
    const body = { model: "gamma-video-2.0", content: [{ type: "text", text: "A reef" }] };
    const create = { path: "/v1/video/generations", body };
    const [{ tape } = expect.fail("no tape")] = await recorded(create);
    const { id } = tape.response.body as { id: string };
    const tapes = await recorded(create, { path: `/v1/video/generations/${id}` }, chat({ stream: true }));
    const { findings } = checkTapes(tapes);
    expect(findings).toContainEqual({
      kind: "shown",
      endpoint: "GET /v1/video/generations/{id}",
      model: "gamma-video-2.0",
      text: 'data.status "succeeded"',
      tapes: ["2"],
    });
    expect(findings.map(({ text }) => text)).toContain("chunk: choices[].delta.reasoning_content string");
  });
});

describe("a gateway that differs is reported", () => {
  test.each([
    [
      "a field that is absent",
      (body: object) => ({ ...body, created: undefined }),
      "answer: created is absent",
    ],
    [
      "a field of another type",
      (body: object) => ({ ...body, created: "1" }),
      'answer: created is "1", not number',
    ],
    [
      "another word",
      (body: object) => ({ ...body, object: "chat" }),
      'answer: object is "chat", not "chat.completion"',
    ],
  ])("for %s", async (_, change, text) => {
    expect(textsOf(await chatWith(change), "differs")).toEqual([text]);
  });

  test("A status that is not listed is reported", async () => {
    const tapes = await chatWith(() => ({ error: { message: "busy", code: "busy" } }), { status: 529 });
    expect(textsOf(tapes, "differs")).toEqual(["answer: status 529 is not in the specification"]);
  });

  test("A refusal of what the specification allows is reported", async () => {
    const tapes = await chatWith(() => ({ error: { message: "too hot", code: "no" } }), { status: 400 });
    expect(textsOf(tapes, "differs")).toEqual(["request: refuses what the specification allows: too hot"]);
  });

  test("A gateway that takes what the specification forbids is reported", async () => {
    const [{ tape } = expect.fail("no tape")] = await recorded(chat());
    const tapes = [
      {
        name: "1",
        tape: { ...tape, request: { ...tape.request, body: ask("hi", { max_tokens: 0 }) } },
      },
    ];
    expect(textsOf(tapes, "differs")).toEqual([
      expect.stringMatching(/^request: accepts max_tokens, which must be/),
    ]);
    expect(textsOf(await recorded(chat({ seed: 2 })), "unlisted")).toContain("request: seed is accepted");
  });

  test("A value that was redacted is not reported", async () => {
    const content = [{ type: "image_url", image_url: { url: `data:image/png;base64,${"QUJD".repeat(20)}` } }];
    const tapes = await recorded(chat({ messages: [{ role: "user", content }] }));
    expect(JSON.stringify(tapes)).toContain("base64,[redacted ");
    expect(textsOf(tapes, "differs")).toEqual([]);
  });

  test("Fields that are not listed are reported, once for all tapes that have them", async () => {
    const [one, two] = [
      await chatWith((body) => ({ ...body, cost: 1 })),
      await chatWith((body) => ({ ...body, cost: 2 })),
    ];
    const { findings } = checkTapes([...one, ...two.map(({ tape }) => ({ name: "2", tape }))]);
    expect(findings).toEqual([
      {
        kind: "unlisted",
        endpoint: "POST /v1/chat/completions",
        model: "alpha-v4.1-flash",
        text: "answer: cost (number)",
        tapes: ["1", "2"],
      },
    ]);
  });

  test.each([
    ["without an end", "[[truncate]]", "stream: no chunk has a finish_reason"],
    ["with an event that is no JSON", "[[malformed]]", "stream: an event is not JSON"],
  ])("for a stream %s", async (_, scene, text) => {
    const tapes = await recorded({
      path: "/v1/chat/completions",
      body: ask(`hi ${scene}`, { stream: true }),
    });
    expect(textsOf(tapes, "differs")).toContain(text);
  });
});

test("a report names each endpoint and model, what differs first, and the numbers at its end", async () => {
  const tapes = await chatWith((body) => ({ ...body, object: "chat", cost: 1 }));
  expect(writeReport(checkTapes(tapes))).toBe(
    [
      "POST /v1/chat/completions  alpha-v4.1-flash",
      "  Differs from the specification:",
      '    answer: object is "chat", not "chat.completion"  (1)',
      "  Not listed in the specification:",
      "    answer: cost (number)  (1)",
      "",
      "1 tape: 1 difference from the specification, 1 field that it does not list.",
    ].join("\n"),
  );
});
