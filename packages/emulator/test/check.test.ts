import { createRecorder, type Recording, type readRecordings } from "@sluice/emulator/recordings";
import { describe, expect, test } from "vitest";
// only the command `check` uses them, and no entry exports them
import { checkRecordings } from "../src/recordings/check/check.js";
import { formatReport } from "../src/recordings/check/report.js";
import { createFastEmulator, createRequest, type EmulatorRequest, send } from "./support.js";

type NamedRecording = ReturnType<typeof readRecordings>[number];

/** Records requests to the emulator, without a folder. */
async function recordRequests(...requests: readonly EmulatorRequest[]): Promise<NamedRecording[]> {
  const recordings: NamedRecording[] = [];
  const emulator = createFastEmulator({ durations: { videoMs: 0 } });
  const save = (recording: Recording) => {
    const name = `${recordings.length + 1}`;
    recordings.push({ name, recording });
    return name;
  };
  const recorder = createRecorder({ gateway: "https://gateway.test", save, fetch: emulator.fetch });
  for (const { path, body } of requests) await (await send(recorder, path, body)).text();
  return recordings;
}

const createChatRequest = (fields: object = {}): EmulatorRequest => ({
  path: "/v1/chat/completions",
  body: createRequest("hi", fields),
});
const listTexts = (recordings: readonly NamedRecording[], kind: string) =>
  checkRecordings(recordings).findings.flatMap((finding) => (finding.kind === kind ? [finding.text] : []));

/** Records a chat whose response is changed. */
async function recordChat(
  change: (body: Record<string, unknown>) => unknown,
  head: Partial<Recording["response"]> = {},
) {
  const [{ recording } = expect.fail("no recording")] = await recordRequests(createChatRequest());
  const body = change(structuredClone(recording.response.body) as Record<string, unknown>);
  return [{ name: "1", recording: { ...recording, response: { ...recording.response, body, ...head } } }];
}

describe("recorded traffic", () => {
  test("Recorded traffic of the emulator matches the specification", async () => {
    const video = { model: "beta3.0-video", input: { prompt: "A reef" } };
    const asset = {
      model: "gamma-asset",
      GroupId: "g",
      Name: "n",
      AssetType: "Image",
      URL: "https://a.test/b.png",
    };
    const recordings = await recordRequests(
      createChatRequest(),
      createChatRequest({ model: "gamma-chat-1-6-251015" }),
      createChatRequest({ model: "delta-5.3" }),
      createChatRequest({ stream: true }),
      createChatRequest({ max_tokens: 0 }),
      { path: "/v1/images/generations", body: { model: "gamma-image-4-0-250828", prompt: "A reef" } },
      { path: "/v1/video/generations", body: video },
      {
        path: "/v1/video/generations",
        body: { model: "gamma-video-2.0", content: [{ type: "text", text: "A reef" }] },
      },
      { path: "/gamma/asset/CreateAsset", body: asset },
      { path: "/v1/video/generations/none" },
    );
    expect(listTexts(recordings, "differs")).toEqual([]);
    const { recording } = recordings[6] ?? expect.fail("no recording");
    const { id } = recording.response.body as { id: string };
    const more = await recordRequests(
      { path: "/v1/video/generations", body: video },
      { path: `/v1/video/generations/${id}` },
    );
    expect(listTexts(more, "differs")).toEqual([]);
  });

  test("lists what the specification does not show: chunks, and the queries of a task", async () => {
    const body = { model: "gamma-video-2.0", content: [{ type: "text", text: "A reef" }] };
    const create = { path: "/v1/video/generations", body };
    const [{ recording } = expect.fail("no recording")] = await recordRequests(create);
    const { id } = recording.response.body as { id: string };
    const recordings = await recordRequests(
      create,
      { path: `/v1/video/generations/${id}` },
      createChatRequest({ stream: true }),
    );
    const { findings } = checkRecordings(recordings);
    expect(findings).toContainEqual({
      kind: "shown",
      endpoint: "GET /v1/video/generations/{id}",
      model: "gamma-video-2.0",
      text: 'data.status "succeeded"',
      recordings: ["2"],
    });
    expect(findings.map(({ text }) => text)).toContain("chunk: choices[].delta.reasoning_content string");
  });
});

describe("a gateway that contradicts the specification", () => {
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
  ])("reports a response with %s", async (_, change, text) => {
    expect(listTexts(await recordChat(change), "differs")).toEqual([text]);
  });

  test("A status that is not listed is reported", async () => {
    const recordings = await recordChat(() => ({ error: { message: "busy", code: "busy" } }), {
      status: 529,
    });
    expect(listTexts(recordings, "differs")).toEqual(["answer: status 529 is not in the specification"]);
  });

  test("A refusal of what the specification allows is reported", async () => {
    const recordings = await recordChat(() => ({ error: { message: "too hot", code: "no" } }), {
      status: 400,
    });
    expect(listTexts(recordings, "differs")).toEqual([
      "request: refuses what the specification allows: too hot",
    ]);
  });

  test("A gateway that takes what the specification forbids is reported", async () => {
    const [{ recording } = expect.fail("no recording")] = await recordRequests(createChatRequest());
    const recordings = [
      {
        name: "1",
        recording: {
          ...recording,
          request: { ...recording.request, body: createRequest("hi", { max_tokens: 0 }) },
        },
      },
    ];
    expect(listTexts(recordings, "differs")).toEqual([
      expect.stringMatching(/^request: accepts max_tokens, which must be/),
    ]);
    expect(listTexts(await recordRequests(createChatRequest({ seed: 2 })), "unlisted")).toContain(
      "request: seed is accepted",
    );
  });

  test("A value that was redacted is not reported", async () => {
    const content = [{ type: "image_url", image_url: { url: `data:image/png;base64,${"QUJD".repeat(20)}` } }];
    const recordings = await recordRequests(createChatRequest({ messages: [{ role: "user", content }] }));
    expect(JSON.stringify(recordings)).toContain("base64,[redacted ");
    expect(listTexts(recordings, "differs")).toEqual([]);
  });

  test("Fields that are not listed are reported, once for all recordings that have them", async () => {
    const [one, two] = [
      await recordChat((body) => ({ ...body, cost: 1 })),
      await recordChat((body) => ({ ...body, cost: 2 })),
    ];
    const { findings } = checkRecordings([...one, ...two.map(({ recording }) => ({ name: "2", recording }))]);
    expect(findings).toEqual([
      {
        kind: "unlisted",
        endpoint: "POST /v1/chat/completions",
        model: "alpha-v4.1-flash",
        text: "answer: cost (number)",
        recordings: ["1", "2"],
      },
    ]);
  });

  test.each([
    ["without an end", "[[truncate]]", "stream: no chunk has a finish_reason"],
    ["with an event that is no JSON", "[[malformed]]", "stream: an event is not JSON"],
  ])("reports a stream %s", async (_, fault, text) => {
    const recordings = await recordRequests({
      path: "/v1/chat/completions",
      body: createRequest(`hi ${fault}`, { stream: true }),
    });
    expect(listTexts(recordings, "differs")).toContain(text);
  });
});

test("a report names each endpoint and model, what differs first, and the numbers at its end", async () => {
  const recordings = await recordChat((body) => ({ ...body, object: "chat", cost: 1 }));
  expect(formatReport(checkRecordings(recordings))).toBe(
    [
      "POST /v1/chat/completions  alpha-v4.1-flash",
      "  Differs from the specification:",
      '    answer: object is "chat", not "chat.completion"  (1)',
      "  Not listed in the specification:",
      "    answer: cost (number)  (1)",
      "",
      "1 recording: 1 difference from the specification, 1 field that it does not list.",
    ].join("\n"),
  );
});
