import type { ChatModel, ImageModel, VideoModel } from "@sluice/core";
import { models } from "@sluice/core/schemas";
import { describe, expect, test } from "vitest";
import { createChatTarget, describeChatModel } from "@/components/sluice/chat-form";
import type { FormField, FormValues } from "@/components/sluice/form-fields";
import { createImageForm, createImageRequest, readImageRequest } from "@/components/sluice/image-form";
import { createVideoForm, createVideoRequest } from "@/components/sluice/video-form";

/* The fields of each form, written by hand from the spec. */

const url = "https://cdn.example.com/reef";

/** Writes a field as one line: its flags, its path if that is not its name, and its details. */
function formatLine({
  name,
  kind,
  path,
  label: _,
  hint: __,
  isAdvanced,
  isShown,
  ...details
}: FormField): string {
  const written = Object.entries(details).map(([key, fact]) => `${key} ${formatFact(fact)}`.trim());
  const flags = [isAdvanced && "advanced", !isShown && "hidden", path !== name && `at ${path}`];
  return [`${name}: ${kind}`, ...flags.filter(Boolean), ...written].join(", ");
}

function formatFact(fact: unknown): string {
  if (!Array.isArray(fact)) return String(fact);
  return fact.map((one) => (typeof one === "string" ? one : `${one.value}(${one.label})`)).join(" ");
}

function parseLines(text: string): readonly string[] {
  return text
    .trim()
    .split("\n")
    .map((line) => line.trim());
}

const betaFields = `
  prompt: text, at input.prompt, maxLength 5000
  first_frame: media, at input.media, media image, accept image/jpeg,image/png,image/bmp,image/webp, max 1
  last_frame: media, at input.media, media image, accept image/jpeg,image/png,image/bmp,image/webp, max 1
  reference_image: media, at input.media, media image, accept image/jpeg,image/png,image/bmp,image/webp, max 10
  reference_video: media, at input.media, media video, accept, max 5
  reference_audio: media, at input.media, media audio, accept, max 5
  file: media, at input.media, media file, accept, max 1
  link: media, at input.media, media link, accept, max 1
  ratio: choice, at parameters.ratio, default adaptive, choices adaptive(Fit to input) 16:9(16:9) 4:3(4:3) 1:1(1:1) 3:4(3:4) 9:16(9:16)
  resolution: choice, at parameters.resolution, default 1080P, choices 1080P(1080p) 720P(720p) 480P(480p)
  duration: number, at parameters.duration, default 5, min 2, max 30, step 1, unit s, auto -1
  audio: switch, at parameters.audio, default true
  prompt_extend: switch, at parameters.prompt_extend, default true
  watermark: switch, advanced, at parameters.watermark, default false
  seed: number, advanced, at parameters.seed, min 0, max 2147483647, step 1`;

/** The fields that both models of the second generation have, up to the resolution. */
const gamma2 = `
    prompt: text, at content
    first_frame: media, at content, media image, accept image/png,image/jpeg,image/webp, max 1
    last_frame: media, at content, media image, accept image/png,image/jpeg,image/webp, max 1
    reference_image: media, at content, media image, accept image/png,image/jpeg,image/webp
    reference_video: media, at content, media video, accept
    reference_audio: media, at content, media audio, accept
    ratio: choice, choices 16:9(16:9) 4:3(4:3) 1:1(1:1) 3:4(3:4) 9:16(9:16) 21:9(21:9) adaptive(Fit to input)`;

const videoFields: readonly (readonly [VideoModel, string])[] = [
  ["beta3.0-video", betaFields],
  ["beta3.0-video-prime", betaFields],
  [
    "gamma-video-1-5-pro-251215",
    `
    prompt: text, at content
    first_frame: media, at content, media image, accept, max 1
    last_frame: media, at content, media image, accept, max 1
    ratio: choice, default adaptive, choices adaptive(Fit to input) 16:9(16:9) 4:3(4:3) 1:1(1:1) 3:4(3:4) 9:16(9:16) 21:9(21:9)
    resolution: choice, default 720p, choices 480p(480p) 720p(720p) 1080p(1080p)
    duration: number, default 5, min 4, max 12, step 1, unit s, auto -1
    generate_audio: switch, default false
    camera_fixed: switch, default false
    watermark: switch, advanced, default false
    seed: number, advanced, min -1, max 4294967295, step 1`,
  ],
  [
    "gamma-video-1-0-pro-fast-251015",
    `
    prompt: text, at content
    first_frame: media, at content, media image, accept, max 1
    ratio: choice, default 16:9, choices 16:9(16:9) 4:3(4:3) 1:1(1:1) 3:4(3:4) 9:16(9:16) 21:9(21:9)
    resolution: choice, default 1080p, choices 480p(480p) 720p(720p) 1080p(1080p)
    duration: number, default 5, min 2, max 12, step 1, unit s
    camera_fixed: switch, default false
    watermark: switch, advanced, default false
    seed: number, advanced, min -1, max 4294967295, step 1`,
  ],
  [
    "gamma-video-2.0",
    `${gamma2}
    resolution: choice, choices 480p(480p) 720p(720p) 1080p(1080p) 4k(4K)
    duration: number, min 4, max 15, step 1, unit s
    generate_audio: switch
    web_search: switch, at tools, default false
    return_last_frame: switch, advanced
    watermark: switch, advanced`,
  ],
  [
    "gamma-video-fast",
    `${gamma2}
    resolution: choice, choices 480p(480p) 720p(720p)
    duration: number, min 4, max 15, step 1, unit s
    generate_audio: switch
    web_search: switch, at tools, default false
    watermark: switch, advanced`,
  ],
];

test.each(videoFields)("The form of %s has these fields without media", (model, fields) => {
  expect(createVideoForm(model).fields.map(formatLine)).toEqual(parseLines(fields));
});

test("A ratio has a shape, and “Fit to input” has none", () => {
  const ratio = createVideoForm("gamma-video-2.0").fields.find(({ name }) => name === "ratio");
  const choices = ratio?.kind === "choice" ? ratio.choices : [];
  expect(choices.map((choice) => choice.ratio)).toEqual([
    ...models["gamma-video-2.0"].ratios.slice(0, 6),
    undefined,
  ]);
});

const chatFields: readonly (readonly [ChatModel, string])[] = [
  [
    "alpha-v4.1-flash",
    `
    thinking: switch, default true
    reasoning_effort: choice, default high, choices low(Low) high(High) max(Max)
    max_tokens: number, advanced, min 1, max 393216, step 1
    temperature: number, advanced, hidden, min 0, max 2, step 0.1
    top_p: number, advanced, hidden, min 0, max 1, step 0.05
    frequency_penalty: number, advanced, hidden, min -2, max 2, step 0.1
    presence_penalty: number, advanced, hidden, min -2, max 2, step 0.1
    stop: list, advanced, max 16`,
  ],
  [
    "gamma-chat-1-6-251015",
    `
    max_tokens: number, advanced, min 1, max 8192, step 1
    temperature: number, advanced, min 0, max 2, step 0.1
    top_p: number, advanced, min 0, max 1, step 0.05
    frequency_penalty: number, advanced, min -2, max 2, step 0.1
    presence_penalty: number, advanced, min -2, max 2, step 0.1
    stop: list, advanced, max 1`,
  ],
  [
    "delta-5.3",
    `
    reasoning_effort: choice, choices low(Low) high(High) max(Max)
    max_tokens: number, advanced, min 1, max 131072, step 1
    temperature: number, advanced, min 0, max 1, step 0.1
    top_p: number, advanced, min 0, max 1, step 0.05
    stop: list, advanced, max 4`,
  ],
];

test.each(chatFields)("The settings of %s have these fields and defaults", (model, fields) => {
  expect(describeChatModel(model).fields.map(formatLine)).toEqual(parseLines(fields));
});

test.each<[ImageModel, number, string]>([
  ["gamma-image-4-0-250828", 24, "1K"],
  ["gamma-image-5-0-260128", 16, "2K"],
])("The form of %s has these fields, and the sizes of the spec", (model, count, tier) => {
  const { fields } = createImageForm(model);
  const size = fields.find(({ name }) => name === "size");
  const sizes = size?.kind === "choice" ? size.choices : [];
  expect([sizes.length, sizes[0]?.tier, sizes[1]?.tier]).toEqual([count, tier, tier]);
  for (const { value, label, ratio, width, height } of sizes) {
    expect(label).toBe(`${ratio} · ${width} × ${height}`);
    expect(value).toBe(`${width}x${height}`);
    const [across = 0, down = 1] = (ratio ?? "").split(":").map(Number);
    expect(across / down / ((width ?? 0) / (height ?? 1))).toBeCloseTo(1, 1);
  }
  expect(fields.filter(({ name }) => name !== "size").map(formatLine)).toEqual(
    parseLines(`
    prompt: text
    image: media, media image, accept image/png,image/jpeg,image/webp
    max_images: number, at sequential_image_generation_options.max_images, min 1, step 1, default 1
    watermark: switch, advanced, default false
    seed: number, advanced, step 1`),
  );
});

describe("The hidden fields of a form", () => {
  const listHidden = (fields: readonly FormField[]) =>
    fields.flatMap(({ name, isShown }) => (isShown ? [] : name)).join(" ");
  const frame: FormValues = { first_frame: [url] };
  const file: FormValues = { file: [url] };
  test.each<[VideoModel, FormValues, string]>([
    ["beta3.0-video", {}, ""],
    ["beta3.0-video", frame, "reference_image reference_video reference_audio file link"],
    ["beta3.0-video", { last_frame: [url] }, "reference_image reference_video reference_audio file link"],
    ["beta3.0-video", { reference_video: [url] }, "first_frame last_frame"],
    ["beta3.0-video", { reference_video: [] }, ""],
    ["beta3.0-video", { reference_video: url }, ""],
    ["beta3.0-video", file, "first_frame last_frame link"],
    ["beta3.0-video", { link: [url] }, "first_frame last_frame file"],
    ["beta3.0-video", { ...file, link: [url] }, "first_frame last_frame link"],
    ["gamma-video-1-5-pro-251215", frame, "generate_audio camera_fixed"],
    ["gamma-video-1-5-pro-251215", file, ""],
    ["gamma-video-1-0-pro-fast-251015", frame, "camera_fixed"],
    ["gamma-video-2.0", frame, "web_search"],
    ["gamma-video-2.0", { reference_audio: [url] }, "web_search"],
    ["gamma-video-fast", frame, "web_search"],
  ])("follow for %s from the media %j", (model, values, names) => {
    expect(listHidden(createVideoForm(model, values).fields)).toBe(names);
  });

  test("follow from the thinking of a chat model", () => {
    const createForm = (model: ChatModel, thinking: boolean) =>
      listHidden(describeChatModel(model, { thinking }).fields);
    expect(createForm("alpha-v4.1-flash", false)).toBe("reasoning_effort");
    expect(createForm("alpha-v4.1-flash", true)).toBe("temperature top_p frequency_penalty presence_penalty");
    expect(createForm("delta-5.3", false)).toBe("");
    expect(createForm("gamma-chat-1-6-251015", false)).toBe("");
  });
});

test("The default of a shape follows from the media", () => {
  const readRatio = (model: VideoModel, values: FormValues) =>
    createVideoForm(model, values).fields.find(({ name }) => name === "ratio")?.default;
  const model = "gamma-video-1-0-pro-fast-251015";
  expect([readRatio(model, {}), readRatio(model, { first_frame: [url] })]).toEqual(["16:9", "adaptive"]);
});

test("A request has the media of its form in the order of the fields", () => {
  const media: FormValues = {
    reference_audio: [url],
    reference_video: [url],
    reference_image: [url, `${url}-2`],
  };
  expect(createVideoRequest("gamma-video-2.0", media)).toEqual({
    model: "gamma-video-2.0",
    content: [
      { type: "image_url", image_url: { url }, role: "reference_image" },
      { type: "image_url", image_url: { url: `${url}-2` }, role: "reference_image" },
      { type: "video_url", video_url: { url } },
      { type: "audio_url", audio_url: { url } },
    ],
  });
  expect(createVideoRequest("beta3.0-video", {})).toEqual({ model: "beta3.0-video", input: {} });
});

test("A search of the web is requested, or left out", () => {
  const createSearchRequest = (web_search: boolean) => createVideoRequest("gamma-video-2.0", { web_search });
  expect(createSearchRequest(true)).toMatchObject({ tools: [{ type: "web_search" }] });
  expect(createSearchRequest(false)).not.toHaveProperty("tools");
});

test("Several images are requested as a set, and one image is not", () => {
  const model = "gamma-image-5-0-260128";
  expect(createImageRequest(model, { max_images: 4 })).toEqual({
    model,
    prompt: "",
    sequential_image_generation: "auto",
    sequential_image_generation_options: { max_images: 4 },
  });
  expect(createImageRequest(model, { max_images: 1 })).toEqual({ model, prompt: "" });
});

test("The values of a form are read from its request", () => {
  const model = "gamma-image-5-0-260128";
  const values: FormValues = { prompt: "A reef", image: [url], size: "2048x2048", max_images: 3, seed: 7 };
  expect(readImageRequest(createImageRequest(model, values))).toEqual(values);
});

test("Stop texts are sent as a text or a list, as the model accepts them", () => {
  const stop = ["a", "b"];
  expect(createChatTarget("gamma-chat-1-6-251015", { stop })).toMatchObject({ params: { stop: "a" } });
  expect(createChatTarget("delta-5.3", { stop })).toMatchObject({ params: { stop } });
  expect(createChatTarget("alpha-v4.1-flash", { thinking: true })).toMatchObject({
    params: { thinking: { type: "enabled" } },
  });
});

test("The request omits values of the wrong type, empty values and values that are not a choice", () => {
  const video = "beta3.0-video";
  for (const values of [
    { prompt: " " },
    { prompt: 5 },
    { prompt: ["A reef"] },
    { duration: "5" },
    { duration: Number.NaN },
    { audio: "on" },
    { ratio: "2:1" },
    { reference_image: [] },
    { reference_image: url },
    { temperature: 1 },
  ] as readonly FormValues[])
    expect(createVideoRequest(video, values)).toEqual({ model: video, input: {} });
});
